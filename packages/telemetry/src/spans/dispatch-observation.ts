/** One dispatch, watched: its root span, the spans inside it, its metrics and its span records. */

import type { Attributes } from "@opentelemetry/api";
import type {
  Clock,
  DispatchObserver,
  DispatchScope,
  LateSettlement,
  LayerObserver,
  LayerRun,
  LayerStart,
  LeafEnd,
  LeafObserver,
  ObservedOutcome,
  Reading,
  RecorderObserver,
  ToolCall,
  TraceRef,
} from "@toolspan/core";
import { tryTo } from "../content/plain-value.ts";
import { countEnd, countStart } from "../metrics/dispatch-metrics.ts";
import type { Instruments } from "../metrics/instruments.ts";
import {
  ATTR_ATTEMPT,
  ATTR_DISPATCH_ID,
  ATTR_STATUS,
  EVENT_DISPATCHED,
  PREFIX_SPAN,
  SPAN_LATE,
  SPAN_LEAF,
} from "../names.ts";
import type { TelemetrySetup } from "../observer/telemetry-setup.ts";
import { ATTR_GEN_AI_TOOL_NAME, OPERATION_EXECUTE_TOOL } from "../semconv.ts";
import { toEventAttributes } from "./event-attributes.ts";
import { LiveSpan, startSpan } from "./live-span.ts";
import { describeEnd, exceptionEvent } from "./root-end.ts";
import { foldedName, layerEnd, leafEnd, metaAttributes, rootEnd, rootStart } from "./span-attributes.ts";

/** Stands for a layer or handler run without a span of its own. */
const absent: LayerObserver & LeafObserver & RecorderObserver = Object.freeze({
  within: <A>(fn: (arg: A) => void, arg: A): void => fn(arg),
  event() {},
  end() {},
});

export class DispatchObservation implements DispatchObserver {
  readonly trace: TraceRef | null;
  readonly recording: boolean;
  readonly listening: boolean;
  private readonly setup: TelemetrySetup;
  private readonly dispatch: DispatchScope;
  private readonly instruments: Instruments | null;
  private readonly root: LiveSpan | null;
  /** True when the root keeps what it is told: only then are there spans inside it. */
  private readonly live: boolean;
  /** Allow-listed metadata of the call, on every span. */
  private readonly meta: Attributes | undefined;
  private ended = false;

  constructor(setup: TelemetrySetup, dispatch: DispatchScope, instruments: Instruments | null) {
    const { call, clock, startedAt } = dispatch;
    this.setup = setup;
    this.dispatch = dispatch;
    this.instruments = instruments;
    this.meta = setup.metaKeys.length === 0 ? undefined : tryTo(() => metaAttributes(call, setup.metaKeys), undefined);
    this.root = setup.tracing.options.wanted ? this.open(call, startedAt, clock) : null;
    this.trace = traceOf(this.root);
    this.live = this.root?.span.isRecording() === true;
    this.listening = this.live && setup.layerSpans !== "off";
    this.recording = this.live || setup.records.length > 0 || instruments !== null;
    if (this.live) this.root?.event(EVENT_DISPATCHED, undefined, startedAt);
    if (instruments !== null) countStart(instruments, call);
  }

  within<A>(fn: (arg: A) => void, arg: A): void {
    if (this.root === null) fn(arg);
    else this.root.withinOutermost(fn, arg);
  }

  layer(start: LayerStart, parent: LayerObserver | null): LayerObserver {
    return this.inner(LayerSpan, PREFIX_SPAN + start.name, start.startedAt, parent);
  }

  leaf(_attempt: number, startedAt: Reading, parent: LayerObserver | null): LeafObserver {
    return this.inner(LeafSpan, SPAN_LEAF, startedAt, parent);
  }

  recorder(name: string, startedAt: Reading): RecorderObserver {
    return this.inner(RecorderSpan, PREFIX_SPAN + name, startedAt, null);
  }

  end(outcome: ObservedOutcome): void {
    if (this.ended) return;
    this.ended = true;
    const root = this.root;
    if (root !== null && this.live) {
      describeEnd(root, outcome, this.setup);
      root.finish(outcome.observedAt, outcome.finalErrorType, rootEnd(outcome, this.setup.root));
    }
    if (this.instruments !== null) countEnd(this.instruments, outcome);
    for (const target of this.setup.records) target.export(outcome, this.trace);
  }

  late({ startedAt, settledAt, attempt, ok, errorType }: LateSettlement): void {
    const root = this.root;
    if (root === null || !this.live) return;
    const attributes = {
      [ATTR_GEN_AI_TOOL_NAME]: foldedName(this.dispatch.call),
      [ATTR_DISPATCH_ID]: this.dispatch.id,
      [ATTR_ATTEMPT]: attempt,
      [ATTR_STATUS]: ok ? "ok" : "error",
    };
    // A trace of its own: a child would lie outside its parent's window.
    const links = [{ context: root.span.spanContext() }];
    const start = { name: SPAN_LATE, attributes, links, startedAt, root: true };
    startSpan(LiveSpan, start, root.context, root.home)?.finish(settledAt, errorType, {});
  }

  private open(call: ToolCall, startedAt: Reading, clock: Clock): LiveSpan | null {
    const attributes = rootStart(call, this.setup.root);
    if (this.meta !== undefined) Object.assign(attributes, this.meta);
    const name = `${OPERATION_EXECUTE_TOOL} ${foldedName(call)}`;
    return this.setup.tracing.open({ name, attributes, startedAt }, clock);
  }

  private inner<T extends InnerSpan>(
    Made: new (...parts: ConstructorParameters<typeof LiveSpan>) => T,
    name: string,
    startedAt: Reading,
    parent: LayerObserver | null,
  ): T | typeof absent {
    const root = this.root;
    const { layerSpans } = this.setup;
    if (root === null || !this.listening) return absent;
    const enclosing = layerSpans === "nested" && parent instanceof InnerSpan ? parent : root;
    const start = this.meta === undefined ? { name, startedAt } : { name, startedAt, attributes: this.meta };
    return startSpan(Made, start, enclosing.context, root.home) ?? absent;
  }
}

/** A span inside the root. */
class InnerSpan extends LiveSpan {
  override event(name: string, attributes: Attributes | undefined, at: Reading): void {
    super.event(name, toEventAttributes(attributes), at);
  }
}

class LayerSpan extends InnerSpan implements LayerObserver {
  end(run: LayerRun): void {
    this.finish(run.endedAt, run.errorType, layerEnd(run));
  }
}

class LeafSpan extends InnerSpan implements LeafObserver {
  end(leaf: LeafEnd): void {
    if (leaf.status === "exception") this.event(...exceptionEvent(leaf.errorType), leaf.endedAt);
    this.finish(leaf.endedAt, leaf.errorType, leafEnd(leaf));
  }
}

class RecorderSpan extends InnerSpan implements RecorderObserver {
  end(endedAt: Reading, failed: boolean): void {
    this.finish(endedAt, failed ? "receipt_failed" : undefined, {});
  }
}

function traceOf(root: LiveSpan | null): TraceRef | null {
  if (root === null) return null;
  const { traceId, spanId, traceFlags } = root.span.spanContext();
  return { traceId, spanId, sampled: (traceFlags & 1) === 1 };
}
