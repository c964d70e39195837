/** A layer that answers as soon as its call's signal fires, whatever hangs inside. */

import { defineLayer, type Layer, type ToolCall, type ToolResult } from "@toolspan/core";
import { onAbort } from "./abort.ts";

/**
 * Ends a call when `call.signal` fires, so that neither a deaf tool nor a waiting layer holds up a run.
 *
 * What runs inside goes on unheard: its spans end as `abandoned`, and what it does later is a late settlement. List it
 * outermost; an agent that makes its own dispatcher does.
 *
 * @returns A layer; a fired signal gives `status: "timeout"` if its reason is a `TimeoutError`, else `"aborted"`.
 */
export function withAbort(): Layer {
  return defineLayer({
    name: "with_abort",
    traits: { rewritesArgs: "no", audits: false, limits: true },
    call: (call, next, scope) => {
      const { signal } = call;
      if (signal === undefined) return next(call);
      return new Promise<ToolResult>((resolve, reject) => {
        const stop = onAbort(signal, (reason) => {
          const result = abortedResult(call, reason);
          scope.report({ status: result.status });
          resolve(result);
        });
        if (!signal.aborted) next(call).finally(stop).then(resolve, reject);
      });
    },
  });
}

function abortedResult(call: ToolCall, reason: unknown): ToolResult {
  const status = isTimeout(reason) ? "timeout" : "aborted";
  const error = `tool ${call.toolName}: ${status === "timeout" ? "did not answer in time" : "aborted"}`;
  return {
    ok: false,
    status,
    toolName: call.toolName,
    arguments: call.toolArgs,
    observation: error,
    error,
    errorCategory: status,
  };
}

function isTimeout(reason: unknown): boolean {
  return (
    typeof reason === "object" && reason !== null && (reason as { readonly name?: unknown }).name === "TimeoutError"
  );
}
