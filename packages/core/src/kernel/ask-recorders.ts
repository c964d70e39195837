/** What the recorders of a dispatch say to its outcome, and what that does to the result. */

import type { ReceiptLevel, ReceiptRef, Recorder, RecorderReply } from "../ports/recorder.ts";
import type { DispatchResult } from "../vocabulary/tool-result.ts";
import { absentRecorder } from "./absent-observer.ts";
import type { DispatchRun } from "./dispatch-run.ts";
import { withheldResult } from "./failed-result.ts";
import type { FixedOutcome } from "./fixed-outcome.ts";
import { openSafely, tellSafely } from "./guard.ts";
import { whenSettled } from "./when-settled.ts";

/** Receipts that are still being written behind their results. */
export interface Deferred {
  add(reply: Promise<RecorderReply>): void;
}

export interface Recorded {
  readonly result: DispatchResult;
  /** The first recorder's reference. */
  readonly receipt: ReceiptRef | undefined;
}

/** Levels of a receipt that a result may refer to. */
const DURABLE: ReadonlySet<ReceiptLevel> = new Set(["durable", "sealed", "anchored"]);

/** Asks all recorders; a promise only where one of them gives one. */
export function askRecorders(
  run: DispatchRun,
  fixed: FixedOutcome,
  deferred: Deferred | undefined,
): Recorded | Promise<Recorded> {
  const replies = run.plan.recorders.map((recorder) => ask(run, recorder, fixed, deferred));
  return replies.some((reply) => reply instanceof Promise)
    ? Promise.all(replies).then((settled) => combine(fixed.result, settled))
    : combine(fixed.result, replies as readonly RecorderReply[]);
}

function combine(original: DispatchResult, replies: readonly RecorderReply[]): Recorded {
  let result = original;
  for (const { receipt, failure } of replies) {
    if (failure !== undefined) result = withheldResult(original, failure.error);
    else if (receipt.uri !== undefined && result.errorCategory !== "receipt_failed") {
      result = { ...result, audit: { ...result.audit, receipt_uri: receipt.uri } };
    }
  }
  return { result, receipt: replies[0]?.receipt };
}

/** One recorder's reply. A recorder that awaits shows as a span; one that throws has failed to write. */
function ask(
  run: DispatchRun,
  recorder: Recorder,
  fixed: FixedOutcome,
  deferred: Deferred | undefined,
): RecorderReply | Promise<RecorderReply> {
  const startedAt = run.watched ? run.clock.now() : 0; // before the recorder starts, though only one that awaits shows
  let given: unknown;
  try {
    given = recorder.record(fixed);
  } catch (error) {
    return unwritten(error);
  }
  if (!(given instanceof Promise)) return checked(recorder, given);
  const pending = whenSettled(given, (reply) => checked(recorder, reply), unwritten);
  if (deferred !== undefined) {
    deferred.add(pending);
    return { receipt: { level: "pending" } };
  }
  if (!run.watched) return pending;
  const span = openSafely(() => run.observer.recorder(recorder.name, startedAt), absentRecorder);
  return pending.then((reply) => {
    tellSafely(() => span.end(run.clock.now(), reply.failure !== undefined));
    return reply;
  });
}

function unwritten(error: unknown): RecorderReply {
  return { receipt: { level: "failed" }, failure: { error } };
}

function withoutReference({ uri: _, ...unproven }: ReceiptRef): ReceiptRef {
  return unproven;
}

/** A reply, and no reference to a receipt that is not durable. What is no reply is a receipt that nobody wrote. */
function checked(recorder: Recorder, reply: unknown): RecorderReply {
  const { receipt, failure } = (reply ?? {}) as Partial<RecorderReply>;
  if (typeof receipt !== "object" || receipt === null) {
    return unwritten(new TypeError(`recorder ${recorder.name} answered without a receipt`));
  }
  const proven = receipt.uri === undefined || DURABLE.has(receipt.level) ? receipt : withoutReference(receipt);
  return failure ? { receipt: proven, failure } : { receipt: proven };
}
