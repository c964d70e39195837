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
  type ToolResult,
  toRfc3339,
} from "@toolspan/core";
import { checksFor, MAX_DELAY_MS } from "./assert-option.ts";
import { askConsent, type ConsentPrompt, type Verdict, type VerdictCause } from "./consent/ask-consent.ts";
import { Denials } from "./consent/denials.ts";

export type { ConsentAnswer, ConsentPrompt } from "./consent/ask-consent.ts";

export interface ConsentOptions {
  /** How long an answer may take, milliseconds, integer from 1 to 2,147,483,647. Default: as long as it takes. */
  readonly promptTimeoutMs?: number;
  /** `final` (default) denies a call that was denied before in its session without asking; `ask` asks each time. */
  readonly denials?: "final" | "ask";
  /** Names of top-level arguments that do not make a call another one, such as the reason it gives. Default none. */
  readonly ignoreArgs?: readonly string[];
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
 * A denial is final for the same tool and arguments within the session (else the run): who asks again gets it again, and so
 * does who was asking at the same time and is approved later. Arguments without a canonical form are asked about each time. It
 * goes for a person's or a policy's no and for a prompt that was late, not for one that broke.
 *
 * @param promptFn Gets the call; answers at once or later.
 * @returns A layer; a denial gives `status: "consent_denied"`, a call that is aborted meanwhile `aborted`. Both decisions
 *   stand in `audit.consent` as `{ decision, decided_by, decided_at, reason? }`.
 * @throws TOOLSPAN_INVALID_OPTION when made, if `promptFn` is not a function or an option not of its declared shape.
 */
export function withConsent(promptFn: ConsentPrompt, options: ConsentOptions = {}): Layer {
  const checks = checksFor("withConsent", options, ["promptTimeoutMs", "denials", "ignoreArgs"]);
  checks.fn("promptFn", promptFn);
  const { promptTimeoutMs, ignoreArgs = [] } = options;
  checks.oneOf("denials", options.denials, ["final", "ask"]);
  checks.names("ignoreArgs", options.ignoreArgs);
  const denials = options.denials === "ask" ? undefined : new Denials(ignoreArgs);
  if (promptTimeoutMs !== undefined) checks.count("promptTimeoutMs", promptTimeoutMs, 1, MAX_DELAY_MS);

  return defineLayer({
    name: "with_consent",
    traits: { rewritesArgs: "no", audits: true, decides: true },
    async call(call, next, scope) {
      // Bound before anybody is asked: what is changed while they think is not what they saw.
      scope.bindArgs(plainDigest);
      const key = denials?.keyOf(call);
      const before = denials?.get(key);
      if (before !== undefined) return refuseAgain(call, before, scope);
      const verdict = await askConsent(promptFn, call, promptTimeoutMs);
      if (verdict.cause === "aborted") {
        scope.report({ status: "aborted" });
        return failedResult(call, "aborted", "aborted", `tool ${call.toolName}: aborted before anybody consented`);
      }
      // The same question may have been put more than once before the first answer: a no among them is final for all.
      const meanwhile = verdict.approved ? denials?.get(key) : undefined;
      if (meanwhile !== undefined) return refuseAgain(call, meanwhile, scope);
      const consent = toConsent(verdict, scope);
      if (verdict.approved) {
        scope.report({ status: "approved" });
        const result = await next(call);
        return { ...result, approval: consent, audit: mergeAudit(result.audit, { consent }) };
      }
      scope.report({ status: "denied", attributes: { cause: verdict.cause } });
      tellOwnTrouble(verdict);
      if (FINAL.has(verdict.cause)) denials?.add(key, consent);
      return refuse(call, consent);
    },
  });
}

type Consent = NonNullable<AuditBlob["consent"]>;

/** A prompt that broke has decided nothing: the call is denied, and the next one asked about. */
const FINAL: ReadonlySet<VerdictCause> = new Set(["answered", "prompt_timeout"]);

function toConsent(verdict: Verdict, { dispatch }: LayerScope): Consent {
  const clock = dispatch.clock === stoppedClock ? createClock() : dispatch.clock;
  return {
    decision: verdict.approved ? "approved" : "denied",
    decided_by: verdict.decidedBy,
    decided_at: toRfc3339(clock, clock.now()),
    ...(verdict.reason === undefined ? {} : { reason: verdict.reason }),
  };
}

function refuseAgain(call: ToolCall, denial: Consent, scope: LayerScope): ToolResult {
  scope.report({ status: "denied", attributes: { cause: "denied_before" } });
  return refuse(call, denial);
}

function refuse(call: ToolCall, consent: Consent): ToolResult {
  const why = consent.reason === undefined ? "" : ` (${consent.reason})`;
  const text = `tool ${call.toolName}: not run; consent was denied${why}`;
  return {
    ...failedResult(call, "consent_denied", "consent_denied", text),
    approval: consent,
    audit: { consent },
  };
}

function tellOwnTrouble({ cause }: Verdict): void {
  if (cause === "answered") return;
  diagnostics.report(
    "middleware.with_consent",
    cause,
    `a prompt gave no usable answer (${cause}); the call was denied`,
  );
}
