/** Everything about one observer that is known before the first call. */

import type { MeterProvider } from "@opentelemetry/api";
import { diagnostics, type Hasher, type Sink } from "@toolspan/core";
import { capturesContent } from "../content/capture.ts";
import { langfuseByName } from "../langfuse/langfuse-by-name.ts";
import type { LangfuseOptions } from "../langfuse/langfuse-settings.ts";
import { SCOPE_VERSION } from "../names.ts";
import { ATTR_TELEMETRY_SDK_LANGUAGE, ATTR_TELEMETRY_SDK_NAME, ATTR_TELEMETRY_SDK_VERSION } from "../semconv.ts";
import { callableSink } from "../sinks/callable-sink.ts";
import { jsonlSink } from "../sinks/jsonl-sink.ts";
import { RecordTarget } from "../sinks/record-target.ts";
import { stderrSink } from "../sinks/stderr-sink.ts";
import type { SpanSink } from "../spans/readable-span.ts";
import type { RootOptions } from "../spans/span-attributes.ts";
import type { ToolCallSpan } from "../spans/tool-call-span.ts";
import { Tracing } from "../spans/tracing.ts";
import { type Environment, processEnvironment, readFlag, readSwitch } from "../start/environment.ts";
import { resourceAttributes } from "../start/resource.ts";
import { samplerFrom } from "../start/sampler.ts";
import { type CheckedOptions, isSpanSink, type TelemetryOptions, type TelemetrySink } from "./telemetry-options.ts";

const DEFAULT_CONTENT_BYTES = 65_536;
const DEFAULT_FLUSH_MS = 5000;
/** Says of private spans who made them. */
const PRIVATE_SDK = {
  [ATTR_TELEMETRY_SDK_LANGUAGE]: "nodejs",
  [ATTR_TELEMETRY_SDK_NAME]: "toolspan",
  [ATTR_TELEMETRY_SDK_VERSION]: SCOPE_VERSION,
};

export interface TelemetrySetup {
  readonly tracing: Tracing;
  readonly records: readonly RecordTarget[];
  readonly root: RootOptions;
  readonly captureContent: boolean;
  readonly maxContentBytes: number;
  readonly layerSpans: "nested" | "flat" | "off";
  readonly metaKeys: readonly string[];
  readonly tools: readonly string[];
  readonly meterProvider: MeterProvider | undefined;
  readonly hasher: Hasher | undefined;
  readonly flushTimeoutMs: number;
}

/** Null where `TOOLSPAN_DISABLED` switches telemetry off. */
export function toSetup({ options, sinks }: CheckedOptions): TelemetrySetup | null {
  const env = options.env ?? processEnvironment();
  if (readSwitch(env, "TOOLSPAN_DISABLED")) return null;
  const captureContent = options.captureContent ?? capturesContent(env);
  const langfuse =
    sinks.includes("langfuse") && !readFlag(env, "OTEL_SDK_DISABLED")
      ? langfuseByName(langfuseOptions(options, env), options.onError)
      : undefined;
  const root: RootOptions = {
    persona: options.persona,
    mode: options.mode,
    extraAttributes: options.extraAttributes,
    hashArgs: options.hashArgs ?? true,
  };
  return {
    tracing: toTracing(options, sinks, langfuse?.spans),
    records: recordSinks(options, sinks, langfuse?.records).map(({ sink, callable }) => {
      const { parentSpanId, traceIdOverride } = options;
      const shown = { ...root, parentSpanId, traceIdOverride, captureContent: captureContent && callable };
      return new RecordTarget(sink, shown, options.onError);
    }),
    root,
    captureContent,
    maxContentBytes: options.maxContentBytes ?? DEFAULT_CONTENT_BYTES,
    layerSpans: options.layerSpans ?? "nested",
    metaKeys: options.metaKeys ?? [],
    tools: options.tools ?? [],
    meterProvider: options.meterProvider,
    hasher: options.hasher,
    flushTimeoutMs: options.flushTimeoutMs ?? DEFAULT_FLUSH_MS,
  };
}

/**
 * One setup in place of two: sinks add up, and the spans are those of the first that has a sink of spans.
 *
 * Each sink of records keeps the options that it came with, so content that one was given never reaches another.
 */
export function mergeSetups(first: TelemetrySetup, second: TelemetrySetup): TelemetrySetup {
  const lead = !hasSpans(first) && hasSpans(second) ? second : first;
  const [one, two] = [first.tracing.options, second.tracing.options];
  const tracing = new Tracing({
    ...lead.tracing.options,
    wanted: one.wanted || two.wanted,
    expectsHost: one.expectsHost || two.expectsHost,
    sinks: [
      ...new Set([
        ...one.sinks,
        ...two.sinks.filter((sink) => sink !== two.defaultJsonl || one.defaultJsonl === undefined),
      ]),
    ],
    defaultJsonl: one.defaultJsonl ?? two.defaultJsonl,
  });
  return {
    ...lead,
    tracing,
    records: [...first.records, ...second.records],
    metaKeys: [...new Set([...first.metaKeys, ...second.metaKeys])],
    tools: [...new Set([...first.tools, ...second.tools])],
    meterProvider: first.meterProvider ?? second.meterProvider,
    hasher: first.hasher ?? second.hasher,
    // Where one of the two may not see the content, the spans that both share do not carry it.
    captureContent: [first, second].every((setup) => setup.captureContent || !hasSpans(setup)) && lead.captureContent,
  };
}

function hasSpans({ tracing }: TelemetrySetup): boolean {
  return tracing.options.expectsHost || tracing.options.sinks.length > 0;
}

function langfuseOptions(options: TelemetryOptions, env: Environment): LangfuseOptions {
  const { baseUrl, publicKey, secretKey, project, environment, release, tags, timeoutMs, flushTimeoutMs } = options;
  const given = { baseUrl, publicKey, secretKey, project, environment, release, tags, timeoutMs, flushTimeoutMs, env };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function toTracing(
  options: TelemetryOptions,
  sinks: readonly TelemetrySink[],
  langfuse: SpanSink | undefined,
): Tracing {
  const env = options.env ?? processEnvironment();
  const isolated = options.isolated ?? false;
  const disabled = readFlag(env, "OTEL_SDK_DISABLED");
  const named =
    sinks.includes("jsonl") && !disabled
      ? jsonlSink({ ...(options.dir === undefined ? {} : { dir: options.dir }), env })
      : undefined;
  const spanSinks: readonly SpanSink[] = disabled ? [] : sinks.flatMap((sink) => spanSinkOf(sink, named, langfuse));
  if (isolated && spanSinks.length === 0 && !disabled) {
    diagnostics.report(
      "telemetry.otel",
      "isolated",
      "withTelemetry: isolated leaves the host's tracer alone and no sink of spans is listed, so no span is made",
    );
  }
  return new Tracing({
    wanted: sinks.some((sink) => sink !== "noop"),
    expectsHost: sinks.includes("otel") && !isolated,
    isolated,
    tracerProvider: options.tracerProvider,
    sinks: [...new Set(spanSinks)],
    defaultJsonl: options.dir === undefined ? named : undefined,
    sampler: samplerFrom(env),
    resource: { attributes: { ...PRIVATE_SDK, ...resourceAttributes({ serviceName: options.serviceName }, env) } },
  });
}

function spanSinkOf(
  sink: TelemetrySink,
  jsonl: SpanSink | undefined,
  langfuse: SpanSink | undefined,
): readonly SpanSink[] {
  if (typeof sink === "object") return isSpanSink(sink) ? [sink] : [];
  const named = sink === "jsonl" ? jsonl : sink === "langfuse" ? langfuse : undefined;
  return named === undefined ? [] : [named];
}

function recordSinks(
  options: TelemetryOptions,
  sinks: readonly TelemetrySink[],
  langfuse: Sink<ToolCallSpan> | undefined,
): readonly { readonly sink: Sink<ToolCallSpan>; readonly callable: boolean }[] {
  return sinks.flatMap((sink): readonly { readonly sink: Sink<ToolCallSpan>; readonly callable: boolean }[] => {
    if (typeof sink === "function") return [{ sink: callableSink(sink), callable: true }];
    if (sink === "stderr") {
      return [{ sink: stderrSink(options.prefix === undefined ? {} : { prefix: options.prefix }), callable: false }];
    }
    if (sink === "langfuse") return langfuse === undefined ? [] : [{ sink: langfuse, callable: false }];
    return typeof sink === "string" || isSpanSink(sink) ? [] : [{ sink, callable: true }];
  });
}
