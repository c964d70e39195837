/** Reads recorded conversations in OpenAI's chat format; the only place that knows that format. */

import { kindOf, ToolspanError } from "@toolspan/core";
import type { ModelToolCall } from "../model/model.ts";
import type { ContentPart, InputMessage, MessageContent } from "./message.ts";

/** One turn of the model, what its tools answered, and what followed. */
export interface RecordedTurn {
  readonly content: MessageContent | null;
  readonly toolCalls: readonly ModelToolCall[];
  /** `answers[n]` belongs to `toolCalls[n]`, whatever the ids say; shorter where answers are missing. */
  readonly answers: readonly string[];
  /** What the user said after it, up to the next turn. */
  readonly followedBy: readonly InputMessage[];
}

/** One recorded run. */
export interface Transcript {
  readonly id?: string;
  /** What was said before the model's first turn. */
  readonly input: readonly InputMessage[];
  /** At least one. */
  readonly turns: readonly RecordedTurn[];
}

interface OpenTurn extends RecordedTurn {
  readonly answers: string[];
  readonly followedBy: InputMessage[];
}

/**
 * Checks a recorded conversation and arranges it by turns of the model.
 *
 * @param recorded An array of messages in OpenAI's chat format, or `{ id?, messages }`; other keys are left alone.
 * @param line Line of the file it comes from, for the error.
 * @throws TOOLSPAN_INVALID_TRANSCRIPT naming the place as a JSON Pointer, also where a tool answers that nobody called
 *   and where the model never spoke. A call without an answer is no error: it fails when replayed.
 */
export function toTranscript(recorded: unknown, line?: number): Transcript {
  const check = new Checker(line);
  const wrapped = Array.isArray(recorded) ? { messages: recorded } : check.record(recorded, "", "a conversation");
  const base = Array.isArray(recorded) ? "" : "/messages";
  const messages = wrapped.messages;
  if (!Array.isArray(messages)) return check.fail(base, "an array of messages", kindOf(messages));
  const input: InputMessage[] = [];
  const turns: OpenTurn[] = [];
  for (const [position, message] of messages.entries()) {
    readMessage(check, message as unknown, `${base}/${position}`, input, turns);
  }
  if (turns.length === 0) return check.fail(base, "at least one assistant message", "none");
  return { ...identified(check, wrapped.id), input, turns };
}

function identified(check: Checker, id: unknown): { readonly id?: string } {
  if (id === undefined || id === null) return {};
  if (typeof id === "string" || typeof id === "number") return { id: String(id) };
  return check.fail("/id", "a string or a number", kindOf(id));
}

function readMessage(check: Checker, value: unknown, place: string, input: InputMessage[], turns: OpenTurn[]): void {
  const message = check.record(value, place, "a message");
  const { role, content } = message;
  const turn = turns.at(-1);
  switch (role) {
    case "system":
    case "developer":
    case "user":
      (turn?.followedBy ?? input).push({ role, content: check.content(content, `${place}/content`) });
      return;
    case "assistant":
      turns.push({
        content: content === undefined || content === null ? null : check.content(content, `${place}/content`),
        toolCalls: readCalls(check, message.tool_calls, `${place}/tool_calls`),
        answers: [],
        followedBy: [],
      });
      return;
    case "tool":
      if (turn === undefined || turn.followedBy.length > 0 || turn.answers.length === turn.toolCalls.length) {
        check.fail(place, "an answer to a call of the assistant message before it", "one answer more than calls");
      }
      turn?.answers.push(check.text(content, `${place}/content`));
      return;
    default:
      check.fail(`${place}/role`, "one of system, developer, user, assistant, tool", kindOf(role));
  }
}

function readCalls(check: Checker, calls: unknown, place: string): readonly ModelToolCall[] {
  if (calls === undefined || calls === null) return [];
  if (!Array.isArray(calls)) return check.fail(place, "an array of tool calls", kindOf(calls));
  return calls.map((value: unknown, position): ModelToolCall => {
    const at = `${place}/${position}`;
    const call = check.record(value, at, "a tool call");
    const called = check.record(call.function, `${at}/function`, "a function's name and arguments");
    return {
      id: call.id === undefined || call.id === null ? null : check.string(call.id, `${at}/id`),
      name: check.string(called.name, `${at}/function/name`),
      rawArgs: check.string(called.arguments, `${at}/function/arguments`),
    };
  });
}

/** Asserts shapes; every failure names its place and never what stands there. */
class Checker {
  readonly #line: number | undefined;

  constructor(line: number | undefined) {
    this.#line = line;
  }

  fail(place: string, expected: string, received: string): never {
    throw new ToolspanError("TOOLSPAN_INVALID_TRANSCRIPT", {
      ...(this.#line === undefined ? {} : { line: this.#line }),
      place,
      expected,
      received,
    });
  }

  record(value: unknown, place: string, what: string): Readonly<Record<string, unknown>> {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return this.fail(place, `${what} (an object)`, kindOf(value));
    }
    return value as Readonly<Record<string, unknown>>;
  }

  string(value: unknown, place: string): string {
    return typeof value === "string" ? value : this.fail(place, "a string", kindOf(value));
  }

  content(value: unknown, place: string): MessageContent {
    if (typeof value === "string") return value;
    if (!Array.isArray(value)) return this.fail(place, "a string or an array of parts", kindOf(value));
    return value.map((part: unknown, position): ContentPart => {
      const { type } = this.record(part, `${place}/${position}`, "a content part");
      this.string(type, `${place}/${position}/type`);
      return part as ContentPart;
    });
  }

  /** A tool's answer: a string, or text parts, which are one string. */
  text(value: unknown, place: string): string {
    const content = this.content(value, place);
    if (typeof content === "string") return content;
    return content.map((part, position) => this.string(part.text, `${place}/${position}/text`)).join("");
  }
}
