// The OpenTelemetry SDK that is installed, 2.x or 3.x, behind one shape: tracer and meter provider, memory exporters, async context.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import {
  type Attributes,
  type ContextManager,
  context,
  diag,
  type MeterProvider,
  metrics,
  propagation,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  type MetricData,
  PeriodicExportingMetricReader,
  MeterProvider as SdkMeterProvider,
} from "@opentelemetry/sdk-metrics";
import type {
  InMemorySpanExporter,
  ReadableSpan,
  Sampler,
  SpanExporter,
  SpanLimits,
  SpanProcessor,
} from "@opentelemetry/sdk-trace-base";

/** What a tracer provider of either line can do. */
export interface SdkTracerProvider extends TracerProvider {
  forceFlush(): Promise<void>;
  shutdown(): Promise<void>;
}

/** The names that differ between the lines, and the samplers, which do not. */
export interface TraceSdk {
  readonly line: 2 | 3;
  createProvider(options: {
    readonly sampler?: Sampler;
    readonly spanLimits?: SpanLimits;
    readonly resource?: Attributes;
    readonly spanProcessors?: readonly SpanProcessor[];
  }): SdkTracerProvider;
  simpleProcessor(exporter: SpanExporter): SpanProcessor;
  batchProcessor(exporter: SpanExporter): SpanProcessor;
  memoryExporter(): InMemorySpanExporter;
  readonly alwaysOff: Sampler;
  readonly alwaysOn: Sampler;
  parentBased(root: Sampler): Sampler;
  ratio(share: number): Sampler;
}

/** Loads `sdk-trace-base` (2.x) where it is installed, else `sdk-trace` (3.x). */
export async function loadTraceSdk(): Promise<TraceSdk> {
  const base = await import("@opentelemetry/sdk-trace-base").catch((error: unknown) => {
    if (!isMissing(error)) throw error;
    return null;
  });
  if (base !== null) {
    return {
      line: 2,
      createProvider: ({ resource, spanProcessors, ...rest }) =>
        new base.BasicTracerProvider({
          ...rest,
          ...(resource === undefined ? {} : { resource: resourceFromAttributes(resource) }),
          spanProcessors: [...(spanProcessors ?? [])],
        }),
      simpleProcessor: (exporter) => new base.SimpleSpanProcessor(exporter),
      batchProcessor: (exporter) => new base.BatchSpanProcessor(exporter),
      memoryExporter: () => new base.InMemorySpanExporter(),
      ...samplers(base),
    };
  }
  const sdk = await import("@opentelemetry/sdk-trace");
  return {
    line: 3,
    createProvider: ({ resource, spanProcessors, ...rest }) =>
      new sdk.TracerProvider({
        ...rest,
        ...(resource === undefined ? {} : { resource: resourceFromAttributes(resource) }),
        spanProcessors: [...(spanProcessors ?? [])],
      }),
    simpleProcessor: (exporter) => new sdk.SimpleSpanProcessor({ exporter }),
    batchProcessor: (exporter) => new sdk.BatchSpanProcessor({ exporter }),
    memoryExporter: () => new sdk.InMemorySpanExporter(),
    ...samplers(sdk),
  };
}

/** One SDK set up for a test; call `shutdown` when the test ends. */
export interface OtelSdk extends TraceSdk {
  readonly tracerProvider: SdkTracerProvider;
  readonly meterProvider: MeterProvider;
  readonly contextManager: ContextManager;
  /** Every span that has ended, oldest first. */
  spans(): readonly ReadableSpan[];
  /** Collects now and returns every metric by name, cumulative. */
  collectMetrics(): Promise<ReadonlyMap<string, MetricData>>;
  /** Forgets what was recorded so far. */
  reset(): void;
  /** Ends the providers and takes them out of the global API. */
  shutdown(): Promise<void>;
}

export interface OtelSdkOptions {
  /** Made from the loaded SDK, so that both lines use their own class. Default: always on. */
  readonly sampler?: (sdk: TraceSdk) => Sampler;
  readonly spanLimits?: SpanLimits;
  readonly resource?: Attributes;
  /** Beside the memory exporter. */
  readonly processors?: (sdk: TraceSdk) => readonly SpanProcessor[];
  /** Whether to set the global tracer provider, meter provider, context manager and propagator. Default: true. */
  readonly register?: boolean;
}

/**
 * Sets up tracing, metrics and async context with the SDK line that is installed.
 *
 * @throws Error if something else is registered globally already: a test that leaked would pass for another's reason.
 */
export async function startOtelSdk(options: OtelSdkOptions = {}): Promise<OtelSdk> {
  const sdk = await loadTraceSdk();
  const spanExporter = sdk.memoryExporter();
  const tracerProvider = sdk.createProvider({
    sampler: options.sampler?.(sdk) ?? sdk.alwaysOn,
    ...(options.spanLimits === undefined ? {} : { spanLimits: options.spanLimits }),
    ...(options.resource === undefined ? {} : { resource: options.resource }),
    spanProcessors: [sdk.simpleProcessor(spanExporter), ...(options.processors?.(sdk) ?? [])],
  });
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 2 ** 31 - 1 });
  const meterProvider = new SdkMeterProvider({ readers: [reader] });
  const contextManager = new AsyncLocalStorageContextManager().enable();
  const register = options.register ?? true;
  if (register) {
    const taken =
      !trace.setGlobalTracerProvider(tracerProvider) ||
      !metrics.setGlobalMeterProvider(meterProvider) ||
      !context.setGlobalContextManager(contextManager) ||
      !propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    if (taken) throw new Error("otel-sdk: a global provider is registered already; shut the earlier one down first");
  }
  return {
    ...sdk,
    tracerProvider,
    meterProvider,
    contextManager,
    spans: () => spanExporter.getFinishedSpans(),
    collectMetrics: async () => {
      metricExporter.reset();
      await reader.forceFlush();
      const found = metricExporter
        .getMetrics()
        .flatMap((batch) => batch.scopeMetrics.flatMap((scope) => scope.metrics));
      return new Map(found.map((metric) => [metric.descriptor.name, metric]));
    },
    reset: () => {
      spanExporter.reset();
      metricExporter.reset();
    },
    shutdown: async () => {
      if (register) clearGlobals();
      contextManager.disable();
      await tracerProvider.shutdown();
      await meterProvider.shutdown();
    },
  };
}

/** Takes whatever is registered out of the global API. */
export function clearGlobals(): void {
  trace.disable();
  metrics.disable();
  context.disable();
  propagation.disable();
  diag.disable();
}

/** The versions that really resolve from here, package name to version; what is not installed is left out. */
export function resolvedVersions(
  names: readonly string[] = [
    "@opentelemetry/api",
    "@opentelemetry/sdk-trace-base",
    "@opentelemetry/sdk-trace",
    "@opentelemetry/sdk-metrics",
    "@opentelemetry/resources",
    "@opentelemetry/otlp-transformer",
    "@toolspan/telemetry",
  ],
): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of names) {
    const version = versionOf(name);
    if (version !== null) found[name] = version;
  }
  return found;
}

interface SamplerClasses {
  readonly AlwaysOffSampler: new () => Sampler;
  readonly AlwaysOnSampler: new () => Sampler;
  readonly ParentBasedSampler: new (config: { root: Sampler }) => Sampler;
  readonly TraceIdRatioBasedSampler: new (ratio: number) => Sampler;
}

function samplers(classes: SamplerClasses): Pick<TraceSdk, "alwaysOff" | "alwaysOn" | "parentBased" | "ratio"> {
  return {
    alwaysOff: new classes.AlwaysOffSampler(),
    alwaysOn: new classes.AlwaysOnSampler(),
    parentBased: (root) => new classes.ParentBasedSampler({ root }),
    ratio: (share) => new classes.TraceIdRatioBasedSampler(share),
  };
}

function isMissing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = "code" in error ? error.code : undefined;
  return (
    code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND" || /Cannot find (package|module)/.test(error.message)
  );
}

/** Reads the manifest from disk: the 3.x packages do not export it. */
function versionOf(name: string): string | null {
  let folder: string;
  try {
    folder = dirname(createRequire(import.meta.url).resolve(name));
  } catch {
    return null;
  }
  for (;;) {
    try {
      const manifest: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      if (typeof manifest === "object" && manifest !== null && "name" in manifest && manifest.name === name) {
        return "version" in manifest && typeof manifest.version === "string" ? manifest.version : null;
      }
    } catch {
      // No manifest in this folder: look one up.
    }
    const parent = dirname(folder);
    if (parent === folder) return null;
    folder = parent;
  }
}
