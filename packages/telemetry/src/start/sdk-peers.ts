/** The OpenTelemetry SDK that is installed, 2.x or 3.x, behind one shape; its packages are optional peers. */

import { createRequire } from "node:module";
import type { ContextManager, MeterProvider, TextMapPropagator, TracerProvider } from "@opentelemetry/api";
import { ToolspanError } from "@toolspan/core";
import type { MetricSerializer, OtlpMetricExporter } from "../otlp/otlp-metric-exporter.ts";
import type { SpanSerializer } from "../otlp/span-batch.ts";
import type { SpanResource, SpanSink } from "../spans/readable-span.ts";
import type { TraceSampler } from "./sampler.ts";

export interface SdkProvider {
  forceFlush(): Promise<void>;
  shutdown(): Promise<void>;
}

export interface TracerProviderOptions {
  readonly resource: SpanResource;
  readonly sampler: TraceSampler;
  readonly spanLimits: Readonly<Record<string, number>>;
  readonly spanProcessors: SpanSink[];
}

type Constructor<T, A extends readonly unknown[] = []> = new (...args: A) => T;

const SUBJECT = "startTelemetry";
const require = createRequire(import.meta.url);

/** @throws TOOLSPAN_MISSING_PEER */
export function createTracerProvider(options: TracerProviderOptions): TracerProvider & SdkProvider {
  // Present in both lines since 2.9; sdk-trace-base is the older name and ends with 2.x.
  const trace = load<{ TracerProvider: Constructor<TracerProvider & SdkProvider, [TracerProviderOptions]> }>(
    "@opentelemetry/sdk-trace",
  );
  if (trace !== undefined) return new trace.TracerProvider(options);
  const base = need<{ BasicTracerProvider: Constructor<TracerProvider & SdkProvider, [TracerProviderOptions]> }>(
    "@opentelemetry/sdk-trace-base",
    "@opentelemetry/sdk-trace",
  );
  return new base.BasicTracerProvider(options);
}

/** @throws TOOLSPAN_MISSING_PEER */
export function createResource(attributes: SpanResource["attributes"]): SpanResource {
  interface Resources {
    defaultResource(): SpanResource & { merge(other: SpanResource): SpanResource };
    resourceFromAttributes(attributes: SpanResource["attributes"]): SpanResource;
  }
  const { defaultResource, resourceFromAttributes } = need<Resources>("@opentelemetry/resources");
  return defaultResource().merge(resourceFromAttributes(attributes));
}

/** @throws TOOLSPAN_MISSING_PEER */
export function createMeterProvider(
  resource: SpanResource,
  exporter: OtlpMetricExporter,
  intervalMs: number,
): MeterProvider & SdkProvider {
  interface Metrics {
    MeterProvider: Constructor<MeterProvider & SdkProvider, [{ resource: SpanResource; readers: unknown[] }]>;
    PeriodicExportingMetricReader: Constructor<unknown, [Readonly<Record<string, unknown>>]>;
  }
  const { MeterProvider, PeriodicExportingMetricReader } = need<Metrics>("@opentelemetry/sdk-metrics");
  const exportTimeoutMillis = Math.min(intervalMs, 30_000);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: intervalMs, exportTimeoutMillis });
  return new MeterProvider({ resource, readers: [reader] });
}

/** @throws TOOLSPAN_MISSING_PEER */
export function createContextManager(): ContextManager {
  const { AsyncLocalStorageContextManager } = need<{ AsyncLocalStorageContextManager: Constructor<ContextManager> }>(
    "@opentelemetry/context-async-hooks",
  );
  return new AsyncLocalStorageContextManager().enable();
}

/** W3C trace context and baggage. @throws TOOLSPAN_MISSING_PEER */
export function createPropagator(): TextMapPropagator {
  interface Core {
    CompositePropagator: Constructor<TextMapPropagator, [{ propagators: TextMapPropagator[] }]>;
    W3CTraceContextPropagator: Constructor<TextMapPropagator>;
    W3CBaggagePropagator: Constructor<TextMapPropagator>;
  }
  const { CompositePropagator, W3CTraceContextPropagator, W3CBaggagePropagator } = need<Core>("@opentelemetry/core");
  return new CompositePropagator({ propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()] });
}

export interface ProtobufSerializers {
  readonly ProtobufTraceSerializer: SpanSerializer;
  readonly ProtobufMetricsSerializer: MetricSerializer;
}

/** Undefined where the package is not installed. */
export function protobufSerializers(): ProtobufSerializers | undefined {
  return load<ProtobufSerializers>("@opentelemetry/otlp-transformer");
}

export function missingPeer(peer: string): ToolspanError {
  return new ToolspanError("TOOLSPAN_MISSING_PEER", { subject: SUBJECT, peer });
}

function need<T>(name: string, advised: string = name): T {
  const found = load<T>(name);
  if (found === undefined) throw missingPeer(advised);
  return found;
}

/** Undefined only where this very package is missing; a package that fails to load says so itself. */
function load<T>(name: string): T | undefined {
  let path: string;
  try {
    path = require.resolve(name);
  } catch {
    return undefined;
  }
  return require(path) as T;
}
