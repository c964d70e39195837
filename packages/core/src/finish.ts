/** The end of a dispatch, in its fixed order: result and records, recorders, observers, event. */

import { absentRecorder } from "./absent-observer.ts";
import type { AuditBlob } from "./audit.ts";
import { limitAudit, withoutAttributes } from "./audit-limits.ts";
import { diagnostics } from "./diagnostics.ts";
import type { DispatchRun } from "./dispatch-run.ts";
import { nameOf } from "./error-type.ts";
import { incompleteAnswer, withheldResult } from "./failed-result.ts";
import { FixedOutcome } from "./fixed-outcome.ts";
import type { Frame } from "./frame.ts";
import { openSafely, tellSafely } from "./guard.ts";
import { type LayerRun, toLayerRecord } from "./record.ts";
import type { ReceiptLevel, ReceiptRef, Recorder, RecorderReply } from "./recorder.ts";
import { redactResult } from "./redact.ts";
import type { DispatchResult, ToolResult } from "./tool-result.ts";

/** Levels of a receipt that a result may refer to. */
const DURABLE: ReadonlySet<ReceiptLevel> = new Set(["durable", "sealed", "anchored"]);

/** Receipts that are still being written behind their results. */
export interface Deferred {
  add(reply: Promise<RecorderReply>): void;
}

/** Fixes the result, tells recorders and observers, and answers with what leaves the dispatcher. Never rejects. */
export function finishDispatch(
  run: DispatchRun,
  answer: ToolResult,
  deferred: Deferred | undefined,
): DispatchResult | Promise<DispatchResult> {
  const fixed = fix(run, redactResult(run, answer));
  if (run.plan.recorders.length === 0) return leave(run, fixed, fixed.result, undefined);
  return record(run, fixed, deferred);
}

/** What leaves the dispatcher while its stream still runs: no receipt, no records yet. */
export function provisionalResult(run: DispatchRun, answer: ToolResult): DispatchResult {
  const { audit, call } = run;
  const toolCallId = answer.toolCallId === undefined ? call.callId : answer.toolCallId;
  const open = { ...answer, toolCallId, executed: true, executionDurationMs: null };
  return audit === undefined ? open : { ...open, audit: finalAudit(run, audit) };
}

/** From here on nothing of the dispatch changes. */
function fix(run: DispatchRun, answer: ToolResult): FixedOutcome {
  const { frames } = run;
  for (let i = frames.length - 1; i >= 0; i -= 1) frames[i]?.closeAtEnd();
  const endedAt = run.clock.now();
  const isRead = run.watched || run.plan.recorders.length > 0 || run.audit !== undefined;
  const runs = isRead ? runsOf(frames) : [];
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

function runsOf(frames: readonly Frame[]): readonly LayerRun[] {
  const runs: LayerRun[] = [];
  for (const frame of frames) if (frame.recorded !== null) runs.push(frame.toRun(frame.recorded));
  return runs;
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

async function record(run: DispatchRun, fixed: FixedOutcome, deferred: Deferred | undefined): Promise<DispatchResult> {
  let result = fixed.result;
  let receipt: ReceiptRef | undefined;
  for (const recorder of run.plan.recorders) {
    const reply = await replyOf(run, recorder, fixed, deferred);
    receipt ??= reply.receipt;
    if (reply.failure !== undefined) result = withheldResult(fixed.result, reply.failure.error);
    else if (reply.receipt.uri !== undefined && result.errorCategory !== "receipt_failed") {
      result = { ...result, audit: { ...result.audit, receipt_uri: reply.receipt.uri } };
    }
  }
  return leave(run, fixed, result, receipt);
}

/** One recorder's reply. A recorder that awaits shows as a span; one that throws has failed to write. */
async function replyOf(
  run: DispatchRun,
  recorder: Recorder,
  fixed: FixedOutcome,
  deferred: Deferred | undefined,
): Promise<RecorderReply> {
  const startedAt = run.clock.now();
  let given: unknown;
  try {
    given = recorder.record(fixed);
  } catch (error) {
    return unwritten(error);
  }
  if (!(given instanceof Promise)) return checked(recorder, given);
  const pending = given.then((reply) => checked(recorder, reply), unwritten);
  if (deferred !== undefined) {
    deferred.add(pending);
    return { receipt: { level: "pending" } };
  }
  const span = run.watched
    ? openSafely(() => run.observer.recorder(recorder.name, startedAt), absentRecorder)
    : absentRecorder;
  const reply = await pending;
  tellSafely(() => span.end(run.clock.now(), reply.failure !== undefined));
  return reply;
}

function unwritten(error: unknown): RecorderReply {
  return { receipt: { level: "failed" }, failure: { error } };
}

/** A reply, and no reference to a receipt that is not durable. What is no reply is a receipt that nobody wrote. */
function checked(recorder: Recorder, reply: unknown): RecorderReply {
  const { receipt, failure } = (reply ?? {}) as Partial<RecorderReply>;
  if (typeof receipt !== "object" || receipt === null) {
    return unwritten(new TypeError(`recorder ${recorder.name} answered without a receipt`));
  }
  const { uri: _, ...unproven } = receipt;
  return { receipt: DURABLE.has(receipt.level) ? receipt : unproven, ...(failure ? { failure } : {}) };
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
