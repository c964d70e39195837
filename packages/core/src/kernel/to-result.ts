/** A settled handler as a result: classified once, for status, span, metric and receipt alike. */

import { diagnostics } from "../diagnostics.ts";
import { type Classification, classifyByDefault, type Settled } from "../vocabulary/classify.ts";
import { messageOf, nameOf } from "../vocabulary/error-type.ts";
import { isToolStatus, STATUSES } from "../vocabulary/status.ts";
import { CAUSE, type ToolResult } from "../vocabulary/tool-result.ts";
import type { Leaf } from "./leaf.ts";

/** The one classification of a settled handler, as a result. */
export function toResult(leaf: Leaf, settled: Settled): ToolResult {
  return resultOf(leaf, settled, classified(leaf, settled));
}

/** A settled handler as a result of the given classification. */
export function resultOf(leaf: Leaf, settled: Settled, classification: Classification): ToolResult {
  const { status, errorCategory, error } = classification;
  const { call, dispatch } = leaf;
  leaf.handlerEnded();
  const { ok } = STATUSES[status];
  const text = error ?? (settled.threw ? messageOf(settled.value) : null);
  const result: ToolResult = {
    ok,
    status,
    toolName: call.toolName,
    toolCallId: call.callId,
    arguments: call.toolArgs,
    result: settled.value,
    error: ok ? null : text,
    errorCategory: ok ? null : (errorCategory ?? (status === "error" ? "tool_error" : status)),
    executor: call.declaredExecutor ?? null,
    executed: true,
    executionDurationMs: dispatch.executionMs,
  };
  if (!settled.threw) return result;
  const { result: thrown, ...rest } = result;
  return { ...rest, observation: text ?? status, [CAUSE]: thrown };
}

/** What `classify` says, else the default; a throw in it counts as ok and is reported. */
export function classified({ dispatch, call }: Leaf, settled: Settled): Classification {
  try {
    const custom = dispatch.options.classify?.(settled, call);
    return isClassification(custom) ? { ...custom } : classifyByDefault(settled, call);
  } catch (thrown) {
    diagnostics.report("kernel.classify", "threw", `classify threw ${nameOf(thrown) ?? "a value"}; counted as ok`);
    return settled.threw ? { status: "exception", errorCategory: "exception" } : { status: "ok" };
  }
}

function isClassification(custom: unknown): custom is Classification {
  return typeof custom === "object" && custom !== null && isToolStatus((custom as Partial<Classification>).status);
}
