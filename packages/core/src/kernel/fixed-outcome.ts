/** The outcome of one dispatch: fixed when the layers have answered, completed by what the recorders said. */

import type { Digest } from "../ports/hasher.ts";
import type { ObservedOutcome } from "../ports/outcome.ts";
import type { ReceiptRef } from "../ports/recorder.ts";
import type { AuditBlob } from "../vocabulary/audit.ts";
import type { Reading } from "../vocabulary/clock.ts";
import { errorTypeOf } from "../vocabulary/error-type.ts";
import type { LayerRun } from "../vocabulary/record.ts";
import type { Executor, ToolCall } from "../vocabulary/tool-call.ts";
import type { DispatchResult } from "../vocabulary/tool-result.ts";
import { type DispatchRun, digestSafely } from "./dispatch-run.ts";
import { redactCall } from "./redact.ts";
import { isAsyncIterable } from "./tool-stream.ts";

export class FixedOutcome implements ObservedOutcome {
  readonly dispatch: DispatchRun;
  readonly result: DispatchResult;
  readonly errorType: string | undefined;
  readonly runs: readonly LayerRun[];
  readonly endedAt: Reading;
  readonly attempts: number;
  readonly executedArgs: Digest | null;
  readonly executor: Executor | null;
  /** The blob for the event; undefined if no layer set audit. */
  readonly eventAudit: AuditBlob | undefined;
  finalResult: DispatchResult;
  finalErrorType: string | undefined;
  receipt: ReceiptRef | undefined;
  observedAt: Reading;
  /** Usable apart from its object. */
  readonly resultDigest: () => Digest | null;

  constructor(
    run: DispatchRun,
    result: DispatchResult,
    runs: readonly LayerRun[],
    endedAt: Reading,
    eventAudit: AuditBlob | undefined,
  ) {
    this.dispatch = run;
    this.result = result;
    this.errorType = errorTypeOf(result);
    this.runs = runs;
    this.endedAt = endedAt;
    this.attempts = run.attempts;
    this.executedArgs = run.executedArgs;
    this.executor = result.executor ?? null;
    this.eventAudit = eventAudit;
    this.finalResult = result;
    this.finalErrorType = this.errorType;
    this.receipt = undefined;
    this.observedAt = endedAt;
    let digest: Digest | null | undefined;
    this.resultDigest = () => {
      if (digest === undefined) digest = digestResult(run, result);
      return digest;
    };
  }

  contentCall(): ToolCall {
    return redactCall(this.dispatch);
  }

  /** What left the dispatcher, and when. */
  observe(finalResult: DispatchResult, receipt: ReceiptRef | undefined, at: Reading): void {
    if (finalResult !== this.result) this.finalErrorType = errorTypeOf(finalResult);
    this.finalResult = finalResult;
    this.receipt = receipt;
    this.observedAt = at;
  }
}

function digestResult(run: DispatchRun, result: DispatchResult): Digest | null {
  const stream = run.streams?.find((candidate) => candidate.isOf(result));
  if (stream !== undefined && isAsyncIterable(result.result)) return stream.digest();
  if (!("result" in result)) return null;
  return digestSafely(run.hasher, (hasher) => hasher.value(result.result, "result"));
}
