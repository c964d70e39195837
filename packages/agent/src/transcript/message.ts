/** The conversation as the loop keeps it: messages after the manner of OpenAI's chat format. */

/** One part of a message in the provider's own form, passed on untouched. */
export interface ContentPart {
  readonly type: string;
  readonly [key: string]: unknown;
}

export type MessageContent = string | readonly ContentPart[];

export interface SystemMessage {
  readonly role: "system" | "developer";
  readonly content: MessageContent;
}

export interface UserMessage {
  readonly role: "user";
  readonly content: MessageContent;
}

/** A tool call as the conversation keeps it. */
export interface StoredToolCall {
  /** The provider's id, or null where it gave none. Not unique. */
  readonly id: string | null;
  readonly name: string;
  /** JSON text; `{}` where what the model wrote is not JSON, so that the conversation stays encodable. */
  readonly arguments: string;
}

export interface AssistantMessage {
  readonly role: "assistant";
  readonly content: MessageContent | null;
  readonly toolCalls?: readonly StoredToolCall[];
}

/** The answer to one tool call; stands in emitted order after the assistant message that asked. */
export interface ToolMessage {
  readonly role: "tool";
  readonly toolCallId: string | null;
  readonly toolName: string;
  readonly content: string;
  /** True when the call failed or was refused. */
  readonly isError: boolean;
}

/** What a caller or a recording puts between the model's turns. */
export type InputMessage = SystemMessage | UserMessage;

export type Message = InputMessage | AssistantMessage | ToolMessage;
