/** What a finished span looks like to whoever writes it out: OpenTelemetry's readable span, by its members alone. */

import {
  type Attributes,
  type HrTime,
  type Link,
  type Span,
  type SpanContext,
  type SpanKind,
  type SpanStatus,
  SpanStatusCode,
  TraceFlags,
} from "@opentelemetry/api";

export interface SpanScope {
  readonly name: string;
  readonly version?: string;
  readonly schemaUrl?: string;
}

export interface SpanResource {
  readonly attributes: Attributes;
  readonly schemaUrl?: string;
  readonly asyncAttributesPending?: boolean;
}

export interface SpanEvent {
  readonly name: string;
  readonly time: HrTime;
  readonly attributes?: Attributes;
  readonly droppedAttributesCount?: number;
}

export interface SpanLink extends Link {
  readonly droppedAttributesCount?: number;
}

/** Satisfied by the finished spans of both SDK lines and by those of the private tracer. */
export interface ReadableSpan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly spanContext: () => SpanContext;
  readonly parentSpanContext?: SpanContext;
  readonly startTime: HrTime;
  readonly endTime: HrTime;
  readonly status: SpanStatus;
  readonly attributes: Attributes;
  readonly links: readonly SpanLink[];
  readonly events: readonly SpanEvent[];
  readonly resource: SpanResource;
  readonly instrumentationScope: SpanScope;
  readonly droppedAttributesCount: number;
  readonly droppedEventsCount: number;
  readonly droppedLinksCount: number;
}

/** What is known of a span of ours beyond what it says itself. */
export interface SpanOrigin {
  /** Id of the span around it that no other of ours encloses, where that is the root of this dispatch, run or model call. */
  readonly outermostSpanId: string | undefined;
  /** The conversation it belongs to, which stands on outer spans alone. */
  readonly sessionId: string | undefined;
}

/**
 * Takes finished spans. The members are those of an SDK span processor, so that one can also stand in a host's own
 * tracer provider.
 */
export interface SpanSink {
  onStart(span: unknown, parentContext: unknown): void;
  /** `origin` comes with the spans of `withTelemetry` alone. */
  onEnd(span: ReadableSpan, origin?: SpanOrigin): void;
  forceFlush(): Promise<void>;
  /** `timeoutMs` is the time that is left, where whoever ends the sink has a deadline. */
  shutdown(timeoutMs?: number): Promise<void>;
}

/** True for a span that can be read back, as those of the official SDK can. */
export function isReadable(span: Span): span is Span & ReadableSpan {
  const { startTime, attributes, instrumentationScope, resource } = span as Partial<ReadableSpan>;
  return (
    Array.isArray(startTime) &&
    typeof attributes === "object" &&
    typeof instrumentationScope === "object" &&
    typeof resource === "object"
  );
}

/** True for a span that belongs to a sampled trace, or has failed where failures are kept anyway. */
export function isKept(span: ReadableSpan, keepErrors: boolean): boolean {
  if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0) return true;
  return keepErrors && span.status.code === SpanStatusCode.ERROR;
}

/** True for something with the members of a span processor. */
export function isSpanProcessor(value: unknown): value is SpanSink {
  if (typeof value !== "object" || value === null) return false;
  const { onStart, onEnd, forceFlush, shutdown } = value as Partial<SpanSink>;
  return [onStart, onEnd, forceFlush, shutdown].every((member) => typeof member === "function");
}
