/** Toolspan's own names on spans and metrics: everything that no convention covers stands under `toolspan.`. */

export const SCOPE_NAME = "@toolspan/telemetry";
/** Equal to `version` in this package's manifest, by test. */
export const SCOPE_VERSION = "0.1.0";

export const ATTR_DISPATCH_ID = "toolspan.dispatch_id";
export const ATTR_STATUS = "toolspan.status";
export const ATTR_EXECUTOR = "toolspan.executor";
export const ATTR_ERROR_CATEGORY = "toolspan.error_category";
export const ATTR_ARGS_HASH = "toolspan.args_hash";
export const ATTR_RESULT_HASH = "toolspan.result_hash";
export const ATTR_ARGS_SIZE = "toolspan.args_size";
export const ATTR_RESULT_SIZE = "toolspan.result_size";
export const ATTR_RENDERED_RESULT_SIZE = "toolspan.rendered_result_size";
/** Names of the content attributes that were cut to the byte budget. */
export const ATTR_TRUNCATED = "toolspan.truncated";
export const ATTR_ITERATION = "toolspan.iteration";
export const ATTR_SESSION_ID = "toolspan.session_id";
export const ATTR_RUN_ID = "toolspan.run_id";
export const ATTR_PERSONA = "toolspan.persona";
export const ATTR_MODE = "toolspan.mode";
export const ATTR_ATTEMPTS = "toolspan.attempts";
export const ATTR_ATTEMPT = "toolspan.attempt";
export const ATTR_REPLAYED = "toolspan.replayed";
export const ATTR_ARGS_CHANGED = "toolspan.args_changed";
export const ATTR_RECEIPT_LEVEL = "toolspan.receipt.level";
export const ATTR_RECEIPT_LOG = "toolspan.receipt.log";
export const ATTR_TOOL_CALLS = "toolspan.tool_calls";
export const ATTR_MODEL_CALLS = "toolspan.model_calls";
/** Prefix of allow-listed call metadata. */
export const PREFIX_META = "toolspan.meta.";
/** Prefix of what a layer says about its run. */
export const PREFIX_LAYER = "toolspan.layer.";

export const SPAN_LEAF = "tool_call.dispatch";
export const SPAN_LATE = "tool_call.late_settlement";
/** Prefix of layer and recorder spans, and of the span record's name. */
export const PREFIX_SPAN = "tool_call.";

export const EVENT_DISPATCHED = "tool_call.dispatched";
export const EVENT_RESULT_RETURNED = "tool_call.result_returned";
export const EVENT_SCOPE_VIOLATION = "tool_call.scope_violation";

export const METRIC_TOOL_CALLS = "toolspan.tool_calls";
export const METRIC_ACTIVE = "toolspan.tool_calls.active";
export const METRIC_LAYER_DURATION = "toolspan.layer.duration";
export const METRIC_ALTERED = "toolspan.telemetry.altered";
export const METRIC_LOST = "toolspan.telemetry.lost";
