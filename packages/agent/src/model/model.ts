/** Port: a model that is given a conversation and answers with one turn. */

import type { ModelTool } from "@toolspan/core";
import type { InputMessage, Message, MessageContent } from "../transcript/message.ts";

export interface ModelRequest {
  readonly messages: readonly Message[];
  /** What the model may call, in MCP's spelling. */
  readonly tools: readonly ModelTool[];
  /** Which model call of its run this is, 1-based. */
  readonly iteration: number;
}

/** A tool call as the model wrote it. */
export interface ModelToolCall {
  /** The provider's id, or null. Not unique: the loop pairs by position. */
  readonly id: string | null;
  readonly name: string;
  /** The arguments' text, unparsed; text that is empty stands for no arguments. */
  readonly rawArgs: string;
}

export interface ModelUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
}

/** One answer of a model. */
export interface ModelTurn {
  readonly content: MessageContent | null;
  /** In emitted order. */
  readonly toolCalls?: readonly ModelToolCall[];
  /** The provider's word (`stop`, `tool_calls`, `length`, …). */
  readonly finishReason?: string;
  readonly usage?: ModelUsage;
  /** The model that answered, where the provider says so. */
  readonly responseModel?: string;
  /** Recordings and scripts only: what the conversation goes on with once the tools have answered. */
  readonly followUp?: FollowUp;
}

/** Replaces the rule "no tool calls ends the run, tool calls go back to the model". */
export interface FollowUp {
  /** Appended after the tools' answers, in order. */
  readonly messages: readonly InputMessage[];
  /** True ends the run after them; false calls the model again. */
  readonly last: boolean;
}

/** Anything that can take a turn. One model may serve many runs at the same time, so it keeps no state per run. */
export interface Model {
  /** The model that is asked for, as spans name it. */
  readonly name: string;
  /** The provider's word of the OpenTelemetry conventions (`openai`, `anthropic`, …). */
  readonly provider?: string;
  /** Rejects when there is no answer; that rejection is what `run` then rejects with. */
  generate(request: ModelRequest, options: { readonly signal?: AbortSignal }): Promise<ModelTurn>;
}
