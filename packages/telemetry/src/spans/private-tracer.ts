/** A tracer of our own that nobody registers: it gives `jsonl` its spans where the host has no SDK. */

import { type Context, type Span, type SpanContext, type SpanOptions, TraceFlags, trace } from "@opentelemetry/api";
import type { TraceSampler } from "../start/sampler.ts";
import { newSpanId, newTraceId } from "./ids.ts";
import type { SpanResource, SpanScope } from "./readable-span.ts";
import { RecordedSpan } from "./recorded-span.ts";

/** The one thing that is asked of a tracer. */
export interface SpanStarter {
  startSpan(name: string, options?: SpanOptions, context?: Context): Span;
}

export class PrivateTracer implements SpanStarter {
  readonly #resource: SpanResource;
  readonly #scope: SpanScope;
  readonly #sampler: TraceSampler;

  constructor(resource: SpanResource, scope: SpanScope, sampler: TraceSampler) {
    this.#resource = resource;
    this.#scope = scope;
    this.#sampler = sampler;
  }

  startSpan(name: string, options: SpanOptions, context: Context): Span {
    const active = options.root === true ? trace.deleteSpan(context) : context;
    const parent = validParent(active);
    const traceId = parent?.traceId ?? newTraceId();
    const { decision, traceState } = this.#sampler.shouldSample(active, traceId);
    const spanContext: SpanContext = {
      traceId,
      spanId: newSpanId(),
      traceFlags: decision === 0 ? TraceFlags.NONE : TraceFlags.SAMPLED,
      ...(traceState === undefined ? {} : { traceState }),
    };
    if (decision === 0) return trace.wrapSpanContext(spanContext);
    const { kind, startTime, attributes, links } = options;
    return new RecordedSpan({
      name,
      kind,
      spanContext,
      parentSpanContext: parent,
      startTime,
      attributes,
      links,
      resource: this.#resource,
      scope: this.#scope,
    });
  }
}

function validParent(active: Context): SpanContext | undefined {
  const parent = trace.getSpanContext(active);
  return parent !== undefined && trace.isSpanContextValid(parent) ? parent : undefined;
}
