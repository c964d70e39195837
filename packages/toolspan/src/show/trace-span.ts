/** A span as it stands in a JSONL file of the OTLP file exporter; the only place that reads that format. */

import { ATTR } from "../attributes.ts";
import { asObject, asObjects, type Json, parseObject } from "../files/json.ts";

export type SpanAttribute = string | number | boolean;

export interface TraceSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly name: string;
  /** Nanoseconds since the Unix epoch. */
  readonly startedAt: bigint;
  readonly endedAt: bigint;
  /** True for status ERROR. */
  readonly failed: boolean;
  /** As on the wire; `attributeOf` reads one. */
  readonly attributes: readonly Json[];
  /** `service.instance.id` of the process that made it. */
  readonly instanceId: string | null;
}

/**
 * Reads one line: an `ExportTraceServiceRequest`.
 *
 * @returns Its spans; undefined where the line is something else (a receipt, another signal, torn).
 */
export function spansOfLine(text: string): readonly TraceSpan[] | undefined {
  const request = parseObject(text);
  if (request === undefined || !Array.isArray(request.resourceSpans)) return undefined;
  return asObjects(request.resourceSpans).flatMap((group) => {
    const resource = asObjects(asObject(group.resource)?.attributes);
    const instance = scalarNamed(resource, ATTR.serviceInstanceId);
    const instanceId = typeof instance === "string" ? instance : null;
    return asObjects(group.scopeSpans).flatMap((scope) =>
      asObjects(scope.spans).map((span) => toSpan(span, instanceId)),
    );
  });
}

/** One attribute of a span; undefined where it has none of that name, or one that is no scalar. */
export function attributeOf(span: TraceSpan, name: string): SpanAttribute | undefined {
  return scalarNamed(span.attributes, name);
}

function toSpan(span: Json, instanceId: string | null): TraceSpan {
  return {
    traceId: text(span.traceId),
    spanId: text(span.spanId),
    parentSpanId: text(span.parentSpanId) || null,
    name: text(span.name),
    startedAt: nanos(span.startTimeUnixNano),
    endedAt: nanos(span.endTimeUnixNano),
    failed: isError(asObject(span.status)?.code),
    attributes: asObjects(span.attributes),
    instanceId,
  };
}

function scalarNamed(attributes: readonly Json[], name: string): SpanAttribute | undefined {
  const value = asObject(attributes.find(({ key }) => key === name)?.value);
  if (value === undefined) return undefined;
  if (typeof value.stringValue === "string") return value.stringValue;
  if (typeof value.boolValue === "boolean") return value.boolValue;
  if (typeof value.doubleValue === "number") return value.doubleValue;
  if (value.intValue !== undefined) return Number(value.intValue);
  return undefined;
}

function isError(code: unknown): boolean {
  return code === 2 || code === "STATUS_CODE_ERROR";
}

function nanos(value: unknown): bigint {
  if (typeof value === "string" && /^\d{1,20}$/.test(value)) return BigInt(value);
  return Number.isSafeInteger(value) ? BigInt(value as number) : 0n;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
