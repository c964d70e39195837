/** The boundary around one layer run: whatever the layer does, a complete result and a record come out. */

import { absentLayer } from "./absent-observer.ts";
import { type ArgsBinding, type ArgsDigest, bindTo, carryBinding } from "./binding.ts";
import type { Reading } from "./clock.ts";
import { diagnostics } from "./diagnostics.ts";
import type { DispatchRun } from "./dispatch-run.ts";
import { errorTypeOf } from "./error-type.ts";
import { kindOf, ToolspanError } from "./errors.ts";
import { crashedLayer, incompleteAnswer } from "./failed-result.ts";
import { openSafely, runWithin, tellSafely } from "./guard.ts";
import type { LayerDefinition, LayerScope } from "./layer.ts";
import type { LayerObserver } from "./observer.ts";
import type { Attributes, LayerRun } from "./record.ts";
import { runTerminal } from "./terminal.ts";
import type { ToolCall } from "./tool-call.ts";
import { isCompleteResult, type ToolResult } from "./tool-result.ts";

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
  readonly call: ToolCall;
  observer: LayerObserver = absentLayer;
  /** What came back last from inside: a failure with another status is this layer's own. */
  innerResult: ToolResult | undefined;
  entered = false;
  /** True once the layer has answered: `next` is closed. */
  over = false;
  /** True once the record is complete; later than `over` while a stream runs. */
  closed = false;
  #binding: ArgsBinding | null;
  #answer: unknown;
  #nextCalled = false;
  #argsChanged = false;
  #status: string | undefined;
  #attributes: Attributes | undefined;
  #errorType: string | undefined;
  #startedAt: Reading = 0;
  #endedAt: Reading = 0;
  #selfTime: Reading = -1;
  #innerTime: Reading = 0;
  #innerSince: Reading = 0;
  #open: Inner[] = [];

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
    this.call = call;
    this.attempt = run.entries[index] as number;
    this.#binding = binding;
  }

  get name(): string {
    return this.definition.name;
  }

  /** Where this run stands among its siblings and enclosing runs, as spans and records say it. */
  get depth(): number {
    return this.parent === null ? 0 : this.parent.depth + 1;
  }

  start(): Promise<ToolResult> {
    const { dispatch, parent } = this;
    dispatch.frames.push(this);
    if (dispatch.recording) {
      this.#startedAt = dispatch.clock.now();
      parent?.innerStarted(this, this.#startedAt);
      if (dispatch.observer.recording) this.observer = this.#openSpan();
      runWithin(this.observer, callLayer, this);
    } else {
      parent?.innerStarted(this, 0);
      callLayer(this);
    }
    const answer = this.#answer;
    return answer instanceof Promise
      ? answer.then(
          (value) => this.#leave(value),
          (thrown) => this.#leave(crashedLayer(this.call, this.name, thrown)),
        )
      : Promise.resolve(this.#leave(answer));
  }

  /** Lets the layer run; what it throws becomes its answer. */
  callLayer(): void {
    try {
      const answer = this.definition.call(this.call, (call) => this.#next(call), this);
      this.#answer = isThenable(answer) ? Promise.resolve(answer) : answer;
    } catch (thrown) {
      this.#answer = crashedLayer(this.call, this.name, thrown);
    }
  }

  report(report: { readonly status?: string; readonly attributes?: Attributes }): void {
    if (report.status !== undefined) this.#status = report.status;
    if (report.attributes !== undefined) this.#attributes = { ...this.#attributes, ...scalars(report.attributes) };
  }

  event(name: string, attributes?: Attributes): void {
    if (!this.closed && this.dispatch.recording) {
      tellSafely(() => this.observer.event(name, attributes, this.dispatch.clock.now()));
    }
  }

  bindArgs(digest: ArgsDigest): void {
    this.#binding = bindTo(this.call.toolArgs, digest, this.#binding);
  }

  innerStarted(inner: Inner, at: Reading): void {
    if (this.#open.length === 0) this.#innerSince = at;
    this.#open.push(inner);
  }

  innerEnded(inner: Inner, at: Reading): void {
    const position = this.#open.indexOf(inner);
    if (position === -1) return;
    this.#open.splice(position, 1);
    if (this.#open.length === 0) this.#innerTime += at - this.#innerSince;
  }

  abandon(): void {
    if (this.closed) return;
    this.#status = "abandoned";
    this.#close();
  }

  /** Ends the record when the dispatch ends: as answered, if the layer had only waited for a stream, else abandoned. */
  closeAtEnd(): void {
    if (this.over) this.#close();
    else this.abandon();
  }

  /** The run as it is recorded; only once closed. */
  toRun(): LayerRun {
    return {
      name: this.name,
      index: this.index,
      depth: this.depth,
      attempt: this.attempt,
      status: this.#status ?? (this.#errorType === undefined ? "ok" : "error"),
      startedAt: this.#startedAt,
      endedAt: this.#endedAt,
      selfTime: this.#selfTime,
      shortCircuited: !this.#nextCalled,
      argsChanged: this.#argsChanged,
      errorType: this.#errorType,
      attributes: this.#attributes,
    };
  }

  #next(call: ToolCall): Promise<ToolResult> {
    const { dispatch, index } = this;
    if (this.over) return this.#tooLate();
    if (!isToolCall(call)) {
      return Promise.reject(new ToolspanError("TOOLSPAN_INVALID_CALL", { layer: this.name, received: kindOf(call) }));
    }
    this.#nextCalled = true;
    if (dispatch.recording && !this.#argsChanged) {
      this.#argsChanged = dispatch.argsDiffer(this.call.toolArgs, call.toolArgs);
    }
    const binding = carryBinding(
      this.#binding,
      this.definition.traits?.rewritesArgs,
      this.call.toolArgs,
      call.toolArgs,
    );
    const attempt = ++(dispatch.entries as [number])[(index + 1) as 0];
    const passed = call.attempt === attempt ? call : { ...call, attempt };
    return enter(dispatch, index + 1, passed, this, binding);
  }

  #tooLate(): Promise<never> {
    const error = new ToolspanError("TOOLSPAN_NEXT_AFTER_END", { layer: this.name });
    diagnostics.report("kernel.next", this.name, error.message);
    const refused = Promise.reject(error);
    refused.catch(() => {}); // a layer that ignores the answer must not take the process down
    return refused;
  }

  #leave(answer: unknown): ToolResult {
    const result = completed(answer) ?? incompleteAnswer(this.call, this.name);
    const { dispatch } = this;
    this.over = true;
    if (this.closed) return result;
    if (result.audit !== undefined) dispatch.keepAudit(result.audit);
    if (result.status !== this.innerResult?.status) this.#errorType = errorTypeOf(result);
    if (this.parent !== null) this.parent.innerResult = result;
    if (dispatch.stream?.carries(result)) this.#stopSelfTime();
    else this.#close();
    return result;
  }

  #stopSelfTime(): void {
    const now = this.dispatch.clock.now();
    const inner = this.#innerTime + (this.#open.length === 0 ? 0 : now - this.#innerSince);
    this.#selfTime = now - this.#startedAt - inner;
  }

  #close(): void {
    if (this.closed) return;
    this.over = true;
    this.closed = true;
    for (const inner of this.#open.toReversed()) inner.abandon();
    const { dispatch, parent } = this;
    if (dispatch.recording) {
      this.#endedAt = dispatch.clock.now();
      if (this.#selfTime < 0) this.#selfTime = this.#endedAt - this.#startedAt - this.#innerTime;
      if (this.observer !== absentLayer) tellSafely(() => this.observer.end(this.toRun()));
    }
    parent?.innerEnded(this, this.#endedAt);
  }

  #openSpan(): LayerObserver {
    const { dispatch, parent, name, index, depth, attempt } = this;
    const start = { name, index, depth, attempt, startedAt: this.#startedAt };
    return openSafely(() => dispatch.observer.layer(start, parent?.observer ?? null), absentLayer);
  }
}

function callLayer(frame: Frame): void {
  if (frame.entered) return;
  frame.entered = true;
  frame.callLayer();
}

/** The answer if it is a complete result. A getter that throws makes it none. */
function completed(answer: unknown): ToolResult | undefined {
  try {
    return isCompleteResult(answer) ? answer : undefined;
  } catch {
    return undefined;
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  if (value instanceof Promise) return true;
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

function isToolCall(value: unknown): value is ToolCall {
  return typeof value === "object" && value !== null && typeof (value as Partial<ToolCall>).toolName === "string";
}

/** What a record can carry: a layer's attributes less everything that is not a scalar. */
function scalars(attributes: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).filter(
      ([, value]) => typeof value === "string" || typeof value === "boolean" || Number.isFinite(value),
    ),
  );
}
