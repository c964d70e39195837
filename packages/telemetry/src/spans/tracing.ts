/** Opens the spans of one observer: in the host's tracer, or in a private one where the host has none. */

import { type Context, INVALID_SPANID, type Span, type TracerProvider, trace } from "@opentelemetry/api";
import type { Clock } from "@toolspan/core";
import { SCOPE_NAME, SCOPE_VERSION } from "../names.ts";
import { ATTR_GEN_AI_CONVERSATION_ID, SCHEMA_URL } from "../semconv.ts";
import { reportLoss } from "../sinks/loss.ts";
import type { Flushable } from "../sinks/sink-group.ts";
import { HostTracer, reportNoTracer } from "../start/host.ts";
import type { TraceSampler } from "../start/sampler.ts";
import { isJsonlStarted } from "../start/started.ts";
import { activeContext, clockOf, isSuppressed, withClock } from "./async-context.ts";
import { adoptSpan, LiveSpan, tracerThrew } from "./live-span.ts";
import { PrivateTracer, type SpanStarter } from "./private-tracer.ts";
import type { SpanOrigin, SpanResource, SpanScope, SpanSink } from "./readable-span.ts";
import { type SpanHome, type SpanStart, toSpanOptions } from "./span-home.ts";

export interface TracingOptions {
  /** False where only `noop` listens: then nothing is opened. */
  readonly wanted: boolean;
  /** True where somebody asked for the host's spans by name. */
  readonly expectsHost: boolean;
  /** True to leave the host's tracer, sampler and context alone. */
  readonly isolated: boolean;
  readonly tracerProvider: TracerProvider | undefined;
  /** Get every finished span; without any, no private tracer is needed. */
  readonly sinks: readonly SpanSink[];
  /** The one of `sinks` that falls silent where `startTelemetry` writes the same file already. */
  readonly defaultJsonl: SpanSink | undefined;
  readonly sampler: TraceSampler;
  readonly resource: SpanResource;
}

const SCOPE: SpanScope = { name: SCOPE_NAME, version: SCOPE_VERSION, schemaUrl: SCHEMA_URL };

export class Tracing {
  readonly options: TracingOptions;
  readonly #host: HostTracer;
  readonly #private: PrivateTracer | undefined;
  readonly #sinksBesideJsonl: readonly SpanSink[];

  constructor(options: TracingOptions) {
    this.options = options;
    const { sinks, resource, sampler, defaultJsonl } = options;
    this.#host = new HostTracer(options.tracerProvider);
    this.#private = sinks.length === 0 ? undefined : new PrivateTracer(resource, SCOPE, sampler);
    this.#sinksBesideJsonl = sinks.filter((sink) => sink !== defaultJsonl);
  }

  active(): Context {
    return activeContext(this.options.isolated);
  }

  /** Opens an outermost span of ours under whatever is active; null where spans go nowhere. */
  open(start: SpanStart, clock: Clock): LiveSpan | null {
    if (!this.options.wanted) return null;
    const parent = this.active();
    try {
      if (!this.options.isolated) {
        const tracer = this.#host.tracer();
        const span = tracer.startSpan(start.name, toSpanOptions(start, clock), parent);
        if (isReal(span, parent))
          return this.#live(span, start, parent, this.#home(tracer, clock, false, originOf(span, start, parent)));
        if (isSuppressed(parent)) return null;
        if (this.options.expectsHost) reportNoTracer();
      }
      const tracer = this.#private;
      if (tracer === undefined) return null;
      const span = tracer.startSpan(start.name, toSpanOptions(start, clock), parent);
      return this.#live(span, start, parent, this.#home(tracer, clock, true, originOf(span, start, parent)));
    } catch (thrown) {
      reportLoss(tracerThrew(thrown));
      return null;
    }
  }

  /** What is to be flushed and ended: our own sinks, and the host's provider, which is only flushed. */
  get sinks(): readonly Flushable[] {
    const { sinks, expectsHost } = this.options;
    const host: Flushable = { forceFlush: () => this.#host.forceFlush(), shutdown: async () => {} };
    return expectsHost ? [...sinks, host] : sinks;
  }

  #live(span: Span, start: SpanStart, parent: Context, home: SpanHome): LiveSpan {
    return adoptSpan(LiveSpan, span, start, span.isRecording() ? withClock(parent, home.clock) : parent, home);
  }

  #home(tracer: SpanStarter, clock: Clock, isPrivate: boolean, origin: SpanOrigin): SpanHome {
    const { sinks, resource, isolated } = this.options;
    const taken = !isPrivate && isJsonlStarted() ? this.#sinksBesideJsonl : sinks;
    return { tracer, clock, sinks: taken, origin, resource, scope: SCOPE, ownContext: isolated, isolated };
  }
}

function originOf(span: Span, { attributes }: SpanStart, parent: Context): SpanOrigin {
  const session = attributes?.[ATTR_GEN_AI_CONVERSATION_ID];
  return {
    outermostSpanId: clockOf(parent) === undefined ? span.spanContext().spanId : undefined,
    sessionId: typeof session === "string" ? session : undefined,
  };
}

/** False for what a tracer without a provider gives: no id at all, or that of its parent again. */
function isReal(span: Span, parent: Context): boolean {
  const { spanId } = span.spanContext();
  return spanId !== INVALID_SPANID && spanId !== trace.getSpanContext(parent)?.spanId;
}
