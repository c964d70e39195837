/** The boundary around one layer run: whatever the layer does, a complete result and a record come out. */

import { diagnostics } from "../diagnostics.ts";
import { kindOf, ToolspanError } from "../errors.ts";
import type { LayerDefinition, LayerScope } from "../ports/layer.ts";
import type { LayerObserver } from "../ports/observer.ts";
import type { Reading } from "../vocabulary/clock.ts";
import type { Attributes, LayerRun } from "../vocabulary/record.ts";
import type { ToolCall } from "../vocabulary/tool-call.ts";
import { isCompleteResult, type ToolResult } from "../vocabulary/tool-result.ts";
import { absentLayer } from "./absent-observer.ts";
import { type ArgsBinding, type ArgsDigest, bindTo, carryBinding } from "./binding.ts";
import type { DispatchRun } from "./dispatch-run.ts";
import { crashedLayer, incompleteAnswer } from "./failed-result.ts";
import { openSafely, runWithin, tellSafely } from "./guard.ts";
import { redactAttributes, redactErrorType } from "./redact.ts";
import { RunRecording } from "./run-recording.ts";
import { runTerminal } from "./terminal.ts";
import { whenSettled } from "./when-settled.ts";

/** Anything that can stand open inside a frame. */
export interface Inner {
  readonly parent: Frame | null;
  /** Ends it as `abandoned`, if it still stands open. */
  abandon(): void;
}

/** Runs the stack from position `index` inward. Never rejects. */
export function enter(
  run: DispatchRun,
  index: number,
  call: ToolCall,
  parent: Frame | null,
  binding: ArgsBinding | null,
): Promise<ToolResult> {
  const definition = run.plan.layers[index];
  if (definition === undefined) return runTerminal(run, call, parent, binding);
  return new Frame(run, definition, index, call, parent, binding).start();
}

export class Frame implements LayerScope, Inner {
  readonly dispatch: DispatchRun;
  readonly definition: LayerDefinition;
  readonly index: number;
  readonly attempt: number;
  readonly parent: Frame | null;
  /** The layer run of this dispatch that was entered before this one. */
  readonly before: Frame | null;
  readonly call: ToolCall;
  /** What is measured of this run; null where nobody records. */
  readonly recorded: RunRecording | null;
  /** What came back last from inside: a failure with another status is this layer's own. */
  innerResult: ToolResult | undefined;
  entered: boolean;
  /** True once the layer has answered: `next` is closed. */
  over: boolean;
  /** True once the record is complete; later than `over` while a stream runs. */
  closed: boolean;
  private binding: ArgsBinding | null;
  private answer: unknown;
  /** What stands for the answer of a layer that threw before it gave one. */
  private crash: ToolResult | null;
  private nextCalled: boolean;
  /** The inner run that stands open; `others` where a layer has several at once. */
  private open: Inner | null;
  private others: Inner[] | null;

  constructor(
    run: DispatchRun,
    definition: LayerDefinition,
    index: number,
    call: ToolCall,
    parent: Frame | null,
    binding: ArgsBinding | null,
  ) {
    this.dispatch = run;
    this.definition = definition;
    this.index = index;
    this.parent = parent;
    this.before = run.lastFrame;
    run.lastFrame = this;
    this.call = call;
    this.attempt = run.entries[index] as number;
    this.recorded = run.recording ? new RunRecording(run.clock) : null;
    this.innerResult = undefined;
    this.entered = false;
    this.over = false;
    this.closed = false;
    this.binding = binding;
    this.answer = undefined;
    this.crash = null;
    this.nextCalled = false;
    this.open = null;
    this.others = null;
  }

  get name(): string {
    return this.definition.name;
  }

  get observer(): LayerObserver | null {
    return this.recorded === null ? null : this.recorded.observer;
  }

  start(): Promise<ToolResult> {
    const { dispatch, parent, recorded } = this;
    if (parent !== null) parent.innerStarted(this, recorded === null ? 0 : recorded.startedAt);
    if (recorded !== null && dispatch.listening) {
      recorded.observer = this.openSpan(recorded.startedAt);
      runWithin(recorded.observer, callLayer, this);
    } else {
      callLayer(this);
    }
    const { answer, crash } = this;
    if (crash !== null) return Promise.resolve(this.leave(crash, true));
    if (!(answer instanceof Promise)) return Promise.resolve(this.leave(answer, false));
    return whenSettled(
      answer,
      (given) => this.leave(given, false),
      (thrown) => this.leave(crashedLayer(this.call, this.name, thrown), true),
    );
  }

  /** Lets the layer run; what it throws becomes its answer. */
  callLayer(): void {
    try {
      const answer = this.definition.call(this.call, (call) => this.next(call), this);
      this.answer = answer instanceof Promise || !isThenable(answer) ? answer : Promise.resolve(answer);
    } catch (thrown) {
      this.crash = crashedLayer(this.call, this.name, thrown);
    }
  }

  report(report: { readonly status?: string; readonly attributes?: Attributes }): void {
    if (this.closed || this.recorded === null) return;
    const { attributes } = report;
    if (attributes === undefined) this.recorded.report(report);
    else this.recorded.report({ ...report, attributes: redactAttributes(this.dispatch, attributes) });
  }

  event(name: string, attributes?: Attributes): void {
    const { recorded, dispatch } = this;
    if (recorded === null || this.closed) return;
    const said = attributes === undefined ? undefined : redactAttributes(dispatch, attributes);
    tellSafely(() => recorded.observer.event(name, said, dispatch.clock.now()));
  }

  bindArgs(digest: ArgsDigest): void {
    this.binding = bindTo(this.call.toolArgs, digest, this.binding, this.dispatch.plan.keepsArgs);
  }

  innerStarted(inner: Inner, at: Reading): void {
    if (this.open === null) {
      this.open = inner;
      if (this.recorded !== null) this.recorded.innerSince = at;
    } else {
      this.others ??= [];
      this.others.push(inner);
    }
  }

  innerEnded(inner: Inner, at: Reading): void {
    if (this.open === inner) this.open = this.others?.shift() ?? null;
    else this.others?.splice(this.others.indexOf(inner), 1);
    const { recorded } = this;
    if (this.open === null && recorded !== null) recorded.innerTime += at - recorded.innerSince;
  }

  abandon(): void {
    if (this.closed) return;
    this.report({ status: "abandoned" });
    this.close();
  }

  /** Ends the record when the dispatch ends: as answered, if the layer had only waited for a stream, else abandoned. */
  closeAtEnd(): void {
    if (this.closed) return;
    if (this.over) this.close();
    else this.abandon();
  }

  /** The run as it is recorded, made once; only when closed. */
  toRun(recorded: RunRecording): LayerRun {
    recorded.run ??= this.describeRun(recorded);
    return recorded.run;
  }

  private describeRun(recorded: RunRecording): LayerRun {
    return {
      name: this.name,
      index: this.index,
      depth: this.index, // every layer runs inside the one listed before it
      attempt: this.attempt,
      status: recorded.status ?? (recorded.errorType === undefined ? "ok" : "error"),
      startedAt: recorded.startedAt,
      endedAt: recorded.endedAt,
      selfTime: recorded.selfTime,
      shortCircuited: !this.nextCalled,
      argsChanged: recorded.argsChanged,
      errorType: recorded.errorType,
      attributes: recorded.attributes,
    };
  }

  private next(call: ToolCall): Promise<ToolResult> {
    if (this.over) return this.tooLate();
    try {
      if (isToolCall(call)) return this.pass(call);
    } catch {
      // A call whose fields throw is none.
    }
    return refusedNext(new ToolspanError("TOOLSPAN_INVALID_CALL", { layer: this.name, received: kindOf(call) }));
  }

  private pass(call: ToolCall): Promise<ToolResult> {
    const { dispatch, index, recorded } = this;
    const { toolArgs } = this.call;
    if (recorded !== null && !recorded.argsChanged) recorded.argsChanged = dispatch.argsDiffer(toolArgs, call.toolArgs);
    const binding = this.binding === null ? null : this.carryBinding(call.toolArgs);
    const attempt = dispatch.nextEntry(index + 1);
    const passed = call.attempt === attempt ? call : { ...call, attempt };
    this.nextCalled = true;
    return enter(dispatch, index + 1, passed, this, binding);
  }

  private carryBinding(after: unknown): ArgsBinding | null {
    return carryBinding(this.binding, this.definition.traits?.rewritesArgs, this.call.toolArgs, after);
  }

  private tooLate(): Promise<never> {
    const error = new ToolspanError("TOOLSPAN_NEXT_AFTER_END", { layer: this.name });
    diagnostics.report("kernel.next", this.name, error.message);
    return refusedNext(error);
  }

  /** An answer that cannot be read to its end counts as incomplete. */
  private leave(answer: unknown, crashed: boolean): ToolResult {
    this.over = true;
    try {
      if (isCompleteResult(answer)) return this.leaveWith(answer, crashed);
    } catch {
      // What throws while it is read is no result.
    }
    return this.leaveWith(incompleteAnswer(this.call, this.name), true);
  }

  /** `isOwn` says that the layer itself has failed; else a failure is its own if the inner result had another status. */
  private leaveWith(result: ToolResult, isOwn: boolean): ToolResult {
    const { dispatch, parent, recorded } = this;
    if (this.closed) return result;
    if (isObject(result.audit)) dispatch.keepAudit(result.audit);
    if (recorded !== null && (isOwn || result.status !== this.innerResult?.status))
      recorded.errorType = redactErrorType(dispatch, result);
    if (parent !== null) parent.innerResult = result;
    if (dispatch.runningStream(result) !== undefined) recorded?.stopSelfTime(dispatch.clock.now(), this.open !== null);
    else this.close();
    return result;
  }

  private close(): void {
    if (this.closed) return;
    this.over = true;
    this.closed = true;
    if (this.open !== null) this.abandonInner();
    const { parent, recorded } = this;
    if (recorded === null) {
      if (parent !== null) parent.innerEnded(this, 0);
      return;
    }
    recorded.end(this.dispatch.clock.now());
    if (recorded.observer !== absentLayer) tellSafely(() => recorded.observer.end(this.toRun(recorded)));
    if (parent !== null) parent.innerEnded(this, recorded.endedAt);
  }

  private abandonInner(): void {
    for (const inner of [this.open, ...(this.others ?? [])].toReversed()) inner?.abandon();
  }

  private openSpan(startedAt: Reading): LayerObserver {
    const { dispatch, parent, name, index, attempt } = this;
    const start = { name, index, depth: index, attempt, startedAt };
    return openSafely(() => dispatch.observer.layer(start, parent?.observer ?? null), absentLayer);
  }
}

function callLayer(frame: Frame): void {
  if (frame.entered) return;
  frame.entered = true;
  frame.callLayer();
}

/** A rejection that a layer may ignore: it must not take the process down. */
function refusedNext(error: ToolspanError): Promise<never> {
  const refused = Promise.reject(error);
  refused.catch(() => {});
  return refused;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return isObject(value) && typeof (value as { then?: unknown }).then === "function";
}

function isToolCall(value: unknown): value is ToolCall {
  return isObject(value) && typeof (value as Partial<ToolCall>).toolName === "string";
}
