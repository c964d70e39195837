/** Results that the kernel itself answers with. */

import { ToolspanError } from "../errors.ts";
import { messageOf } from "../vocabulary/error-type.ts";
import type { ToolStatus } from "../vocabulary/status.ts";
import type { ToolCall } from "../vocabulary/tool-call.ts";
import { CAUSE, type DispatchResult, type ToolResult } from "../vocabulary/tool-result.ts";

/** A failure with a text for the model. */
export function failedResult(call: ToolCall, status: ToolStatus, errorCategory: string, error: string): ToolResult {
  return {
    ok: false,
    status,
    toolName: call.toolName,
    toolCallId: call.callId,
    arguments: call.toolArgs,
    observation: error,
    error,
    errorCategory,
    executor: call.declaredExecutor ?? null,
  };
}

/** A layer that threw: names the layer, keeps what was thrown. */
export function crashedLayer(call: ToolCall, layer: string, thrown: unknown): ToolResult {
  const error = `layer ${layer} threw: ${messageOf(thrown)}`;
  return { ...failedResult(call, "tool_middleware_exception", "middleware_exception", error), [CAUSE]: thrown };
}

/** A layer that answered with nothing, or with something that is no complete result. */
export function incompleteAnswer(call: ToolCall, layer: string): ToolResult {
  const error = `layer ${layer} answered with an incomplete result: expected toolName, ok, a status that agrees with ok, and one of result, observation, renderedResult`;
  return failedResult(call, "tool_middleware_exception", "middleware_incomplete", error);
}

/** A result whose receipt could not be written: withheld, so that nobody repeats the effect. */
export function withheldResult(original: DispatchResult, storeError: unknown): DispatchResult {
  const { message } = new ToolspanError("TOOLSPAN_RECEIPT_FAILED", {
    reason: messageOf(storeError),
    executed: original.executed,
  });
  const { audit, approval } = original;
  return {
    ok: false,
    status: "tool_middleware_exception",
    toolName: original.toolName,
    toolCallId: original.toolCallId,
    arguments: original.arguments,
    observation: message,
    error: message,
    errorCategory: "receipt_failed",
    executor: original.executor ?? null,
    executed: original.executed,
    executionDurationMs: original.executionDurationMs,
    original,
    ...(audit === undefined ? {} : { audit }),
    ...(approval === undefined ? {} : { approval }),
    [CAUSE]: storeError,
  };
}
