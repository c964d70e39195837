/** What a caller gets back from a run. */

import type { Message } from "../transcript/message.ts";
import type { StopReason } from "./run-stop.ts";
import type { CallReport } from "./tool-turn.ts";

/** What a run came to. */
export interface RunResult {
  readonly runId: string;
  readonly stopReason: StopReason;
  /** What failed, with `receipt_failed`. */
  readonly error?: unknown;
  /** The whole conversation: input, turns, answers. */
  readonly messages: readonly Message[];
  /** One per tool call, in emitted order. */
  readonly calls: readonly CallReport[];
  readonly modelCalls: number;
  /** Tool calls: as many spans and receipts. */
  readonly toolCalls: number;
  /** Those of them that did not succeed, refused ones counted. */
  readonly failedToolCalls: number;
  /** Sums over the model calls that reported usage. */
  readonly inputTokens: number;
  readonly outputTokens: number;
}
