/** Wire record `receipt`: what happened to one tool call, refusals included. */

import type { AuditBlob, Executor, ToolStatus } from "@toolspan/core";
import { type Chain, chain, type Envelope, envelope } from "./envelope.ts";
import {
  count,
  type Fields,
  flag,
  hash,
  listOf,
  milliseconds,
  oneOf,
  open,
  orNull,
  spanId,
  text,
  time,
  traceId,
  uuid,
} from "./field.ts";

export const KINDS = ["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"] as const;

/** Spelled out: a thread that reads lines loads these schemas, and should not have to load the core for them. */
const STATUSES: Readonly<Record<ToolStatus, true>> = {
  ok: true,
  dry_run: true,
  redacted: true,
  suspended: true,
  tool_not_found: true,
  schema_violation: true,
  consent_denied: true,
  policy_blocked: true,
  scope_violation: true,
  executor_error: true,
  rate_limited: true,
  timeout: true,
  aborted: true,
  exception: true,
  error: true,
  tool_middleware_exception: true,
};

const EXECUTORS: readonly Executor[] = ["local", "host_bridge", "mcp_server", "provider_native"];

/**
 * One dispatch, as an outsider may hold it against a trace and a transcript.
 *
 * Field names are wire names; a field is there even when null. It states the outcome before any receipt failure. Join on `dispatch_id`: tool call ids repeat.
 */
export interface ToolCallReceipt extends Omit<Envelope, "chain"> {
  readonly record: "receipt";
  /** Null for a receipt that was handed to a function and stands in no log. */
  readonly chain: Chain | null;
  readonly dispatch_id: string;
  readonly session_id: string | null;
  readonly run_id: string | null;
  readonly tool_call_id: string | null;
  readonly tool_name: string;
  /** `sha256:<hex>` of canonical `{ name, description, input_schema }`; null where the call came with neither description nor schema. */
  readonly tool_hash: string | null;
  readonly iteration: number;
  readonly turn_index: number | null;
  /** Position among the calls of its turn, as the model emitted them. */
  readonly emit_order: number | null;
  /** How often the handler was started. */
  readonly attempts: number;
  /** Why the model says it made the call. */
  readonly reason: string | null;
  readonly kind: (typeof KINDS)[number] | null;
  readonly executor: Executor | null;
  readonly status: ToolStatus;
  readonly ok: boolean;
  readonly error_type: string | null;
  readonly error_category: string | null;
  readonly started_at: string;
  /** From dispatch start to the moment the result was fixed, by the monotonic clock. */
  readonly duration_ms: number;
  /** The arguments as the dispatch was entered, less the redact keys. */
  readonly args_hash: string | null;
  /** What the handler got last; null if it never ran. */
  readonly executed_args_hash: string | null;
  /** Redact keys that were there. */
  readonly args_redacted: readonly string[];
  /** The final result; null if there is none. */
  readonly result_hash: string | null;
  /** What the layers attached, with the layers that ran; null if there was nothing. */
  readonly audit: AuditBlob | CompactAudit | null;
  readonly agent_name: string | null;
  readonly model: string | null;
  readonly provider: string | null;
  readonly trace_id: string | null;
  readonly span_id: string | null;
  readonly replayed: boolean;
  /** JSON Pointers of what was cut to keep the line within its size. */
  readonly truncated: readonly string[];
}

/** A layer run in a compact receipt. */
export interface CompactLayer {
  readonly name: string;
  readonly self_time_ms: number;
  readonly status: string;
}

/** The audit blob with its layers compact. */
export type CompactAudit = Omit<AuditBlob, "layers"> & { readonly layers?: readonly CompactLayer[] };

const layer = open({ name: text, self_time_ms: milliseconds, status: text }, ["name", "self_time_ms", "status"]);

export const receiptFields: Fields<ToolCallReceipt> = {
  ...envelope("receipt"),
  chain: orNull(chain),
  dispatch_id: uuid,
  session_id: orNull(text),
  run_id: orNull(text),
  tool_call_id: orNull(text),
  tool_name: text,
  tool_hash: orNull(hash),
  iteration: count,
  turn_index: orNull(count),
  emit_order: orNull(count),
  attempts: count,
  reason: orNull(text),
  kind: orNull(oneOf(KINDS)),
  executor: orNull(oneOf(EXECUTORS)),
  status: oneOf(Object.keys(STATUSES)),
  ok: flag,
  error_type: orNull(text),
  error_category: orNull(text),
  started_at: time,
  duration_ms: milliseconds,
  args_hash: orNull(hash),
  executed_args_hash: orNull(hash),
  args_redacted: listOf(text),
  result_hash: orNull(hash),
  audit: orNull(open({ layers: listOf(layer), receipt_uri: text })),
  agent_name: orNull(text),
  model: orNull(text),
  provider: orNull(text),
  trace_id: orNull(traceId),
  span_id: orNull(spanId),
  replayed: flag,
  truncated: listOf(text),
};
