/** What a dispatch gives back, and when such a thing is complete. */

import type { AuditBlob } from "./audit.ts";
import { agrees, type ToolStatus } from "./status.ts";
import type { Executor } from "./tool-call.ts";

/**
 * Key under which a thrown value is kept on a result.
 *
 * Enumerable, so that spreading a result keeps it; a symbol, so that JSON ignores it. `CAUSE in result` means that
 * something was thrown, even if that was `undefined`. Adapters rethrow exactly this object.
 */
export const CAUSE: unique symbol = Symbol.for("toolspan.cause") as never;

/** The outcome of one tool call. Layers may leave out what has a question mark; the kernel completes it. */
export interface ToolResult {
  readonly ok: boolean;
  readonly status: ToolStatus;
  readonly toolName: string;
  readonly toolCallId?: string | null;
  readonly arguments?: unknown;
  /** What the handler returned, the same object; for a stream, an iterator over it. */
  readonly result?: unknown;
  /** The text that the model gets to see. */
  readonly renderedResult?: string;
  /** What to tell the model when there is no result. */
  readonly observation?: string;
  /** Failure in words. Content: never recorded without opt-in. */
  readonly error?: string | null;
  /** Failure as a low-cardinality word (`tool_error`, `timeout`, `limit_exceeded`, …). */
  readonly errorCategory?: string | null;
  readonly executor?: Executor | null;
  readonly approval?: unknown;
  /** Handler time over all attempts, milliseconds; null while a stream runs. */
  readonly executionDurationMs?: number | null;
  readonly audit?: AuditBlob;
  /** True when an earlier result was handed out again. */
  readonly replayed?: boolean;
  /** True when the handler ran at least once in this dispatch. */
  readonly executed?: boolean;
  /** The result that a failed receipt withholds. */
  readonly original?: ToolResult;
  /** Streams only: resolves (never rejects) with the final result once the stream has closed. */
  readonly settled?: Promise<ToolResult>;
  /** Asks the loop or adapter to throw `CAUSE` once everything has been recorded. */
  readonly rethrow?: boolean;
  readonly [CAUSE]?: unknown;
}

/** A result as the dispatcher hands it out: nothing left open. */
export interface DispatchResult extends ToolResult {
  readonly toolCallId: string | null;
  readonly executed: boolean;
  readonly executionDurationMs: number | null;
}

/** True when `value` has a tool name, a status that agrees with `ok`, and something to show. */
export function isCompleteResult(value: unknown): value is ToolResult {
  if (typeof value !== "object" || value === null) return false;
  const { ok, status, toolName } = value as Partial<ToolResult>;
  if (typeof toolName !== "string" || !agrees(status, ok)) return false;
  return "result" in value || "observation" in value || "renderedResult" in value;
}
