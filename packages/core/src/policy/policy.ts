/** The policy scope: what tools may do while a function runs; nested scopes can only tighten it. */

import { type AsyncContext, createAsyncContext } from "../context.ts";
import { ToolspanError } from "../errors.ts";
import type { ToolCall } from "../vocabulary/tool-call.ts";
import { compilePolicy, type ExecutionPolicy, type PolicyCheck, type PolicyViolation } from "./compile-policy.ts";

export type { ArgConstraint, ExecutionPolicy, PolicyCheck, PolicyViolation } from "./compile-policy.ts";

type Context = AsyncContext<readonly PolicyCheck[]>;

/** Shared by all copies of this package in a process: a scope that one copy opened binds the terminal of another. */
const CONTEXT = Symbol.for("toolspan.policy");
const shared = globalThis as { [CONTEXT]?: Context };

/**
 * Runs `fn`, and everything it starts, under `policy` in addition to the policies already in force.
 *
 * The policy is read once, on entry.
 *
 * @returns What `fn` returns.
 * @throws TOOLSPAN_INVALID_OPTION on entry, if a field is not of its declared shape.
 * @throws TOOLSPAN_NO_ASYNC_CONTEXT in a runtime without `AsyncLocalStorage`.
 */
export function withExecutionPolicy<R>(policy: ExecutionPolicy, fn: () => R): R {
  return underPolicyCheck(compilePolicy(policy), fn);
}

/** `withExecutionPolicy` for a policy that `compilePolicy` has read already. */
export function underPolicyCheck<R>(check: PolicyCheck, fn: () => R): R {
  const context = shared[CONTEXT] ?? createAsyncContext<readonly PolicyCheck[]>();
  if (context === null) throw new ToolspanError("TOOLSPAN_NO_ASYNC_CONTEXT", {});
  shared[CONTEXT] = context;
  return context.run([...(context.get() ?? []), check], fn);
}

/** The first offence of `call` against the policies in force, outermost policy first; null where there is none. */
export function checkPolicy(call: ToolCall): PolicyViolation | null {
  const checks = shared[CONTEXT]?.get();
  if (checks === undefined) return null;
  for (const check of checks) {
    const violation = check(call);
    if (violation !== null) return violation;
  }
  return null;
}
