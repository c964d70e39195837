/** Collected metrics as OTLP/JSON. */

import type { Attributes, HrTime } from "@opentelemetry/api";
import type { SpanResource, SpanScope } from "../spans/readable-span.ts";
import { resourceToJson, schemaMember, scopeToJson } from "./otlp-span.ts";
import { attributesToJson, doubleToJson, hrToNanos } from "./otlp-value.ts";

/** What the metrics SDK of both lines hands to an exporter, by its members alone. */
export interface CollectedMetrics {
  readonly resource: SpanResource;
  readonly scopeMetrics: readonly {
    readonly scope: SpanScope;
    readonly metrics: readonly CollectedMetric[];
  }[];
}

export interface CollectedMetric {
  readonly descriptor: {
    readonly name: string;
    readonly unit: string;
    readonly description: string;
    readonly valueType: number;
  };
  /** 0 delta, 1 cumulative: one below the protocol's number. */
  readonly aggregationTemporality: number;
  /** 0 histogram, 1 exponential histogram, 2 gauge, 3 sum. */
  readonly dataPointType: number;
  readonly isMonotonic?: boolean;
  readonly dataPoints: readonly CollectedPoint[];
}

interface CollectedPoint {
  readonly startTime: HrTime;
  readonly endTime: HrTime;
  readonly attributes: Attributes;
  readonly value: unknown;
}

interface ExplicitBuckets {
  readonly buckets: { readonly boundaries: readonly number[]; readonly counts: readonly number[] };
  readonly count: number;
  readonly sum?: number;
  readonly min?: number;
  readonly max?: number;
}

interface ExponentialBuckets extends Omit<ExplicitBuckets, "buckets"> {
  readonly scale: number;
  readonly zeroCount: number;
  readonly positive: { readonly offset: number; readonly bucketCounts: readonly number[] };
  readonly negative: { readonly offset: number; readonly bucketCounts: readonly number[] };
}

const INT = 0;

/** One `ExportMetricsServiceRequest` on one line. @source OpenTelemetry protocol 1.11, metrics.proto */
export function metricsToJson({ resource, scopeMetrics }: CollectedMetrics): string {
  const scoped = scopeMetrics.map(
    ({ scope, metrics }) =>
      `{"scope":${scopeToJson(scope)},"metrics":[${metrics.map(metricToJson).join(",")}]${schemaMember(scope.schemaUrl)}}`,
  );
  return `{"resourceMetrics":[{"resource":${resourceToJson(resource)},"scopeMetrics":[${scoped.join(",")}]${schemaMember(resource.schemaUrl)}}]}`;
}

/** Data points of a request. */
export function countPoints({ scopeMetrics }: CollectedMetrics): number {
  return scopeMetrics.flatMap(({ metrics }) => metrics).reduce((sum, { dataPoints }) => sum + dataPoints.length, 0);
}

function metricToJson(metric: CollectedMetric): string {
  const { name, unit, description } = metric.descriptor;
  return `{"name":${JSON.stringify(name)},"description":${JSON.stringify(description)},"unit":${JSON.stringify(unit)},${dataToJson(metric)}}`;
}

function dataToJson(metric: CollectedMetric): string {
  const temporality = `"aggregationTemporality":${metric.aggregationTemporality + 1}`;
  const points = (show: (value: never) => string): string =>
    `"dataPoints":[${metric.dataPoints.map((point) => `{${pointStart(point)},${show(point.value as never)}}`).join(",")}]`;
  const isInt = metric.descriptor.valueType === INT;
  switch (metric.dataPointType) {
    case 0:
      return `"histogram":{${temporality},${points(explicitToJson)}}`;
    case 1:
      return `"exponentialHistogram":{${temporality},${points(exponentialToJson)}}`;
    case 2:
      return `"gauge":{${points((value: number) => numberToJson(value, isInt))}}`;
    default:
      return `"sum":{${temporality},"isMonotonic":${metric.isMonotonic === true},${points((value: number) => numberToJson(value, isInt))}}`;
  }
}

function pointStart({ startTime, endTime, attributes }: CollectedPoint): string {
  return `"attributes":${attributesToJson(attributes)},"startTimeUnixNano":"${hrToNanos(startTime)}","timeUnixNano":"${hrToNanos(endTime)}"`;
}

function numberToJson(value: number, isInt: boolean): string {
  return isInt && Number.isSafeInteger(value) ? `"asInt":"${value}"` : `"asDouble":${doubleToJson(value)}`;
}

function explicitToJson(value: ExplicitBuckets): string {
  const { boundaries, counts } = value.buckets;
  return `${summary(value)},"bucketCounts":[${integers(counts)}],"explicitBounds":[${boundaries.map(doubleToJson).join(",")}]`;
}

function exponentialToJson(value: ExponentialBuckets): string {
  const { scale, zeroCount, positive, negative } = value;
  const side = (name: string, { offset, bucketCounts }: ExponentialBuckets["positive"]): string =>
    `"${name}":{"offset":${offset},"bucketCounts":[${integers(bucketCounts)}]}`;
  return `${summary(value)},"scale":${scale},"zeroCount":"${zeroCount}",${side("positive", positive)},${side("negative", negative)}`;
}

function summary({ count, sum, min, max }: Pick<ExplicitBuckets, "count" | "sum" | "min" | "max">): string {
  const member = (name: string, value: number | undefined): string =>
    value === undefined ? "" : `,"${name}":${doubleToJson(value)}`;
  return `"count":"${count}"${member("sum", sum)}${member("min", min)}${member("max", max)}`;
}

function integers(values: readonly number[]): string {
  return values.map((value) => `"${value}"`).join(",");
}
