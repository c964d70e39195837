/** A span of a host whose spans cannot be read back: everything goes to the host's span and is kept beside it. */

import {
  type Attributes,
  type AttributeValue,
  type Context,
  type Exception,
  type Link,
  type Span,
  type SpanStatus,
  type TimeInput,
  trace,
} from "@opentelemetry/api";
import { toHrTime } from "@toolspan/core";
import { RecordedSpan, type RecordedSpanInit } from "./recorded-span.ts";
import type { SpanHome, SpanStart } from "./span-home.ts";

class MirrorSpan extends RecordedSpan {
  readonly #host: Span;

  constructor(host: Span, init: Omit<RecordedSpanInit, "spanContext">) {
    super({ ...init, spanContext: host.spanContext(), attributes: undefined, links: undefined });
    this.#host = host;
    // The host has had these when it started the span.
    if (init.attributes !== undefined)
      for (const key of Object.keys(init.attributes)) super.setAttribute(key, init.attributes[key] as AttributeValue);
    for (const link of init.links ?? []) super.addLink(link);
  }

  override setAttribute(key: string, value: AttributeValue): this {
    this.#host.setAttribute(key, value);
    return super.setAttribute(key, value);
  }

  override addEvent(name: string, attributesOrTime?: Attributes | TimeInput, time?: TimeInput): this {
    this.#host.addEvent(name, attributesOrTime, time);
    return super.addEvent(name, attributesOrTime, time);
  }

  override addLink(link: Link): this {
    this.#host.addLink(link);
    return super.addLink(link);
  }

  override setStatus(status: SpanStatus): this {
    this.#host.setStatus(status);
    return super.setStatus(status);
  }

  override updateName(name: string): this {
    this.#host.updateName(name);
    return super.updateName(name);
  }

  override recordException(exception: Exception, time?: TimeInput): void {
    this.#host.recordException(exception, time);
    super.recordException(exception, time);
  }

  override end(endTime?: TimeInput): void {
    super.end(endTime);
    this.#host.end(endTime);
  }
}

/** Keeps what `host`, just started, is told. */
export function mirrorSpan(host: Span, start: SpanStart, parent: Context, home: SpanHome): Span {
  return new MirrorSpan(host, {
    name: start.name,
    kind: start.kind,
    parentSpanContext: start.root === true ? undefined : trace.getSpanContext(parent),
    startTime: toHrTime(home.clock, start.startedAt),
    attributes: start.attributes,
    links: start.links,
    resource: home.resource,
    scope: home.scope,
  });
}
