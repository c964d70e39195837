/** The retry budget of a run: layers may repeat a tool until it is spent, and then the tool no longer runs. */

import type { Classify, ToolHandler } from "@toolspan/core";

/** Thrown in the tool's place. */
class RetryBudgetSpent extends Error {
  override readonly name = "RetryBudgetSpent";
}

/** The handler, except that further attempts are taken out of a budget; `spend` answers false when there is none. */
export function withinRetryBudget(handler: ToolHandler, spend: () => boolean): ToolHandler {
  return (call) => {
    if (call.attempt > 1 && !spend()) {
      throw new RetryBudgetSpent("this run may repeat no tool call any more; the tool was not run again");
    }
    return handler(call);
  };
}

/** Makes a spent budget a limit refusal; everything else is left to `classify`. */
export function classifyRetryBudget(classify: Classify | undefined): Classify {
  return (settled, call) => {
    if (settled.threw && settled.value instanceof RetryBudgetSpent) {
      return { status: "policy_blocked", errorCategory: "limit_exceeded", error: settled.value.message };
    }
    return classify?.(settled, call);
  };
}
