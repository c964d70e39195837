/** The layer that says in one line, for the user, what a call did. */

import { defineLayer, diagnostics, type Layer, mergeAudit, type ToolCall, type ToolResult } from "@toolspan/core";
import { checksFor } from "./assert-option.ts";

/** Says what a call did: one line for the user, or nothing. */
export type SummaryFormat = (call: ToolCall, result: ToolResult) => string | undefined;

/**
 * Puts a line for the user into `audit.summary`, whatever became of the call.
 *
 * The line replaces what layers inside said there; where the function gives no text, theirs stays. A function that throws
 * costs the line, never the call.
 *
 * @param formatFn Gets the call as this layer saw it and the result; answers at once.
 * @returns A layer; it changes nothing but the audit.
 * @throws TOOLSPAN_INVALID_OPTION when made, if `formatFn` is not a function.
 */
export function withSummary(formatFn: SummaryFormat): Layer {
  checksFor("withSummary", {}, []).fn("formatFn", formatFn);
  return defineLayer({
    name: "with_summary",
    traits: { rewritesArgs: "no", audits: true },
    async call(call, next, scope) {
      const result = await next(call);
      const summary = format(formatFn, call, result);
      if (typeof summary === "string") {
        scope.report({ status: "ok" });
        return { ...result, audit: mergeAudit(result.audit, { summary }) };
      }
      scope.report({ status: summary === undefined ? "none" : "failed" });
      return result;
    },
  });
}

/** The line; undefined where there is none, null where the function failed. */
function format(formatFn: SummaryFormat, call: ToolCall, result: ToolResult): string | undefined | null {
  try {
    const line: unknown = formatFn(call, result);
    if (line === undefined || line === "") return undefined;
    if (typeof line === "string") return line;
    if (line instanceof Promise) line.catch(() => {});
  } catch {
    // Said below: the call has its result all the same.
  }
  diagnostics.report("middleware.with_summary", "format_failed", "a summary function threw or gave no text");
  return null;
}
