/** Wire record `late_settlement`: a handler that ended after its dispatch had ended without it. Not a receipt. */

import { type Envelope, envelope } from "./envelope.ts";
import { count, type Fields, flag, listOf, milliseconds, orNull, spanId, text, time, traceId, uuid } from "./field.ts";

/** Key: (`record`, `dispatch_id`, `attempt`). */
export interface LateSettlementRecord extends Envelope {
  readonly record: "late_settlement";
  readonly dispatch_id: string;
  /** 1-based: which start of the handler. */
  readonly attempt: number;
  readonly tool_name: string;
  readonly session_id: string | null;
  readonly tool_call_id: string | null;
  /** When the handler was started. */
  readonly started_at: string;
  /** From its start to its end. */
  readonly duration_ms: number;
  readonly ok: boolean;
  readonly error_type: string | null;
  readonly trace_id: string | null;
  readonly span_id: string | null;
  readonly truncated: readonly string[];
}

export const lateSettlementFields: Fields<LateSettlementRecord> = {
  ...envelope("late_settlement"),
  dispatch_id: uuid,
  attempt: count,
  tool_name: text,
  session_id: orNull(text),
  tool_call_id: orNull(text),
  started_at: time,
  duration_ms: milliseconds,
  ok: flag,
  error_type: orNull(text),
  trace_id: orNull(traceId),
  span_id: orNull(spanId),
  truncated: listOf(text),
};
