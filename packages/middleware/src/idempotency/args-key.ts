/** A key for calls that are the same: by their arguments, never by the provider's call id, which differs at every attempt. */

import { plainDigest } from "@toolspan/canonical/hash";
import type { ToolCall } from "@toolspan/core";
import { checksFor } from "../assert-option.ts";

/** Says which calls are the same; undefined for a call that is like no other. */
export type KeyFunction = (call: ToolCall) => string | undefined;

/** Whose calls can be the same: those of one session, of one run, or all that this process makes. */
export type KeyScope = "session" | "run" | "process";

/**
 * Makes keys of the canonical digest of the arguments, within a scope.
 *
 * A call outside such a scope, or with arguments that have no canonical form, has no key.
 *
 * @param options.scope Default `session`.
 * @throws TOOLSPAN_INVALID_OPTION when made, if `scope` is another word.
 */
export function argsKey(options: { readonly scope?: KeyScope } = {}): KeyFunction {
  const { scope = "session" } = options;
  checksFor("argsKey", options, ["scope"]).oneOf("scope", scope, ["session", "run", "process"]);
  return ({ turn, toolArgs }) => {
    const owner = { session: turn.sessionId, run: turn.runId, process: "" }[scope];
    const digest = owner === undefined ? null : plainDigest(toolArgs);
    return digest === null ? undefined : JSON.stringify([scope, owner, digest]);
  };
}
