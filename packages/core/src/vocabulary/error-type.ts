/** One rule for `error.type`, so that span, metric, record and receipt never disagree. */

import { STATUSES } from "./status.ts";
import { CAUSE, type ToolResult } from "./tool-result.ts";

const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$.]{0,63}$/;

/** A thrown error's `name` if it is a word, else the category if that is one, else the status; undefined unless failed. */
export function errorTypeOf(result: ToolResult): string | undefined {
  if (!STATUSES[result.status].error) return undefined;
  const named = CAUSE in result ? nameOf(result[CAUSE]) : undefined;
  return named ?? wordOf(result.errorCategory) ?? result.status;
}

/** The `name` of something thrown, if it is an identifier of at most 64 characters. Never throws. */
export function nameOf(thrown: unknown): string | undefined {
  try {
    if (typeof thrown !== "object" || thrown === null) return undefined;
    const { name } = thrown as { readonly name?: unknown };
    return wordOf(name);
  } catch {
    return undefined; // a getter that throws has no name
  }
}

/** Free text would be content, and a label without bound. */
function wordOf(value: unknown): string | undefined {
  return typeof value === "string" && IDENTIFIER.test(value) ? value : undefined;
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
