/** The two views of what a model asked for: the raw one that is executed, and the encodable one that is kept. */

import type { AssistantMessage } from "../transcript/message.ts";
import type { ModelTurn } from "./model.ts";

/** Arguments as a dispatch takes them: `toolArgs` is undefined where the text is not JSON. */
export interface ReadArguments {
  readonly toolArgs: unknown;
  readonly rawArgs: string;
}

/** Parses the arguments' text. Empty text stands for no arguments, as providers write them for tools that take none. */
export function readArguments(rawArgs: string): ReadArguments {
  if (rawArgs.trim() === "") return { toolArgs: {}, rawArgs };
  try {
    return { toolArgs: JSON.parse(rawArgs) as unknown, rawArgs };
  } catch {
    return { toolArgs: undefined, rawArgs };
  }
}

/** A turn as the conversation keeps it: arguments that are no JSON become `{}`, so that it can be sent again. */
export function toAssistantMessage({ content, toolCalls = [] }: ModelTurn): AssistantMessage {
  if (toolCalls.length === 0) return { role: "assistant", content };
  return {
    role: "assistant",
    content,
    toolCalls: toolCalls.map(({ id, name, rawArgs }) => ({ id, name, arguments: encodable(rawArgs) })),
  };
}

function encodable(rawArgs: string): string {
  return rawArgs.trim() === "" || readArguments(rawArgs).toolArgs === undefined ? "{}" : rawArgs;
}
