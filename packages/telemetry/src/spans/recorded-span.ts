/** A span that keeps what it is told, for programs without an SDK of their own. */

import {
  type Attributes,
  type AttributeValue,
  type Exception,
  type HrTime,
  type Link,
  type Span,
  type SpanContext,
  SpanKind,
  type SpanStatus,
  SpanStatusCode,
  type TimeInput,
} from "@opentelemetry/api";
import { ATTR_EXCEPTION_TYPE, EVENT_EXCEPTION } from "../semconv.ts";
import type { ReadableSpan, SpanEvent, SpanLink, SpanResource, SpanScope } from "./readable-span.ts";

const MAX_ATTRIBUTES = 128;
const MAX_EVENTS = 128;
const MAX_LINKS = 128;

export interface RecordedSpanInit {
  readonly name: string;
  readonly kind: SpanKind | undefined;
  readonly spanContext: SpanContext;
  readonly parentSpanContext: SpanContext | undefined;
  readonly startTime: TimeInput | undefined;
  readonly attributes: Attributes | undefined;
  readonly links: readonly Link[] | undefined;
  readonly resource: SpanResource;
  readonly scope: SpanScope;
}

export class RecordedSpan implements Span, ReadableSpan {
  name: string;
  readonly kind: SpanKind;
  readonly parentSpanContext?: SpanContext;
  readonly startTime: HrTime;
  endTime: HrTime = [0, 0];
  status: SpanStatus = { code: SpanStatusCode.UNSET };
  readonly attributes: Attributes = {};
  readonly events: SpanEvent[] = [];
  readonly links: SpanLink[] = [];
  readonly resource: SpanResource;
  readonly instrumentationScope: SpanScope;
  droppedAttributesCount = 0;
  droppedEventsCount = 0;
  droppedLinksCount = 0;
  readonly #spanContext: SpanContext;
  #attributeCount = 0;
  #ended = false;

  constructor(init: RecordedSpanInit) {
    this.name = init.name;
    this.kind = init.kind ?? SpanKind.INTERNAL;
    this.#spanContext = init.spanContext;
    if (init.parentSpanContext !== undefined) this.parentSpanContext = init.parentSpanContext;
    this.startTime = toHr(init.startTime);
    this.resource = init.resource;
    this.instrumentationScope = init.scope;
    if (init.attributes !== undefined) this.setAttributes(init.attributes);
    if (init.links !== undefined) this.addLinks([...init.links]);
  }

  spanContext(): SpanContext {
    return this.#spanContext;
  }

  setAttribute(key: string, value: AttributeValue): this {
    if (this.#ended || value === undefined || value === null || key === "") return this;
    if (!Object.hasOwn(this.attributes, key)) {
      if (this.#attributeCount >= MAX_ATTRIBUTES) {
        this.droppedAttributesCount += 1;
        return this;
      }
      this.#attributeCount += 1;
    }
    this.attributes[key] = value;
    return this;
  }

  setAttributes(attributes: Attributes): this {
    for (const key of Object.keys(attributes)) this.setAttribute(key, attributes[key] as AttributeValue);
    return this;
  }

  addEvent(name: string, attributesOrTime?: Attributes | TimeInput, time?: TimeInput): this {
    if (this.#ended) return this;
    if (this.events.length >= MAX_EVENTS) {
      this.droppedEventsCount += 1;
      return this;
    }
    const at = isTime(attributesOrTime) ? (time ?? attributesOrTime) : time;
    const attributes = isTime(attributesOrTime) ? undefined : attributesOrTime;
    this.events.push({ name, time: toHr(at), ...(attributes === undefined ? {} : { attributes }) });
    return this;
  }

  addLink(link: Link): this {
    if (this.#ended) return this;
    if (this.links.length >= MAX_LINKS) this.droppedLinksCount += 1;
    else this.links.push(link);
    return this;
  }

  addLinks(links: Link[]): this {
    for (const link of links) this.addLink(link);
    return this;
  }

  setStatus(status: SpanStatus): this {
    if (this.#ended || status.code === SpanStatusCode.UNSET || this.status.code === SpanStatusCode.OK) return this;
    this.status = status;
    return this;
  }

  updateName(name: string): this {
    if (!this.#ended) this.name = name;
    return this;
  }

  end(endTime?: TimeInput): void {
    if (this.#ended) return;
    this.endTime = toHr(endTime);
    this.#ended = true;
  }

  isRecording(): boolean {
    return !this.#ended;
  }

  /** Keeps the type alone: message and stack are content, and whoever calls this has not said that they may be kept. */
  recordException(exception: Exception, time?: TimeInput): void {
    const named = typeof exception === "string" ? undefined : (exception.name ?? exception.code?.toString());
    this.addEvent(EVENT_EXCEPTION, { [ATTR_EXCEPTION_TYPE]: named ?? "Error" }, time);
  }
}

function isTime(value: Attributes | TimeInput | undefined): value is TimeInput {
  return typeof value === "number" || value instanceof Date || Array.isArray(value);
}

function toHr(time: TimeInput | undefined): HrTime {
  if (Array.isArray(time)) return time;
  const given = time instanceof Date ? time.getTime() : time;
  // A number below this process's uptime is a reading of the monotonic clock.
  const wall = given === undefined ? Date.now() : given <= performance.now() ? performance.timeOrigin + given : given;
  const seconds = Math.floor(wall / 1000);
  return [seconds, Math.round((wall - seconds * 1000) * 1e6)];
}
