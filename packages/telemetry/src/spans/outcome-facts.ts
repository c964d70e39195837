/** What span, span record and metric all say of one outcome. */

import type { DispatchOutcome, DispatchResult } from "@toolspan/core";
import { tryTo, utf8Length } from "../content/plain-value.ts";
import { toWord } from "../words.ts";

/** True when the call was stopped by what it was allowed to do. */
export function isScopeViolation({ status, errorCategory }: DispatchResult): boolean {
  return [status, errorCategory].some((word) => word === "scope_violation" || word === "policy_blocked");
}

/** The failure's category as a low-cardinality word. */
export function categoryOf({ errorCategory }: DispatchResult): string | undefined {
  return typeof errorCategory === "string" ? toWord(errorCategory) : undefined;
}

/** UTF-8 bytes of what the model gets to see; undefined where there is no such text. */
export function renderedSize({ renderedResult }: DispatchResult): number | undefined {
  return typeof renderedResult === "string" ? utf8Length(renderedResult) : undefined;
}

/** Reads the whole result, so only where content is captured. */
export function resultHash(outcome: DispatchOutcome): string | null {
  return tryTo(() => outcome.resultDigest()?.hash ?? null, "refused:hasher_threw");
}
