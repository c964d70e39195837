/** Spans on their way into one request, as OTLP/JSON text or as protobuf bytes. */

import { utf8Length } from "../content/plain-value.ts";
import type { ReadableSpan } from "../spans/readable-span.ts";
import { spanToJson, TraceRequest } from "./otlp-span.ts";

export interface SpanBatch {
  readonly count: number;
  /** About how many bytes the request will have. */
  readonly length: number;
  /** Takes the span, or answers false: it belongs into another batch. */
  add(span: ReadableSpan, maxLength: number): boolean;
  take(): Uint8Array;
}

/** Turns finished spans into the bytes of one request. The member of `ProtobufTraceSerializer` that is used. */
export interface SpanSerializer {
  serializeRequest(spans: ReadableSpan[]): Uint8Array | undefined;
}

export class JsonBatch implements SpanBatch {
  readonly #request = new TraceRequest();
  /** Receivers count bytes, of which a character may have three. */
  #bytes = 0;

  get count(): number {
    return this.#request.count;
  }

  get length(): number {
    return this.#bytes;
  }

  add(span: ReadableSpan, maxLength: number): boolean {
    const json = spanToJson(span);
    const request = this.#request;
    const bytes = utf8Length(json);
    if (request.count > 0 && (!request.fits(span) || this.#bytes + bytes > maxLength)) return false;
    request.add(span, json);
    this.#bytes += bytes;
    return true;
  }

  take(): Uint8Array {
    this.#bytes = 0;
    return Buffer.from(this.#request.take());
  }
}

const SPAN_LENGTH = 200;

export class ProtobufBatch implements SpanBatch {
  readonly #serializer: SpanSerializer;
  #spans: ReadableSpan[] = [];
  #length = 0;

  constructor(serializer: SpanSerializer) {
    this.#serializer = serializer;
  }

  get count(): number {
    return this.#spans.length;
  }

  get length(): number {
    return this.#length;
  }

  add(span: ReadableSpan, maxLength: number): boolean {
    const length = lengthOf(span);
    if (this.#spans.length > 0 && this.#length + length > maxLength) return false;
    this.#spans.push(span);
    this.#length += length;
    return true;
  }

  take(): Uint8Array {
    const spans = this.#spans;
    this.#spans = [];
    this.#length = 0;
    return this.#serializer.serializeRequest(spans) ?? new Uint8Array();
  }
}

function lengthOf(span: ReadableSpan): number {
  let length = SPAN_LENGTH;
  for (const value of Object.values(span.attributes)) length += typeof value === "string" ? value.length + 24 : 32;
  return length + span.events.length * 100;
}
