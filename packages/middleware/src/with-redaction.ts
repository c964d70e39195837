/** The layer that masks secrets in arguments on their way in, and in results, errors and audit on their way out. */

import {
  type AuditBlob,
  type DispatchScope,
  defineLayer,
  diagnostics,
  failedResult,
  type Layer,
  type LayerRecord,
  type LayerScope,
  type ToolCall,
  type ToolResult,
} from "@toolspan/core";
import { checksFor } from "./assert-option.ts";
import { addMetadata } from "./audit-metadata.ts";
import { maskResult, type StreamMode } from "./redaction/mask-result.ts";
import { Masking } from "./redaction/masking.ts";
import type { Redactor } from "./redaction/redactor.ts";

export { composeRedactors, type RedactionInput, type RedactionOutput, type Redactor } from "./redaction/redactor.ts";

export interface RedactionOptions {
  /**
   * `whole` (default) reads a stream to its end before its first item leaves, so that a secret spread over texts is seen;
   * `each_item` hands each item on at once, and sees only what lies within one.
   */
  readonly streams?: StreamMode;
}

/**
 * Masks secrets: in the arguments before anything further in sees them, in results, error texts and what was thrown before
 * anything further out does, and, wherever it stands, in the audit blob and in whatever observers record of the call.
 *
 * It fails closed: arguments that could not be masked do not run, a result that could not be masked does not leave. An error
 * in which something was masked is a copy of its kind; without a finding it stays the same object. Masked arguments still
 * fit a consent that was given for them. `call.native` is the framework's own and goes inward as it is.
 *
 * @param redactor Masks one part of a call; `composeRedactors` makes one of several.
 * @returns A layer; a failure gives `status: "tool_middleware_exception"`, `errorCategory: "redaction_failed"`. Names of the
 *   masked fields stand in `audit.metadata.redacted_fields`, rules and counts in `redaction_rules`; never what was masked.
 * @throws TOOLSPAN_INVALID_OPTION when made, if `redactor` is not a function or `streams` another word.
 */
export function withRedaction(redactor: Redactor, options: RedactionOptions = {}): Layer {
  const checks = checksFor("withRedaction", options, ["streams"]);
  checks.fn("redactor", redactor);
  checks.oneOf("streams", options.streams, ["whole", "each_item"]);
  const { streams = "whole" } = options;
  /** What left this layer, so that the kernel's last look does not mask it again. */
  const left = new WeakMap<DispatchScope, ToolResult>();

  return defineLayer({
    name: "with_redaction",
    traits: { rewritesArgs: "mask", audits: true, redacts: true },
    async call(call, next, scope) {
      const masking = new Masking(redactor, call.toolName);
      const masked = maskCall(call, masking);
      if (masked === undefined) return withhold(call, scope, "in");
      masking.passed(masked.toolArgs);
      const result = await next(masked);
      const outward = tryMask(() => maskResult(result, masking, streams));
      if (outward === undefined) return withhold(call, scope, "out");
      left.set(scope.dispatch, outward);
      const changed = masked.toolArgs !== call.toolArgs || outward !== result || masking.found;
      scope.report({ status: changed ? "redacted" : "ok" });
      return masking.found ? { ...outward, audit: addMetadata(outward.audit, masking.metadata) } : outward;
    },
    redactAudit: (audit) => maskAudit(audit, redactor),
    redactContent: (content, toolName) => {
      const masking = new Masking(redactor, toolName);
      return toolName === "" ? masking.messages(content) : masking.args(content);
    },
    redactResult: (result, dispatch) =>
      maskResult(result, new Masking(redactor, dispatch.call.toolName), streams, left.get(dispatch)),
  });
}

/** The call as it may go inward; undefined where it could not be masked. */
function maskCall(call: ToolCall, masking: Masking): ToolCall | undefined {
  return tryMask(() => {
    const { toolArgs, rawArgs } = call;
    const args = toolArgs === undefined ? undefined : masking.args(toolArgs);
    const raw = rawArgs === undefined ? undefined : (masking.args(rawArgs) as string);
    if (args === toolArgs && raw === rawArgs) return call;
    // The text of arguments that were read is not needed any more; of others it is all there is.
    return { ...call, toolArgs: args, rawArgs: toolArgs === undefined ? raw : undefined };
  });
}

/** Layer records are the kernel's own words, except for their attributes. */
function maskAudit(audit: AuditBlob, redactor: Redactor): AuditBlob {
  const { layers, ...said } = audit;
  const masking = new Masking(redactor, "");
  const masked = masking.value("audit", said);
  if (typeof masked !== "object" || masked === null) throw new TypeError("a redactor answered with no audit blob");
  if (layers === undefined) return masked as AuditBlob;
  return { ...masked, layers: layers.map((record) => maskRecord(record, masking)) };
}

function maskRecord(record: LayerRecord, masking: Masking): LayerRecord {
  if (record.attributes === undefined) return record;
  const attributes = masking.value("audit", record.attributes) as NonNullable<LayerRecord["attributes"]>;
  return attributes === record.attributes ? record : { ...record, attributes };
}

/** What the redactor threw is not passed on: it may hold what it was given. */
function tryMask<T>(mask: () => T): T | undefined {
  try {
    return mask();
  } catch {
    return undefined;
  }
}

function withhold(call: ToolCall, scope: LayerScope, phase: "in" | "out"): ToolResult {
  scope.report({ status: "failed", attributes: { phase } });
  diagnostics.report(
    "middleware.with_redaction",
    phase,
    `a redactor failed in phase ${phase}; what it was given is withheld`,
  );
  const what =
    phase === "in"
      ? "not run; its arguments could not be redacted"
      : "its result could not be redacted and is withheld";
  const { arguments: _, ...failed } = failedResult(
    call,
    "tool_middleware_exception",
    "redaction_failed",
    `tool ${call.toolName}: ${what}`,
  );
  return failed;
}
