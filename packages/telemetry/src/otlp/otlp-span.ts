/** Finished spans as OTLP/JSON: one span, and the request that carries many. */

import type { SpanContext } from "@opentelemetry/api";
import type { ReadableSpan, SpanEvent, SpanLink, SpanResource, SpanScope } from "../spans/readable-span.ts";
import { attributesToJson, hrToNanos } from "./otlp-value.ts";

const HAS_IS_REMOTE = 0x100;
const IS_REMOTE = 0x200;

/** One `Span` message on one line; counts of zero are left out, as protobuf leaves out defaults. */
export function spanToJson(span: ReadableSpan): string {
  const { traceId, spanId, traceState, traceFlags } = span.spanContext();
  const parent = span.parentSpanContext;
  return `{"traceId":"${traceId}","spanId":"${spanId}"${traceState === undefined ? "" : `,"traceState":${JSON.stringify(traceState.serialize())}`}${
    parent === undefined ? "" : `,"parentSpanId":"${parent.spanId}"`
  },"flags":${flagsOf(traceFlags, parent)},"name":${JSON.stringify(span.name)},"kind":${span.kind + 1},"startTimeUnixNano":"${hrToNanos(
    span.startTime,
  )}","endTimeUnixNano":"${hrToNanos(span.endTime)}","attributes":${attributesToJson(span.attributes)}${count(
    "droppedAttributesCount",
    span.droppedAttributesCount,
  )}${list("events", span.events.map(eventToJson))}${count("droppedEventsCount", span.droppedEventsCount)}${list(
    "links",
    span.links.map(linkToJson),
  )}${count("droppedLinksCount", span.droppedLinksCount)},"status":${statusToJson(span)}}`;
}

/** Bits 0–7 are the W3C flags; the parent's being remote is known here, so that is said too. */
function flagsOf(traceFlags: number, parent: SpanContext | undefined): number {
  return (traceFlags & 0xff) | HAS_IS_REMOTE | (parent?.isRemote === true ? IS_REMOTE : 0);
}

function statusToJson({ status }: ReadableSpan): string {
  const code = status.code === 0 ? "" : `"code":${status.code}`;
  if (status.message === undefined) return `{${code}}`;
  return `{${code}${code === "" ? "" : ","}"message":${JSON.stringify(status.message)}}`;
}

function eventToJson(event: SpanEvent): string {
  return `{"timeUnixNano":"${hrToNanos(event.time)}","name":${JSON.stringify(event.name)}${attributeMember(event.attributes)}${count(
    "droppedAttributesCount",
    event.droppedAttributesCount ?? 0,
  )}}`;
}

function linkToJson(link: SpanLink): string {
  const { traceId, spanId, traceState, traceFlags, isRemote } = link.context;
  const flags = (traceFlags & 0xff) | HAS_IS_REMOTE | (isRemote === true ? IS_REMOTE : 0);
  return `{"traceId":"${traceId}","spanId":"${spanId}"${
    traceState === undefined ? "" : `,"traceState":${JSON.stringify(traceState.serialize())}`
  }${attributeMember(link.attributes)}${count("droppedAttributesCount", link.droppedAttributesCount ?? 0)},"flags":${flags}}`;
}

function attributeMember(attributes: Readonly<Record<string, unknown>> | undefined): string {
  if (attributes === undefined) return "";
  const json = attributesToJson(attributes);
  return json === "[]" ? "" : `,"attributes":${json}`;
}

function count(name: string, value: number): string {
  return value === 0 ? "" : `,"${name}":${value}`;
}

function list(name: string, items: readonly string[]): string {
  return items.length === 0 ? "" : `,"${name}":[${items.join(",")}]`;
}

const resources = new WeakMap<SpanResource, string>();
const scopes = new WeakMap<SpanScope, string>();

/** Gathers spans of one resource into the text of one `ExportTraceServiceRequest`. */
export class TraceRequest {
  /** Spans gathered so far. */
  count = 0;
  /** Characters gathered so far: a lower bound of the request's bytes. */
  length = 0;
  #resource: SpanResource | undefined;
  readonly #spans = new Map<SpanScope, string>();

  /** False where the span comes from another resource, and so belongs into a request of its own. */
  fits(span: ReadableSpan): boolean {
    return this.#resource === undefined || this.#resource === span.resource;
  }

  add(span: ReadableSpan, json: string): void {
    this.#resource = span.resource;
    const scope = span.instrumentationScope;
    const before = this.#spans.get(scope);
    this.#spans.set(scope, before === undefined ? json : `${before},${json}`);
    this.count += 1;
    this.length += json.length + 1;
  }

  /** The request, without a newline; afterwards this is empty again. */
  take(): string {
    const resource = this.#resource;
    const scoped = [...this.#spans].map(
      ([scope, spans]) => `{"scope":${scopeToJson(scope)},"spans":[${spans}]${schemaMember(scope.schemaUrl)}}`,
    );
    this.#spans.clear();
    this.#resource = undefined;
    this.count = 0;
    this.length = 0;
    const described = resource === undefined ? "{}" : resourceToJson(resource);
    return `{"resourceSpans":[{"resource":${described},"scopeSpans":[${scoped.join(",")}]${schemaMember(resource?.schemaUrl)}}]}`;
  }
}

export function resourceToJson(resource: SpanResource): string {
  let json = resources.get(resource);
  if (json === undefined) {
    json = `{"attributes":${attributesToJson(resource.attributes)}}`;
    // A host's detectors may still be at work: such a resource is not remembered.
    if (resource.asyncAttributesPending !== true) resources.set(resource, json);
  }
  return json;
}

export function scopeToJson(scope: SpanScope): string {
  let json = scopes.get(scope);
  if (json === undefined) {
    const version = scope.version === undefined ? "" : `,"version":${JSON.stringify(scope.version)}`;
    json = `{"name":${JSON.stringify(scope.name)}${version}}`;
    scopes.set(scope, json);
  }
  return json;
}

export function schemaMember(schemaUrl: string | undefined): string {
  return schemaUrl === undefined || schemaUrl === "" ? "" : `,"schemaUrl":${JSON.stringify(schemaUrl)}`;
}
