/** One handler run: opened by the terminal, settled once, late if nobody waited. */

import type { Digest } from "../ports/hasher.ts";
import type { LeafObserver } from "../ports/observer.ts";
import type { Reading } from "../vocabulary/clock.ts";
import type { ToolCall } from "../vocabulary/tool-call.ts";
import type { ToolResult } from "../vocabulary/tool-result.ts";
import { absentLeaf } from "./absent-observer.ts";
import type { ArgsBinding } from "./binding.ts";
import type { DispatchRun } from "./dispatch-run.ts";
import type { Frame, Inner } from "./frame.ts";
import { openSafely, tellSafely } from "./guard.ts";
import { redactErrorType } from "./redact.ts";

export class Leaf implements Inner {
  readonly dispatch: DispatchRun;
  readonly call: ToolCall;
  readonly parent: Frame | null;
  readonly binding: ArgsBinding | null;
  readonly attempt: number;
  readonly observer: LeafObserver;
  readonly startedAt: Reading;
  entered = false;
  answer: ToolResult | Promise<ToolResult> | undefined;
  /** True once the record is complete. */
  closed = false;
  private started = false;
  private settledLate = false;
  private running = false;
  private handlerStartedMs = 0;

  constructor(run: DispatchRun, call: ToolCall, parent: Frame | null, binding: ArgsBinding | null) {
    this.dispatch = run;
    this.call = call;
    this.parent = parent;
    this.binding = binding;
    this.attempt = run.entries[run.plan.layers.length] as number;
    this.startedAt = run.recording ? run.clock.now() : 0;
    parent?.innerStarted(this, this.startedAt);
    this.observer = run.listening ? openSafely(() => this.openSpan(), absentLeaf) : absentLeaf;
  }

  /**
   * Digest of what the handler gets, taken before it runs: the entry's, where every layer declares that it leaves the
   * arguments as they are; null where nobody records.
   */
  digestArgs(): Digest | null {
    const { dispatch, call } = this;
    if (!dispatch.hashing) return null;
    const isEntry = dispatch.plan.keepsArgs && Object.is(call.toolArgs, dispatch.call.toolArgs);
    if (isEntry) return dispatch.argsDigest;
    const digest = dispatch.digestArgs(call);
    const entered = dispatch.argsDigest;
    // Commitments to one value differ: without this a reader could not tell that nothing was changed.
    return digest?.opening !== undefined && digest.opening.text === entered?.opening?.text ? entered : digest;
  }

  /** Says that the handler starts now. */
  handlerStarted(): void {
    this.started = true;
    this.running = true;
    this.dispatch.attempts += 1;
    this.handlerStartedMs = performance.now();
  }

  /** Adds the handler's time to the dispatch's; once per start. */
  handlerEnded(): void {
    if (!this.running) return;
    this.running = false;
    this.dispatch.executionMs += performance.now() - this.handlerStartedMs;
  }

  /** Ends the leaf with what came of it; a leaf that was abandoned meanwhile settles late. */
  settle(result: ToolResult): ToolResult {
    this.handlerEnded();
    if (this.closed) this.tellLate(result);
    else this.close(result.status, redactErrorType(this.dispatch, result));
    if (this.parent !== null) this.parent.innerResult = result;
    return result;
  }

  abandon(): void {
    if (this.closed) return;
    this.handlerEnded();
    this.close("abandoned", undefined);
  }

  private close(status: string, errorType: string | undefined): void {
    this.closed = true;
    const { dispatch, parent, attempt, observer, call } = this;
    const endedAt = dispatch.recording ? dispatch.clock.now() : 0;
    if (observer !== absentLeaf) {
      const argsChanged = dispatch.argsDiffer(dispatch.call.toolArgs, call.toolArgs);
      tellSafely(() => observer.end({ attempt, endedAt, status, errorType, argsChanged }));
    }
    parent?.innerEnded(this, endedAt);
  }

  /** Once, and only of a handler that did start. */
  private tellLate(result: ToolResult): void {
    const { dispatch, attempt, startedAt } = this;
    if (this.settledLate || !this.started || !dispatch.recording) return;
    this.settledLate = true;
    const settledAt = dispatch.clock.now();
    dispatch.settledLate({
      dispatch,
      attempt,
      startedAt,
      settledAt,
      ok: result.ok,
      errorType: redactErrorType(this.dispatch, result),
    });
  }

  private openSpan(): LeafObserver {
    const { dispatch, attempt, startedAt, parent } = this;
    return dispatch.observer.leaf(attempt, startedAt, parent?.observer ?? null);
  }
}
