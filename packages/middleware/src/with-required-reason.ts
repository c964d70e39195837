/** The pair that makes a model say why: a schema transform that asks for a reason, and a layer that insists on it. */

import {
  type AuditBlob,
  defineLayer,
  failedResult,
  type JsonSchema,
  type Layer,
  mergeAudit,
  type SchemaEntry,
  type ToolCall,
  type ToolResult,
  toolInjectParam,
} from "@toolspan/core";
import { checksFor } from "./assert-option.ts";
import { ownField } from "./own-field.ts";

export interface RequiredReasonOptions {
  /** Name of the argument. Default `reason`. */
  readonly field?: string;
  /** What the model is told about it. */
  readonly description?: string;
  /** Takes the argument away before the tool runs (default), or lets it through. */
  readonly strip?: boolean;
  /** Key of the audit blob that shows the reason. Default `summary`. */
  readonly auditKey?: string;
  /** Fewest characters, surrounding white space aside, integer >= 0. Default 1. */
  readonly minLength?: number;
  /** `reject` (default) refuses a call without a reason; `fill_blank` lets it through as "(no reason given)". */
  readonly onMissing?: "reject" | "fill_blank";
  /** Whether the schema marks the argument as required. Default true. */
  readonly schemaRequired?: boolean;
}

/** Give `schemaTransform` to `toolsUseMiddleware`, list `caller` among the layers. */
export interface RequiredReason {
  readonly schemaTransform: <E extends SchemaEntry>(entry: E) => E;
  readonly caller: Layer;
}

const OPTIONS = ["field", "description", "strip", "auditKey", "minLength", "onMissing", "schemaRequired"] as const;
/** Keys of the blob that hold something other than a text of this kind. */
const OTHER_KEYS: readonly string[] = [
  "kind",
  "hints",
  "consent",
  "scope",
  "layers",
  "metadata",
  "handoff",
  "receipt_uri",
  "truncated",
];
const NO_REASON = "(no reason given)";

/**
 * Makes every tool call say why, for the user, the audit, and the model's own good.
 *
 * The schema that goes inward no longer asks for the argument, so a call that this layer has let through is not refused for
 * it later. A tool that declares an argument of that name by itself keeps it: it is shown in the audit and not stripped.
 *
 * @returns The pair; the layer refuses a missing reason with `status: "schema_violation"`, `errorCategory: "missing_reason"`.
 * @throws TOOLSPAN_INVALID_OPTION when made, if an option is not of its declared shape.
 */
export function withRequiredReason(options: RequiredReasonOptions = {}): RequiredReason {
  assertOptions(options);
  const { field = "reason", auditKey = "summary", minLength = 1, strip = true } = options;
  const { onMissing = "reject", schemaRequired = true } = options;
  const description = options.description ?? "Why you make this call, in one sentence for the user.";
  const fragment: JsonSchema = Object.freeze({ type: "string", description, minLength });
  const own = ownField(field, fragment, strip);

  const caller = defineLayer({
    name: "with_required_reason",
    traits: { rewritesArgs: "own_field", audits: true },
    async call(call, next, scope) {
      const reason = reasonIn(call.toolArgs, field, minLength);
      if (reason === undefined && onMissing === "reject") {
        scope.report({ status: "rejected" });
        return refuse(call, field, minLength);
      }
      scope.report({ status: reason === undefined ? "filled" : "ok" });
      const audit: AuditBlob = { [auditKey]: reason ?? NO_REASON };
      const result = await next(own.passInward(call));
      return { ...result, audit: mergeAudit(result.audit, audit) };
    },
  });
  return Object.freeze({
    caller,
    schemaTransform: <E extends SchemaEntry>(entry: E): E =>
      toolInjectParam(entry, field, fragment, { required: schemaRequired }),
  });
}

function assertOptions(options: RequiredReasonOptions): void {
  const checks = checksFor("withRequiredReason", options, OPTIONS);
  checks.text("field", options.field);
  checks.text("description", options.description);
  checks.text("auditKey", options.auditKey);
  checks.flag("strip", options.strip);
  checks.flag("schemaRequired", options.schemaRequired);
  checks.oneOf("onMissing", options.onMissing, ["reject", "fill_blank"]);
  if (options.minLength !== undefined) checks.count("minLength", options.minLength, 0);
  const { auditKey = "summary" } = options;
  checks.notOneOf("auditKey", auditKey, OTHER_KEYS);
}

function reasonIn(args: unknown, field: string, minLength: number): string | undefined {
  if (typeof args !== "object" || args === null || !Object.hasOwn(args, field)) return undefined;
  const value = (args as Readonly<Record<string, unknown>>)[field];
  if (typeof value !== "string") return undefined;
  const reason = value.trim();
  return [...reason].length < minLength ? undefined : reason;
}

function refuse(call: ToolCall, field: string, minLength: number): ToolResult {
  if (call.toolArgs === undefined && call.rawArgs !== undefined) {
    const text = `tool ${call.toolName}: not run; the arguments are not valid JSON`;
    return failedResult(call, "schema_violation", "unparsable_arguments", text);
  }
  const text = `tool ${call.toolName}: not run; say why in the argument "${field}" (at least ${minLength} characters) and call again`;
  return failedResult(call, "schema_violation", "missing_reason", text);
}
