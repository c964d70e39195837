/** How a settled handler becomes an outcome: once, at the terminal, for status, span, metric and receipt alike. */

import type { ToolStatus } from "./status.ts";
import type { ToolCall } from "./tool-call.ts";

/** What a handler did: returned (or yielded) a value, or threw one. */
export type Settled =
  | { readonly threw: false; readonly value: unknown }
  | { readonly threw: true; readonly value: unknown };

/** What that means. */
export interface Classification {
  readonly status: ToolStatus;
  /** Low-cardinality word; `tool_error` by default where the status is `error`. */
  readonly errorCategory?: string;
  /** Failure in words, for the model. Content. */
  readonly error?: string;
}

/** Answers with a classification, or nothing to leave it to the default. A throw in it counts as ok and is reported. */
export type Classify = (settled: Settled, call: ToolCall) => Classification | undefined;

const SOFT_ERROR: Classification = { status: "error", errorCategory: "tool_error" };
const OK: Classification = { status: "ok" };

/** Reads the value, not the presence, of `isError` / `is_error`; a throw is `aborted` if the signal has fired, else `exception`. */
export function classifyByDefault(settled: Settled, call: ToolCall): Classification {
  const { value } = settled;
  if (settled.threw) {
    return isAbortError(value) && call.signal?.aborted === true
      ? { status: "aborted", errorCategory: "aborted" }
      : { status: "exception", errorCategory: "exception" };
  }
  if (typeof value !== "object" || value === null) return OK;
  const { isError, is_error } = value as { readonly isError?: unknown; readonly is_error?: unknown };
  return isError === true || is_error === true ? SOFT_ERROR : OK;
}

function isAbortError(thrown: unknown): boolean {
  return typeof thrown === "object" && thrown !== null && (thrown as { readonly name?: unknown }).name === "AbortError";
}
