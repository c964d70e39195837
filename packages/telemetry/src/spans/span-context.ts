/** A context with another active span: what the API's own gives, without copying everything else that is in it. */

import { type Context, createContextKey, ROOT_CONTEXT, type Span, trace } from "@opentelemetry/api";

/** The API's key of the active span; whether it still is that is tried before it is relied on. */
const SPAN_KEY = createContextKey("OpenTelemetry Context Key SPAN");

class SpanContext implements Context {
  /** Answers for everything but the span. */
  readonly base: Context;
  readonly span: Span;

  constructor(base: Context, span: Span) {
    this.base = base;
    this.span = span;
  }

  getValue(key: symbol): unknown {
    return key === SPAN_KEY ? this.span : this.base.getValue(key);
  }

  setValue(key: symbol, value: unknown): Context {
    const base = this.base.setValue(key, value);
    return key === SPAN_KEY ? base : base.setValue(SPAN_KEY, this.span);
  }

  deleteValue(key: symbol): Context {
    const base = this.base.deleteValue(key);
    return key === SPAN_KEY ? base : base.setValue(SPAN_KEY, this.span);
  }
}

let understood: boolean | undefined;

/** `parent` with `span` as its active span. */
export function withSpan(parent: Context, span: Span): Context {
  understood ??= trace.getSpan(new SpanContext(ROOT_CONTEXT, span)) === span;
  return understood
    ? new SpanContext(parent instanceof SpanContext ? parent.base : parent, span)
    : trace.setSpan(parent, span);
}
