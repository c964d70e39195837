/** One open span: started and ended once, made active while its part runs, and never a reason for a call to fail. */

import { type Attributes, type Context, type Span, SpanStatusCode } from "@opentelemetry/api";
import { type Reading, toHrTime } from "@toolspan/core";
import { ATTR_ERROR_TYPE } from "../semconv.ts";
import { causeOf, type Loss, reportLoss } from "../sinks/loss.ts";
import { toWord } from "../words.ts";
import { activate, activateOwn, isActive } from "./async-context.ts";
import { mirrorSpan } from "./mirror-span.ts";
import { isReadable, type SpanOrigin, type SpanSink } from "./readable-span.ts";
import { withSpan } from "./span-context.ts";
import { type SpanHome, type SpanStart, toSpanOptions } from "./span-home.ts";

const ERROR = { code: SpanStatusCode.ERROR };
const NO_ATTRIBUTES: Attributes = {};

/** Starts a child of what is active in `parent`, as a `Made`; null where the tracer fails. */
export function startSpan<T extends LiveSpan>(
  Made: new (span: Span, context: Context, home: SpanHome) => T,
  start: SpanStart,
  parent: Context,
  home: SpanHome,
): T | null {
  try {
    const span = home.tracer.startSpan(start.name, toSpanOptions(start, home.clock), parent);
    return adoptSpan(Made, span, start, parent, home);
  } catch (thrown) {
    reportLoss(tracerThrew(thrown));
    return null;
  }
}

/** A span that has been started already. */
export function adoptSpan<T extends LiveSpan>(
  Made: new (span: Span, context: Context, home: SpanHome) => T,
  span: Span,
  start: SpanStart,
  parent: Context,
  home: SpanHome,
): T {
  const isOpaque = home.sinks.length > 0 && span.isRecording() && !isReadable(span);
  const kept = isOpaque ? mirrorSpan(span, start, parent, home) : span;
  return new Made(kept, withSpan(parent, kept), home);
}

export class LiveSpan {
  readonly span: Span;
  /** The context in which this span is the active one. */
  readonly context: Context;
  readonly home: SpanHome;
  private ended = false;
  private failed = false;

  constructor(span: Span, context: Context, home: SpanHome) {
    this.span = span;
    this.context = context;
    this.home = home;
  }

  /**
   * Calls `fn(arg)` with this span active. `fn` never throws, and sees to it that it runs once: a host whose context
   * manager fails may have called it already, and the kernel calls it where it did not.
   */
  within<A>(fn: (arg: A) => void, arg: A): void {
    try {
      const { ownContext, isolated } = this.home;
      if (ownContext) activateOwn(this.context, isolated, fn, arg);
      else activate(this.context, fn, arg);
    } catch (thrown) {
      reportLoss(detailLost("context_threw", thrown));
    }
  }

  /** As `within`, for a span that no other of ours encloses: finds out whether the host keeps contexts at all. */
  withinOutermost<A>(fn: (arg: A) => void, arg: A): void {
    const { home } = this;
    const enter = (given: A): void => {
      if (home.ownContext || isActive(this.context)) fn(given);
      else {
        home.ownContext = true;
        this.within(fn, given);
      }
    };
    this.within(enter, arg);
  }

  event(name: string, attributes: Attributes | undefined, at: Reading): void {
    try {
      this.span.addEvent(name, attributes ?? NO_ATTRIBUTES, toHrTime(this.home.clock, at));
    } catch (thrown) {
      reportLoss(detailLost("span_threw", thrown));
    }
  }

  /** Adds to the span; what `set` throws costs what it would have added. */
  set(set: (span: Span) => void): void {
    try {
      set(this.span);
    } catch (thrown) {
      reportLoss(detailLost("span_threw", thrown));
    }
  }

  /** Marks the span as failed; the first call decides. `message` is content. */
  fail(errorType: string, message?: string): void {
    if (this.failed) return;
    this.failed = true;
    const status = message === undefined ? ERROR : { ...ERROR, message };
    this.set((span) => span.setAttribute(ATTR_ERROR_TYPE, toWord(errorType)).setStatus(status));
  }

  /** Ends the span, failed if there is an `errorType`; later calls do nothing. */
  finish(endedAt: Reading, errorType: string | undefined, attributes: Attributes): void {
    if (this.ended) return;
    this.ended = true;
    const { span, home } = this;
    try {
      span.setAttributes(attributes);
    } catch (thrown) {
      reportLoss(detailLost("span_threw", thrown));
    }
    if (errorType !== undefined) this.fail(errorType);
    try {
      span.end(toHrTime(home.clock, endedAt));
    } catch (thrown) {
      reportLoss({ ...tracerThrew(thrown), reason: "end_threw" });
    }
    for (const sink of home.sinks) handOver(span, sink, home.origin);
  }
}

function handOver(span: Span, sink: SpanSink, origin: SpanOrigin): void {
  try {
    if (isReadable(span)) sink.onEnd(span, origin);
  } catch (thrown) {
    reportLoss({
      signal: "spans",
      reason: "sink_failed",
      source: "telemetry.sink",
      message: `a sink of spans threw ${causeOf(thrown)}; the call went on`,
    });
  }
}

export function tracerThrew(thrown: unknown): Loss {
  return {
    signal: "spans",
    reason: "tracer_threw",
    source: "telemetry.otel",
    message: `the tracer threw ${causeOf(thrown)}; the call went on without a span`,
  };
}

function detailLost(reason: string, thrown: unknown): Loss {
  return {
    signal: "details",
    reason,
    source: "telemetry.otel",
    message: `part of a span was lost: the host threw ${causeOf(thrown)}; the call went on`,
  };
}
