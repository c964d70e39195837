/** The layer that runs a failed call again, where that is safe. */

import {
  type ComposedToolCaller,
  composeToolCallers,
  defineLayer,
  failedResult,
  type LayerScope,
  type Next,
  type ToolCall,
  type ToolResult,
  type ToolStatus,
} from "@toolspan/core";
import { checksFor, MAX_DELAY_MS } from "./assert-option.ts";
import type { KeyFunction } from "./idempotency/args-key.ts";
import { onAbort } from "./on-abort.ts";
import { Attempts, RETRIABLE, type RetryDecision, type RetryPlan } from "./retry-attempts.ts";

/** How often and how patiently calls of one tool are repeated; a tool's own `retry` has this form. */
export interface ToolRetry {
  readonly maxAttempts?: number;
  readonly backoffMs?: number;
}

export interface RetryOptions {
  /** Runs in all, integer >= 1. Default 3. */
  readonly maxAttempts?: number;
  /** Wait before the second run, milliseconds, integer from 0 to 2,147,483,647; it doubles from run to run. Default 100. */
  readonly backoffMs?: number;
  /** Longest wait, in the same range. Default 10,000. */
  readonly maxBackoffMs?: number;
  /** `full` (default) waits a random part of that time, so that callers who failed together do not come back together; `none` all of it. */
  readonly jitter?: "full" | "none";
  /** Which failures are worth another run: of `exception`, `error`, `executor_error`, `timeout`, `rate_limited`. Default `exception`, `executor_error`, `timeout`. */
  readonly statuses?: readonly ToolStatus[];
  /** Runs beyond the first of each call, in all that this layer makes, integer >= 0. Default: no bound. */
  readonly budget?: number;
  /** The key by which a tool that is not idempotent tells a repetition; the tool finds it as `call.meta.idempotency_key`. */
  readonly key?: KeyFunction;
  /** Tool name → its own attempts and wait, as a map or a function. */
  readonly perTool?: Readonly<Record<string, ToolRetry>> | ((toolName: string) => ToolRetry | undefined);
}

const OPTIONS = ["maxAttempts", "backoffMs", "maxBackoffMs", "jitter", "statuses", "budget", "key", "perTool"] as const;

/** Carries what one call's attempts share from the layer to the run of each attempt. */
const ATTEMPTS: unique symbol = Symbol("toolspan.retry.attempts") as never;
type AttemptCall = ToolCall & { readonly [ATTEMPTS]?: Attempts };

/**
 * Runs a call again that failed in a way that may pass.
 *
 * A tool that is not idempotent is never run again, unless `key` gives a key for the call: whoever gives one says that the
 * tool goes by it. Idempotent is what declares so (`idempotent: true`) and what has no effect (`none`, `read_only`). Denials,
 * limits, invalid arguments, aborts, suspended calls and failed receipts are never repeated, whatever `statuses` says.
 *
 * Each attempt runs inside a layer run of its own, `with_retry_attempt`, which carries its number and what was decided.
 *
 * @returns A composition of the two; the result is the last attempt's, or `aborted` where the signal fires during a wait.
 * @throws TOOLSPAN_INVALID_OPTION when made, if an option is not of its declared shape.
 */
export function withRetry(options: RetryOptions = {}): ComposedToolCaller {
  const planFor = toPlans(options);
  return composeToolCallers([
    defineLayer({
      name: "with_retry",
      traits: { rewritesArgs: "no", audits: false, retries: true },
      call: (call, next, scope) => repeat(new Attempts(planFor(call), call), call, next, scope),
    }),
    defineLayer({ name: "with_retry_attempt", traits: { rewritesArgs: "no", audits: false }, call: attemptOnce }),
  ]);
}

async function repeat(attempts: Attempts, call: ToolCall, next: Next, scope: LayerScope): Promise<ToolResult> {
  const { key } = attempts;
  const passed: AttemptCall = {
    ...call,
    ...(key === undefined ? {} : { meta: { ...call.meta, idempotency_key: key } }),
    [ATTEMPTS]: attempts,
  };
  for (;;) {
    const result = await next(passed);
    const { decision, outcome, delayMs } = attempts.last;
    if (decision !== "retry") {
      scope.report({ status: outcome, attributes: { attempts: attempts.number } });
      return result;
    }
    if (!(await waited(delayMs, call.signal))) {
      scope.report({ status: "aborted", attributes: { attempts: attempts.number } });
      return failedResult(call, "aborted", "aborted", `tool ${call.toolName}: aborted while it waited to run again`);
    }
  }
}

/** What the run of an attempt says of it. */
const WORD: Readonly<Record<RetryDecision["decision"], string>> = { accept: "ok", retry: "retry", give_up: "give_up" };

/** Decides before the attempt's own record ends, so that it stands there. */
async function attemptOnce(call: AttemptCall, next: Next, scope: LayerScope): Promise<ToolResult> {
  const { [ATTEMPTS]: attempts, ...passed } = call;
  const result = await next(passed);
  if (attempts === undefined) return result;
  const { decision, outcome, delayMs } = attempts.decide(result);
  scope.report({
    status: WORD[decision],
    attributes: {
      number: attempts.number,
      decision,
      ...(decision === "give_up" ? { cause: outcome } : {}),
      ...(decision === "retry" ? { delay_ms: delayMs } : {}),
    },
  });
  return result;
}

/** True once the time is over, false where the signal fires before. The wait keeps the process alive: a call is under way. */
function waited(delayMs: number, signal: AbortSignal | undefined): Promise<boolean> {
  if (signal?.aborted === true) return Promise.resolve(false);
  return new Promise((resolve) => {
    const stop = onAbort(signal, () => {
      clearTimeout(timer);
      resolve(false);
    });
    const timer = setTimeout(() => {
      stop();
      resolve(true);
    }, delayMs);
  });
}

function toPlans(options: RetryOptions): (call: ToolCall) => RetryPlan {
  const checks = checksFor("withRetry", options, OPTIONS);
  const { maxAttempts = 3, backoffMs = 100, maxBackoffMs = 10_000, jitter = "full", key, perTool } = options;
  const { statuses = ["exception", "executor_error", "timeout"], budget } = options;
  checks.count("maxAttempts", maxAttempts, 1);
  checks.count("backoffMs", backoffMs, 0, MAX_DELAY_MS);
  checks.count("maxBackoffMs", maxBackoffMs, 0, MAX_DELAY_MS);
  checks.oneOf("jitter", jitter, ["full", "none"]);
  checks.list("statuses", statuses, RETRIABLE);
  if (budget !== undefined) checks.count("budget", budget, 0);
  if (key !== undefined) checks.fn("key", key);
  const ofTool = toLookup(checks, perTool);
  const shared = {
    maxBackoffMs,
    jitter,
    statuses: new Set(statuses),
    key,
    budget: { left: budget ?? Number.POSITIVE_INFINITY },
  };
  return ({ toolName }) => {
    const own = ofTool(toolName);
    return {
      ...shared,
      maxAttempts: countOr(own?.maxAttempts, 1, maxAttempts),
      backoffMs: countOr(own?.backoffMs, 0, backoffMs),
    };
  };
}

/** A tool's own number where it is one: what a function answers at call time must not make a loop without end. */
function countOr(value: number | undefined, least: number, otherwise: number): number {
  return value !== undefined && Number.isSafeInteger(value) && value >= least ? value : otherwise;
}

function toLookup(
  checks: ReturnType<typeof checksFor>,
  perTool: RetryOptions["perTool"],
): (toolName: string) => ToolRetry | undefined {
  if (typeof perTool === "function") return perTool;
  checks.map("perTool", perTool);
  const tools = new Map(Object.entries(perTool ?? {}));
  for (const [tool, { maxAttempts, backoffMs }] of tools) {
    if (maxAttempts !== undefined) checks.count(`perTool.${tool}.maxAttempts`, maxAttempts, 1);
    if (backoffMs !== undefined) checks.count(`perTool.${tool}.backoffMs`, backoffMs, 0, MAX_DELAY_MS);
  }
  return (toolName) => tools.get(toolName);
}
