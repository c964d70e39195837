/** The layer that recognises a handoff in a tool's result and makes it a typed record. */

import {
  createClock,
  defineLayer,
  diagnostics,
  type Layer,
  type LayerScope,
  mergeAudit,
  stoppedClock,
  type ToolCall,
  type ToolResult,
  toRfc3339,
} from "@toolspan/core";
import { checksFor } from "./assert-option.ts";
import { findHandoff } from "./handoff/find-handoff.ts";
import { type HandoffRecord, toHandoff } from "./handoff/handoff.ts";

export type { HandoffRecord, HandoffTarget } from "./handoff/handoff.ts";
export { type HandoffPolicy, runUnderHandoff } from "./handoff/handoff-policy.ts";

export interface HandoffArtifactOptions {
  /** Gets each record once, to keep it or to act on it. */
  readonly sink?: (handoff: HandoffRecord, call: ToolCall) => void | Promise<void>;
  /** Finds the payload in a result its own way; undefined where there is none. */
  readonly detect?: (result: ToolResult, call: ToolCall) => unknown;
  /** Keys of a result under which a payload may stand, first to last. Default `__handoff`, `handoff`. */
  readonly keys?: readonly string[];
  /** Who hands over, where the payload does not say. */
  readonly source?: string;
  /** True makes a malformed payload, or a sink that fails, a failure of the call. Default false. */
  readonly strict?: boolean;
}

const OPTIONS = ["sink", "detect", "keys", "source", "strict"] as const;

/**
 * Recognises that a tool hands work over to somebody else, and puts the typed record into `audit.handoff`.
 *
 * The payload stands under a key of a successful result, which may be an object or JSON text. The result itself stays as it
 * is. A `policy_override` is kept in the record; `runUnderHandoff` puts the receiver under it. A replayed result has been
 * handed over before and is passed by.
 *
 * @returns A layer; with `strict`, a malformed payload makes it throw: `status: "tool_middleware_exception"`.
 * @throws TOOLSPAN_INVALID_OPTION when made, if an option is not of its declared shape.
 */
export function withHandoffArtifact(options: HandoffArtifactOptions = {}): Layer {
  const checks = checksFor("withHandoffArtifact", options, OPTIONS);
  const { sink, detect, keys = ["__handoff", "handoff"], source, strict = false } = options;
  if (sink !== undefined) checks.fn("sink", sink);
  if (detect !== undefined) checks.fn("detect", detect);
  checks.names("keys", options.keys);
  checks.text("source", source);
  checks.flag("strict", options.strict);
  const find = detect ?? ((result: ToolResult) => findHandoff(result.result, keys));

  return defineLayer({
    name: "with_handoff_artifact",
    traits: { rewritesArgs: "no", audits: true },
    async call(call, next, scope) {
      const result = await next(call);
      if (!result.ok || result.replayed === true || result.settled !== undefined) return result;
      let handoff: HandoffRecord;
      try {
        const payload = find(result, call);
        if (payload === undefined || payload === null || payload === false) return result;
        handoff = toHandoff(payload, { source, createdAt: now(scope) });
      } catch (thrown) {
        return fail("malformed", thrown, result, scope, strict);
      }
      scope.report({ status: "handoff" });
      const carried = { ...result, audit: mergeAudit(result.audit, { handoff }) };
      try {
        await sink?.(handoff, call);
      } catch (thrown) {
        return fail("sink_failed", thrown, carried, scope, strict);
      }
      return carried;
    },
  });
}

function fail(
  status: "malformed" | "sink_failed",
  thrown: unknown,
  result: ToolResult,
  scope: LayerScope,
  strict: boolean,
): ToolResult {
  reportFailure(scope, status);
  if (strict) throw thrown;
  return result;
}

function reportFailure(scope: LayerScope, status: "malformed" | "sink_failed"): void {
  if (status === "malformed") scope.report({ status: "malformed" });
  else scope.report({ status: "sink_failed" });
  const what = status === "malformed" ? "a payload was malformed" : "a sink failed";
  diagnostics.report("middleware.with_handoff_artifact", status, `with_handoff_artifact: ${what}`);
}

function now({ dispatch }: LayerScope): string {
  const clock = dispatch.clock === stoppedClock ? createClock() : dispatch.clock;
  return toRfc3339(clock, clock.now());
}
