/** The attempts of one call: how many there were, and whether there is another. */

import type { ToolCall, ToolResult, ToolStatus } from "@toolspan/core";
import type { KeyFunction } from "./idempotency/args-key.ts";

/** Failures that may pass. Everything else stays what it is, however often it is tried. */
export const RETRIABLE: readonly ToolStatus[] = ["exception", "error", "executor_error", "timeout", "rate_limited"];

/** What goes for the calls of one tool. */
export interface RetryPlan {
  readonly maxAttempts: number;
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  readonly jitter: "full" | "none";
  readonly statuses: ReadonlySet<ToolStatus>;
  readonly key: KeyFunction | undefined;
  /** Shared by all calls of the layer. */
  readonly budget: { left: number };
}

export interface RetryDecision {
  readonly decision: "accept" | "retry" | "give_up";
  /** What to say of the whole call if this is the last attempt. */
  readonly outcome: "ok" | "retried" | "refused" | "exhausted" | "budget_spent";
  /** Wait before the next attempt, milliseconds. */
  readonly delayMs: number;
}

export class Attempts {
  /** The key that makes a repetition safe; undefined where the tool needs none, or there is none. */
  readonly key: string | undefined;
  /** Attempts that have ended. */
  number = 0;
  /** What was decided about the last one. */
  last: RetryDecision = { decision: "accept", outcome: "ok", delayMs: 0 };
  readonly #plan: RetryPlan;
  readonly #signal: AbortSignal | undefined;
  readonly #isRepeatable: boolean;

  constructor(plan: RetryPlan, call: ToolCall) {
    this.#plan = plan;
    this.#signal = call.signal;
    const key: unknown = plan.key?.(call);
    this.key = typeof key === "string" && key !== "" ? key : undefined;
    this.#isRepeatable = this.key !== undefined || isIdempotent(call);
  }

  /** Counts an attempt that has ended so, and decides about another. Spends the budget that it takes. */
  decide(result: ToolResult): RetryDecision {
    this.number += 1;
    this.last = this.#decide(result);
    return this.last;
  }

  #decide({ ok, status, errorCategory }: ToolResult): RetryDecision {
    const { statuses, maxAttempts, budget } = this.#plan;
    const mayPass = !ok && statuses.has(status) && errorCategory !== "receipt_failed";
    if (!mayPass || this.#signal?.aborted === true) return this.#end("accept", this.number === 1 ? "ok" : "retried");
    if (!this.#isRepeatable) return this.#end("give_up", "refused");
    if (this.number >= maxAttempts) return this.#end("give_up", "exhausted");
    if (budget.left < 1) return this.#end("give_up", "budget_spent");
    budget.left -= 1;
    return { decision: "retry", outcome: "retried", delayMs: this.#delayMs() };
  }

  #end(decision: "accept" | "give_up", outcome: RetryDecision["outcome"]): RetryDecision {
    return { decision, outcome, delayMs: 0 };
  }

  /** @source "Exponential Backoff And Jitter", AWS Architecture Blog, 2015: full jitter. */
  #delayMs(): number {
    const { backoffMs, maxBackoffMs, jitter } = this.#plan;
    const wholeMs = Math.min(maxBackoffMs, backoffMs * 2 ** (this.number - 1));
    return jitter === "none" ? wholeMs : Math.floor(Math.random() * (wholeMs + 1));
  }
}

/** True for what says so, and for what has no effect. Hints of annotations are nobody's promise. */
function isIdempotent({ idempotent, sideEffectLevel }: ToolCall): boolean {
  return idempotent === true || sideEffectLevel === "none" || sideEffectLevel === "read_only";
}
