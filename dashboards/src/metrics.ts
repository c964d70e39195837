/** The metrics that boards ask for, by the names that Prometheus gets from the Collector. */

/** Counters of calls, by tool, agent and status. */
export const TOOL_CALLS = "toolspan_tool_calls_total";
export const TOOL_CALLS_ACTIVE = "toolspan_tool_calls_active";
export const TELEMETRY_LOST = "toolspan_telemetry_lost_total";
export const CONTENT_ALTERED = "toolspan_telemetry_altered_total";
export const RECEIPT_RECORDS = "toolspan_receipts_records_total";
export const RECEIPT_HEADS = "toolspan_receipts_heads_total";
export const RECEIPTS_UNSEALED = "toolspan_receipts_unsealed";
export const SPOOL_BYTES = "toolspan_receipts_spool_bytes";
export const SPOOL_OLDEST_AGE = "toolspan_receipts_spool_oldest_age_seconds";

/** Histograms, without `_bucket`, `_sum` or `_count`. */
export const TOOL_DURATION = "gen_ai_execute_tool_duration_seconds";
export const LAYER_DURATION = "toolspan_layer_duration_seconds";
export const DURABLE_DURATION = "toolspan_receipts_durable_duration_seconds";
export const RUN_DURATION = "gen_ai_invoke_agent_duration_seconds";
export const RUN_TOOL_CALLS = "gen_ai_invoke_agent_tool_calls";
export const RUN_MODEL_CALLS = "gen_ai_invoke_agent_inference_calls";
export const MODEL_DURATION = "gen_ai_client_operation_duration_seconds";

/** Statuses that say that a call went well, or waits. */
const NOT_FAILED = "ok|dry_run|redacted|suspended";
/** The others are failures. Where an SDK has no more room for series, calls have no status, and nobody knows how they ended. */
export const FAILED_CALL: readonly string[] = ['toolspan_status!=""', `toolspan_status!~"${NOT_FAILED}"`];
/** Layer statuses by which a layer denies a call, by the tables of docs/layers. `refused` is none: another run was refused, or a store failed. */
export const DENIALS = "denied|violation|rejected|rate_limited";
