/** The layer that asks before a tool runs, and binds the answer to the arguments that were asked about. */

import { plainDigest } from "@toolspan/canonical/hash";
import {
  type AuditBlob,
  createClock,
  defineLayer,
  diagnostics,
  failedResult,
  type Layer,
  type LayerScope,
  mergeAudit,
  stoppedClock,
  type ToolCall,
  toRfc3339,
} from "@toolspan/core";
import { askConsent, type ConsentPrompt, type Verdict } from "./ask-consent.ts";
import { checksFor, MAX_DELAY_MS } from "./assert-option.ts";

export type { ConsentAnswer, ConsentPrompt } from "./ask-consent.ts";

export interface ConsentOptions {
  /** How long an answer may take, milliseconds, integer from 1 to 2,147,483,647. Default: as long as it takes. */
  readonly promptTimeoutMs?: number;
}

/** A prompt that approves every call and says that nobody was asked: `decided_by: "auto"`. */
export const autoApprove: ConsentPrompt = () => ({ approved: true, decidedBy: "auto" });

/**
 * Asks before each call; what is not clearly approved is denied.
 *
 * Approved are `true`, `{ approved: true }` and `{ decision: "approved" }`. Everything else is a denial: other answers,
 * contradictory ones, a prompt that throws, and one that is late. The approval holds for the arguments as they were when the
 * prompt was called: if a layer inside changes them (its own field and masks aside), the tool does not run.
 *
 * @param promptFn Gets the call; answers at once or later.
 * @returns A layer; a denial gives `status: "consent_denied"`, a call that is aborted meanwhile `aborted`. Both decisions
 *   stand in `audit.consent` as `{ decision, decided_by, decided_at, reason? }`.
 * @throws TOOLSPAN_INVALID_OPTION when made, if `promptFn` is not a function or `promptTimeoutMs` not such an integer.
 */
export function withConsent(promptFn: ConsentPrompt, options: ConsentOptions = {}): Layer {
  const checks = checksFor("withConsent", options, ["promptTimeoutMs"]);
  checks.fn("promptFn", promptFn);
  const { promptTimeoutMs } = options;
  if (promptTimeoutMs !== undefined) checks.count("promptTimeoutMs", promptTimeoutMs, 1, MAX_DELAY_MS);

  return defineLayer({
    name: "with_consent",
    traits: { rewritesArgs: "no", audits: true, decides: true },
    async call(call, next, scope) {
      // Bound before anybody is asked: what is changed while they think is not what they saw.
      scope.bindArgs(plainDigest);
      const verdict = await askConsent(promptFn, call, promptTimeoutMs);
      if (verdict.cause === "aborted") {
        scope.report({ status: "aborted" });
        return failedResult(call, "aborted", "aborted", `tool ${call.toolName}: aborted before anybody consented`);
      }
      const consent = toConsent(verdict, scope);
      if (verdict.approved) {
        scope.report({ status: "approved" });
        const result = await next(call);
        return { ...result, approval: consent, audit: mergeAudit(result.audit, { consent }) };
      }
      scope.report({ status: "denied", attributes: { cause: verdict.cause } });
      tellOwnTrouble(verdict);
      const refused = failedResult(call, "consent_denied", "consent_denied", denial(call, verdict));
      return { ...refused, approval: consent, audit: { consent } };
    },
  });
}

function toConsent(verdict: Verdict, { dispatch }: LayerScope): NonNullable<AuditBlob["consent"]> {
  const clock = dispatch.clock === stoppedClock ? createClock() : dispatch.clock;
  return {
    decision: verdict.approved ? "approved" : "denied",
    decided_by: verdict.decidedBy,
    decided_at: toRfc3339(clock, clock.now()),
    ...(verdict.reason === undefined ? {} : { reason: verdict.reason }),
  };
}

function denial({ toolName }: ToolCall, { reason }: Verdict): string {
  return `tool ${toolName}: not run; consent was denied${reason === undefined ? "" : ` (${reason})`}`;
}

function tellOwnTrouble({ cause }: Verdict): void {
  if (cause === "answered") return;
  diagnostics.report(
    "middleware.with_consent",
    cause,
    `a prompt gave no usable answer (${cause}); the call was denied`,
  );
}
