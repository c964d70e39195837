/** Wire record `intent`: said durably before a handler starts; without its receipt it is the proof of an unknown effect. */

import { type Envelope, envelope } from "./envelope.ts";
import { count, type Fields, hash, listOf, orNull, spanId, text, traceId, uuid } from "./field.ts";

/** Key: (`record`, `dispatch_id`, `attempt`). */
export interface IntentRecord extends Envelope {
  readonly record: "intent";
  readonly dispatch_id: string;
  /** 1-based. */
  readonly attempt: number;
  readonly tool_name: string;
  readonly session_id: string | null;
  readonly tool_call_id: string | null;
  readonly executed_args_hash: string | null;
  readonly trace_id: string | null;
  readonly span_id: string | null;
  readonly truncated: readonly string[];
}

export const intentFields: Fields<IntentRecord> = {
  ...envelope("intent"),
  dispatch_id: uuid,
  attempt: count,
  tool_name: text,
  session_id: orNull(text),
  tool_call_id: orNull(text),
  executed_args_hash: orNull(hash),
  trace_id: orNull(traceId),
  span_id: orNull(spanId),
  truncated: listOf(text),
};
