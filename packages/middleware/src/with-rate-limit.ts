/** The layer that stops calls once a budget of calls is used up. */

import { defineLayer, failedResult, type Layer } from "@toolspan/core";
import { checksFor } from "./assert-option.ts";

export interface RateLimitOptions {
  /** How many calls this layer lets through in all, integer >= 0. */
  readonly maxCalls: number;
  /** Tool name → how many calls of that tool it lets through, within `maxCalls`; integers >= 0. */
  readonly perTool?: Readonly<Record<string, number>>;
}

/**
 * Caps how many tool calls go through, exactly, also when they come at once.
 *
 * The count lives as long as the layer: make one per run for a budget per run. Refused calls do not count; a call that a
 * retry repeats counts each time it gets here.
 *
 * @returns A layer; beyond the cap `status: "rate_limited"`, and the tool does not run.
 * @throws TOOLSPAN_INVALID_OPTION when made, if a cap is not an integer >= 0.
 */
export function withRateLimit(options: RateLimitOptions): Layer {
  const checks = checksFor("withRateLimit", options, ["maxCalls", "perTool"]);
  checks.count("maxCalls", options.maxCalls, 0);
  checks.countPerTool("perTool", options.perTool, 0);
  const total = new Budget(options.maxCalls);
  const budgets = new Map(Object.entries(options.perTool ?? {}).map(([tool, cap]) => [tool, new Budget(cap)]));

  return defineLayer({
    name: "with_rate_limit",
    traits: { rewritesArgs: "no", audits: false, limits: true },
    call(call, next, scope) {
      const own = budgets.get(call.toolName);
      const spent = [total, own].find((budget) => budget?.isSpent);
      const { count, cap } = spent ?? total;
      if (spent !== undefined) {
        scope.report({ status: "rate_limited", attributes: { count, cap } });
        const whose = spent === own ? `tool ${call.toolName}` : "this run";
        const text = `tool ${call.toolName}: not run; the budget of ${cap} calls for ${whose} is used up`;
        return failedResult(call, "rate_limited", "rate_limited", text);
      }
      // Both steps happen before anything is awaited: calls that come at once cannot both take the last one.
      total.count += 1;
      if (own !== undefined) own.count += 1;
      scope.report({ attributes: { count: count + 1, cap } });
      return next(call);
    },
  });
}

class Budget {
  readonly cap: number;
  count = 0;

  constructor(cap: number) {
    this.cap = cap;
  }

  get isSpent(): boolean {
    return this.count >= this.cap;
  }
}
