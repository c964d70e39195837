// The recorded conversations as the stories see them, read without the product's reader.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../support/workspace.ts";

export const AIRLINE: string = join(root, "examples/airline/airline-gpt4o-28.jsonl");

export interface RecordedMessage {
  readonly role: string;
  readonly content: string | null;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

export interface RecordedRun {
  readonly id: string;
  readonly messages: readonly RecordedMessage[];
}

export interface RecordedCall {
  readonly session: string;
  readonly iteration: number;
  readonly position: number;
  readonly id: string;
  readonly tool: string;
  readonly args: string;
  readonly answer: string;
}

export function recordedRuns(): readonly RecordedRun[] {
  return readFileSync(AIRLINE, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as RecordedRun);
}

/** Every call with the answer that stands at its place, in order. */
export function recordedCalls(runs: readonly RecordedRun[] = recordedRuns()): readonly RecordedCall[] {
  return runs.flatMap(({ id: session, messages }) => {
    let iteration = 0;
    return messages.flatMap((message, at) => {
      if (message.role === "assistant") iteration += 1;
      return (message.tool_calls ?? []).map((call, position) => ({
        session,
        iteration,
        position,
        id: call.id,
        tool: call.function.name,
        args: call.function.arguments,
        answer: messages[at + 1 + position]?.content ?? "",
      }));
    });
  });
}

/** Every whole string of at least `least` characters among JSON values, keys aside. */
export function stringsIn(value: unknown, least: number): readonly string[] {
  if (typeof value === "string") return value.length >= least ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap((item: unknown) => stringsIn(item, least));
}

/** A text's JSON value; the text itself where it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
