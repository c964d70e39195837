/** The end of a dispatch, in its fixed order: result and records, recorders, observers, event. */

import { diagnostics } from "../diagnostics.ts";
import type { ReceiptRef } from "../ports/recorder.ts";
import type { AuditBlob } from "../vocabulary/audit.ts";
import { errorTypeOf, nameOf } from "../vocabulary/error-type.ts";
import { type LayerRun, toLayerRecord } from "../vocabulary/record.ts";
import type { DispatchResult, ToolResult } from "../vocabulary/tool-result.ts";
import { askRecorders, type Deferred } from "./ask-recorders.ts";
import { limitAudit, withoutAttributes } from "./audit-limits.ts";
import type { DispatchRun } from "./dispatch-run.ts";
import { incompleteAnswer } from "./failed-result.ts";
import { FixedOutcome } from "./fixed-outcome.ts";
import { tellSafely } from "./guard.ts";
import { redactResult } from "./redact.ts";

/** Fixes the result, tells recorders and observers, and answers with what leaves the dispatcher. Never rejects. */
export function finishDispatch(
  run: DispatchRun,
  answer: ToolResult,
  deferred: Deferred | undefined,
): DispatchResult | Promise<DispatchResult> {
  const given = redactResult(run, answer);
  if (isUnheard(run)) return leaveUnheard(run, given);
  const fixed = fix(run, given);
  if (run.plan.recorders.length === 0) return leave(run, fixed, fixed.result, undefined);
  const recorded = askRecorders(run, fixed, deferred);
  return recorded instanceof Promise
    ? recorded.then(({ result, receipt }) => leave(run, fixed, result, receipt))
    : leave(run, fixed, recorded.result, recorded.receipt);
}

/** What leaves the dispatcher while its stream still runs: no receipt, no records yet. */
export function provisionalResult(run: DispatchRun, answer: ToolResult): DispatchResult {
  const { audit, call } = run;
  const toolCallId = answer.toolCallId === undefined ? call.callId : answer.toolCallId;
  const open = { ...answer, toolCallId, executed: true, executionDurationMs: null };
  return audit === undefined ? open : { ...open, audit: finalAudit(run, audit) };
}

/** True when nobody asks for the outcome. */
function isUnheard({ plan, audit }: DispatchRun): boolean {
  return plan.observers.length === 0 && plan.recorders.length === 0 && audit === undefined;
}

function leaveUnheard(run: DispatchRun, answer: ToolResult): DispatchResult {
  closeFrames(run);
  errorTypeOf(answer); // what was thrown must not be able to tell from its reads whether somebody listens
  run.end();
  return completeSafely(run, answer, undefined);
}

function closeFrames({ lastFrame }: DispatchRun): void {
  for (let frame = lastFrame; frame !== null; frame = frame.before) frame.closeAtEnd();
}

/** From here on nothing of the dispatch changes. */
function fix(run: DispatchRun, answer: ToolResult): FixedOutcome {
  closeFrames(run);
  const endedAt = run.clock.now();
  const isRead = run.watched || run.plan.recorders.length > 0 || run.audit !== undefined;
  const runs = isRead ? runsOf(run) : [];
  const eventAudit = run.audit === undefined ? undefined : finalAudit(run, run.audit, runs);
  return new FixedOutcome(run, completeSafely(run, answer, eventAudit), runs, endedAt, eventAudit);
}

/** A result that lets itself be read by the layers but not by the kernel is none. */
function completeSafely(run: DispatchRun, answer: ToolResult, audit: AuditBlob | undefined): DispatchResult {
  try {
    return complete(run, answer, audit);
  } catch {
    return complete(run, incompleteAnswer(run.call, run.plan.layers[0]?.name ?? "dispatcher"), audit);
  }
}

/** In order of entry. */
function runsOf({ lastFrame }: DispatchRun): readonly LayerRun[] {
  const runs: LayerRun[] = [];
  for (let frame = lastFrame; frame !== null; frame = frame.before) {
    if (frame.recorded !== null) runs.push(frame.toRun(frame.recorded));
  }
  return runs.reverse();
}

/** What no layer may get wrong: whose call it was, and whether the handler ran. The same object where it says so already. */
function complete(run: DispatchRun, answer: ToolResult, audit: AuditBlob | undefined): DispatchResult {
  const toolCallId = answer.toolCallId === undefined ? run.call.callId : answer.toolCallId;
  const executed = run.attempts > 0;
  const executionDurationMs = run.executionMs;
  const isShared = run.plan.recorders.length > 0; // a recorder's word is added to a copy
  if (audit === undefined && answer.audit !== undefined) return complete(run, withoutAudit(answer), undefined);
  if (!isShared && audit === undefined && answer.toolCallId === toolCallId && answer.executed === executed) {
    if (answer.executionDurationMs === executionDurationMs) return answer as DispatchResult;
  }
  const completed = { ...answer, toolCallId, executed, executionDurationMs };
  return audit === undefined ? completed : { ...completed, audit };
}

/** Only an object is audit. */
function withoutAudit({ audit: _, ...answer }: ToolResult): ToolResult {
  return answer;
}

/** The blob as it leaves: redacted, within its size, and without a reference to a receipt that is not this dispatch's. */
function finalAudit(run: DispatchRun, audit: AuditBlob, runs?: readonly LayerRun[]): AuditBlob {
  const layers = runs?.map((layerRun) => toLayerRecord(layerRun, run.clock));
  try {
    const { layers: _, receipt_uri: __, ...said } = audit;
    const blob: AuditBlob = layers === undefined ? said : { ...said, layers };
    return limitAudit(run.plan.redaction.audit.reduce((redacted, redact) => redact(redacted), blob));
  } catch (thrown) {
    diagnostics.report(
      "kernel.audit",
      "redactor_threw",
      `a redactor threw ${nameOf(thrown) ?? "a value"}; audit dropped`,
    );
    return { ...limitAudit({ layers: (layers ?? []).map(withoutAttributes) }), truncated: [""] };
  }
}

function leave(
  run: DispatchRun,
  fixed: FixedOutcome,
  finalResult: DispatchResult,
  receipt: ReceiptRef | undefined,
): DispatchResult {
  if (run.plan.observers.length > 0) {
    fixed.observe(finalResult, receipt, run.clock.now());
    tellSafely(() => run.observer.end(fixed));
  }
  run.end();
  const { eventAudit } = fixed;
  if (eventAudit !== undefined && run.options.onAudit !== undefined) {
    emitAudit(run, finalResult.audit ?? eventAudit);
  }
  return finalResult;
}

function emitAudit(run: DispatchRun, audit: AuditBlob): void {
  const blame = (thrown: unknown): void =>
    diagnostics.report("kernel.audit", "listener_threw", `onAudit threw ${nameOf(thrown) ?? "a value"}`);
  try {
    const heard: unknown = run.options.onAudit?.({
      type: "tool_call_audit",
      session_id: run.call.turn.sessionId ?? null,
      tool_call_id: run.call.callId,
      tool_name: run.call.toolName,
      dispatch_id: run.id,
      audit,
    });
    if (heard instanceof Promise) heard.catch(blame);
  } catch (thrown) {
    blame(thrown);
  }
}
