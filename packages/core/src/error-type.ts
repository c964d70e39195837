/** One rule for `error.type`, so that span, metric, record and receipt never disagree. */

import { STATUSES } from "./status.ts";
import { CAUSE, type ToolResult } from "./tool-result.ts";

const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$.]{0,63}$/;

/** A thrown error's `name` if it looks like an identifier, else the category, else the status; undefined unless failed. */
export function errorTypeOf(result: ToolResult): string | undefined {
  if (!STATUSES[result.status].error) return undefined;
  const named = CAUSE in result ? nameOf(result[CAUSE]) : undefined;
  return named ?? result.errorCategory ?? result.status;
}

/** The `name` of something thrown, if it is an identifier of at most 64 characters. Never throws. */
export function nameOf(thrown: unknown): string | undefined {
  try {
    if (typeof thrown !== "object" || thrown === null) return undefined;
    const { name } = thrown as { readonly name?: unknown };
    return typeof name === "string" && IDENTIFIER.test(name) ? name : undefined;
  } catch {
    return undefined; // a getter that throws has no name
  }
}

/** The message of something thrown, for the model. Never throws. */
export function messageOf(thrown: unknown): string {
  try {
    if (typeof thrown === "object" && thrown !== null && "message" in thrown) return String(thrown.message);
    return String(thrown);
  } catch {
    return "a value that has no text was thrown";
  }
}
