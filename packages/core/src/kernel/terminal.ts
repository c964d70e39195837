/** The innermost point of every stack: the only place where a handler runs, is caught and is classified. */

import { diagnostics } from "../diagnostics.ts";
import { checkPolicy } from "../policy/policy.ts";
import type { ToolHandler } from "../ports/dispatcher-port.ts";
import { messageOf, nameOf } from "../vocabulary/error-type.ts";
import type { ToolCall } from "../vocabulary/tool-call.ts";
import { CAUSE, type ToolResult } from "../vocabulary/tool-result.ts";
import { type ArgsBinding, holds } from "./binding.ts";
import { DispatchRun } from "./dispatch-run.ts";
import { failedResult } from "./failed-result.ts";
import type { Frame } from "./frame.ts";
import { runWithin } from "./guard.ts";
import { Leaf } from "./leaf.ts";
import { toResult } from "./to-result.ts";
import { isAsyncIterable, openStream } from "./tool-stream.ts";
import { whenSettled } from "./when-settled.ts";

/** Checks the call, then runs the handler inside the leaf's context. Never rejects. */
export function runTerminal(
  run: DispatchRun,
  call: ToolCall,
  parent: Frame | null,
  binding: ArgsBinding | null,
): Promise<ToolResult> {
  const leaf = new Leaf(run, call, parent, binding);
  const refusal = refused(leaf);
  if (refusal !== undefined) return Promise.resolve(leaf.settle(refusal));
  runWithin(leaf.observer, run.options.validator || run.plan.intents ? startChecked : startHandler, leaf);
  return Promise.resolve(leaf.answer as ToolResult | Promise<ToolResult>);
}

/** Fails closed: a call whose own fields throw, or whose digest does, cannot be checked and does not run. */
function refused(leaf: Leaf): ToolResult | undefined {
  try {
    return refusedBeforehand(leaf);
  } catch (thrown) {
    const { call } = leaf;
    const error = `tool ${call.toolName}: the call could not be checked (${nameOf(thrown) ?? "a value was thrown"})`;
    return { ...failedResult(call, "tool_middleware_exception", "unreadable_call", error), [CAUSE]: thrown };
  }
}

function refusedBeforehand({ dispatch, call, binding }: Leaf): ToolResult | undefined {
  const violation = checkPolicy(call);
  if (violation !== null) return failedResult(call, "policy_blocked", "policy_blocked", violation.message);
  if (binding !== null && !holds(binding, call.toolArgs)) {
    const error = `tool ${call.toolName}: the arguments changed after they were approved`;
    return failedResult(call, "policy_blocked", "consent_voided", error);
  }
  if (call.toolArgs === undefined && call.rawArgs !== undefined) {
    return failedResult(call, "schema_violation", "unparsable_arguments", "the arguments are not valid JSON");
  }
  if (call.toolName !== dispatch.call.toolName) {
    const error = `tool ${dispatch.call.toolName}: a layer passed it on under another name; what ran would not be what is recorded`;
    return failedResult(call, "policy_blocked", "tool_renamed", error);
  }
  if (typeof DispatchRun.handlerOf(dispatch) !== "function") {
    return call.known
      ? failedResult(call, "executor_error", "no_executor", `tool ${call.toolName}: nothing here runs it`)
      : failedResult(call, "tool_not_found", "tool_not_found", `tool ${call.toolName}: there is no such tool`);
  }
  if (call.signal?.aborted === true) {
    return failedResult(call, "aborted", "aborted", `tool ${call.toolName}: aborted before it started`);
  }
  return undefined;
}

function startHandler(leaf: Leaf): void {
  if (leaf.entered) return;
  leaf.entered = true;
  leaf.answer = runHandler(leaf);
}

function startChecked(leaf: Leaf): void {
  if (leaf.entered) return;
  leaf.entered = true;
  leaf.answer = runChecked(leaf);
}

/** Checks that may take a while; what they waited for may have changed the arguments, so the quick ones come again. */
async function runChecked(leaf: Leaf): Promise<ToolResult> {
  const refusal = (await invalidArguments(leaf)) ?? (await missingIntent(leaf)) ?? unawaited(leaf) ?? refused(leaf);
  return refusal === undefined ? runHandler(leaf) : leaf.settle(refusal);
}

function unawaited({ closed, call }: Leaf): ToolResult | undefined {
  return closed ? failedResult(call, "aborted", "aborted", "nobody waits for this call any more") : undefined;
}

async function invalidArguments({ dispatch, call }: Leaf): Promise<ToolResult | undefined> {
  try {
    const problems = (await dispatch.options.validator?.(call)) ?? [];
    if (problems.length === 0) return undefined;
    const error = problems.map(({ path, message }) => `${path === "" ? "arguments" : path}: ${message}`).join("; ");
    return failedResult(call, "schema_violation", "schema_violation", error);
  } catch (thrown) {
    diagnostics.report("kernel.validator", "threw", `the arguments validator threw ${nameOf(thrown) ?? "a value"}`);
    return failedResult(call, "schema_violation", "validator_failed", "the arguments could not be checked");
  }
}

async function missingIntent(leaf: Leaf): Promise<ToolResult | undefined> {
  const { dispatch, call, attempt } = leaf;
  for (const recorder of dispatch.plan.recorders) {
    if (recorder.intent === undefined) continue;
    const executedArgs = leaf.digestArgs();
    try {
      await recorder.intent({ dispatch, attempt, executedArgs });
    } catch (thrown) {
      const error = `receipt: the intent could not be written (${messageOf(thrown)}); the tool has not run`;
      return { ...failedResult(call, "tool_middleware_exception", "receipt_failed", error), [CAUSE]: thrown };
    }
  }
  return undefined;
}

function runHandler(leaf: Leaf): ToolResult | Promise<ToolResult> {
  const { dispatch, call } = leaf;
  const handler = DispatchRun.handlerOf(dispatch) as ToolHandler;
  dispatch.executedArgs = leaf.digestArgs();
  leaf.handlerStarted();
  let value: unknown;
  try {
    value = handler(call);
  } catch (thrown) {
    return leaf.settle(toResult(leaf, { threw: true, value: thrown }));
  }
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return returned(leaf, value);
  return whenSettled(
    value,
    (settled) => returned(leaf, settled),
    (thrown) => leaf.settle(toResult(leaf, { threw: true, value: thrown })),
  );
}

function returned(leaf: Leaf, value: unknown): ToolResult {
  if (!leaf.closed && isAsyncIterable(value)) return openStream(leaf, value);
  return leaf.settle(toResult(leaf, { threw: false, value }));
}
