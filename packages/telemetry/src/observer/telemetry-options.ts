/** What `withTelemetry` takes, and the check of it. */

import type { MeterProvider, TracerProvider } from "@opentelemetry/api";
import type { Attributes, Hasher, Sink } from "@toolspan/core";
import { langfusePeer } from "../langfuse/langfuse-peer.ts";
import type { SpanCallback } from "../sinks/callable-sink.ts";
import type { OnTelemetryError } from "../sinks/record-target.ts";
import type { SpanSink } from "../spans/readable-span.ts";
import type { ToolCallSpan } from "../spans/tool-call-span.ts";
import type { Environment } from "../start/environment.ts";
import * as check from "./options-check.ts";

export type TelemetrySinkName = "otel" | "langfuse" | "stderr" | "jsonl" | "noop";

/** A name, a function of the span record, a sink of span records, or a sink of finished OpenTelemetry spans. */
export type TelemetrySink = TelemetrySinkName | SpanCallback | Sink<ToolCallSpan> | SpanSink;

export interface TelemetryOptions {
  readonly sink?: TelemetrySink;
  readonly sinks?: readonly TelemetrySink[];
  /** Who calls (`merge_captain`). */
  readonly persona?: string;
  /** How it is called (`preview`, `apply`, …). */
  readonly mode?: string;
  /** Span record: `parent_span_id`. */
  readonly parentSpanId?: string;
  /** Span record: replaces the `trace_id` that comes from the session. */
  readonly traceIdOverride?: string;
  /** Merged into root spans and span records; scalars. */
  readonly extraAttributes?: Attributes;
  /** Records arguments, results, error texts and descriptions. Default: `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`, else false. */
  readonly captureContent?: boolean;
  /** Budget of each content attribute, UTF-8 bytes, at least 64. Default 65,536. */
  readonly maxContentBytes?: number;
  /** False leaves the arguments unread: no `args_hash` anywhere. Default true. */
  readonly hashArgs?: boolean;
  /** Serves all recorded values of the dispatcher. Default: plain SHA-256. */
  readonly hasher?: Hasher;
  /** How layers and handler runs show: each inside the one around it, all under the root, or not at all. Default `"nested"`. */
  readonly layerSpans?: "nested" | "flat" | "off";
  /** Members of `call.meta` that may stand on every span, as `toolspan.meta.<key>`. Default none. */
  readonly metaKeys?: readonly string[];
  /** Tools whose counters exist, at 0, before the first call. */
  readonly tools?: readonly string[];
  /** In place of the registered ones. */
  readonly tracerProvider?: TracerProvider;
  readonly meterProvider?: MeterProvider;
  /** True leaves the registered tracer provider, its sampler and its context alone: spans go to sinks of this list only. Default false. */
  readonly isolated?: boolean;
  /** Hears of each record that did not reach its sink. Failures are counted and said once in any case. */
  readonly onError?: OnTelemetryError;
  /** `stderr`: stands before each line. */
  readonly prefix?: string;
  /** `jsonl`: folder of the files. Default `<state root>/spans`. */
  readonly dir?: string;
  /** `jsonl` without an SDK: `service.name`. */
  readonly serviceName?: string;
  /** Longest wait of a flush, milliseconds. Default 5,000. */
  readonly flushTimeoutMs?: number;
  /** Environment variables to go by. Default `process.env`; `{}` ignores them. */
  readonly env?: Environment;
  /** `langfuse`: address of the instance. Default `LANGFUSE_BASE_URL`; without it, or a key, nothing is sent, and that is said once. */
  readonly baseUrl?: string;
  /** `langfuse`. Default `LANGFUSE_PUBLIC_KEY`. */
  readonly publicKey?: string;
  /** `langfuse`. Default `LANGFUSE_SECRET_KEY`. */
  readonly secretKey?: string;
  /** `langfuse`: tag `project:<project>` and metadata of every trace. */
  readonly project?: string;
  /** `langfuse`. Default `LANGFUSE_TRACING_ENVIRONMENT`. */
  readonly environment?: string;
  /** `langfuse`. Default `LANGFUSE_RELEASE`. */
  readonly release?: string;
  /** `langfuse`: tags of every trace. */
  readonly tags?: readonly string[];
  /** `langfuse`: longest time of one HTTP request, milliseconds. Default 5,000. */
  readonly timeoutMs?: number;
}

export type TelemetryArgument = TelemetrySink | TelemetryOptions;

const SUBJECT = "withTelemetry";
const NAMES: readonly string[] = ["otel", "langfuse", "stderr", "jsonl", "noop"];
const EXPECTED_SINK = `a function, a sink, or one of ${NAMES.map((name) => `"${name}"`).join(", ")}`;

const CHECKS: Readonly<Record<keyof TelemetryOptions, check.Check>> = {
  sink: () => undefined,
  sinks: (value) => (Array.isArray(value) && value.length > 0 ? undefined : "a list with at least one sink"),
  persona: check.text,
  mode: check.text,
  parentSpanId: check.text,
  traceIdOverride: check.text,
  extraAttributes: check.scalars,
  captureContent: check.flag,
  maxContentBytes: check.atLeast(64, "bytes"),
  hashArgs: check.flag,
  hasher: (value) => (typeof (value as Partial<Hasher> | null)?.value === "function" ? undefined : "a hasher"),
  layerSpans: check.oneOf("nested", "flat", "off"),
  metaKeys: check.texts,
  tools: check.texts,
  tracerProvider: (value) => (hasMethod(value, "getTracer") ? undefined : "a tracer provider"),
  meterProvider: (value) => (hasMethod(value, "getMeter") ? undefined : "a meter provider"),
  isolated: check.flag,
  onError: check.callback,
  prefix: check.text,
  dir: check.text,
  serviceName: check.text,
  flushTimeoutMs: check.atLeast(0, "milliseconds"),
  env: check.anObject,
  baseUrl: check.text,
  publicKey: check.text,
  secretKey: check.text,
  project: check.text,
  environment: check.text,
  release: check.text,
  tags: check.texts,
  timeoutMs: check.atLeast(1, "milliseconds"),
};

export interface CheckedOptions {
  readonly options: TelemetryOptions;
  readonly sinks: readonly TelemetrySink[];
}

/** @throws TOOLSPAN_INVALID_OPTION, TOOLSPAN_MISSING_PEER */
export function checkArgument(argument: unknown): CheckedOptions {
  if (isSink(argument)) return { options: {}, sinks: [checkPeer(argument)] };
  if (typeof argument !== "object" || argument === null || Array.isArray(argument)) {
    throw check.invalid(SUBJECT, "its argument", `${EXPECTED_SINK}, or options`, check.describe(argument));
  }
  const options = argument as TelemetryOptions;
  check.checkOptions(SUBJECT, options, CHECKS);
  const { sink, sinks } = options;
  if ((sink === undefined) === (sinks === undefined)) {
    const received = sink === undefined ? "neither" : "both";
    throw check.invalid(SUBJECT, "sink or sinks", "given, one of the two", received);
  }
  const given: readonly unknown[] = sinks ?? [sink];
  return {
    options,
    sinks: given.map((each, position) => {
      const option = sinks === undefined ? "sink" : `sinks[${position}]`;
      if (!isSink(each)) throw check.invalid(SUBJECT, option, EXPECTED_SINK, check.describe(each));
      return checkPeer(each);
    }),
  };
}

export function isSpanSink(sink: TelemetrySink): sink is SpanSink {
  return hasMethod(sink, "onEnd") && typeof sink === "object";
}

function isSink(value: unknown): value is TelemetrySink {
  if (typeof value === "string") return NAMES.includes(value);
  if (typeof value === "function") return true;
  const takes = hasMethod(value, "export") || hasMethod(value, "onEnd");
  return takes && hasMethod(value, "forceFlush") && hasMethod(value, "shutdown");
}

function checkPeer(sink: TelemetrySink): TelemetrySink {
  if (sink === "langfuse") langfusePeer('withTelemetry("langfuse")');
  return sink;
}

function hasMethod(value: unknown, name: string): boolean {
  return typeof value === "object" && value !== null && typeof (value as Record<string, unknown>)[name] === "function";
}
