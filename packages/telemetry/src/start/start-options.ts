/** What `startTelemetry` takes and gives, and the check of what it takes. */

import type { MeterProvider, TracerProvider } from "@opentelemetry/api";
import * as check from "../observer/options-check.ts";
import type { OtlpOptions } from "../otlp/otlp-settings.ts";
import { isSpanProcessor, type SpanSink } from "../spans/readable-span.ts";
import type { Environment } from "./environment.ts";
import type { ResourceOptions } from "./resource.ts";

/** Where spans go: a collector, a file, or any span processor. */
export type StartedSink = "otlp" | "jsonl" | SpanSink;

export interface StartTelemetryOptions extends ResourceOptions {
  /** `service.name`; `OTEL_SERVICE_NAME` wins. */
  readonly serviceName: string;
  /** Default `["otlp"]`. */
  readonly sinks?: readonly StartedSink[];
  /** `otlp`: endpoint, headers, …; what is left out comes from `OTEL_EXPORTER_OTLP_*`. */
  readonly otlp?: OtlpOptions;
  /** `jsonl`: folder of the files. Default `<state root>/spans`. */
  readonly dir?: string;
  /**
   * Whether `otlp` and `jsonl` get failed spans of traces that the sampler leaves out. Every span is then recorded, which
   * costs what sampling would have saved in this process; the rest of such a trace is missing. Default false.
   */
  readonly keepErrors?: boolean;
  /** Whether `otlp` also gets metrics. Default true. */
  readonly metrics?: boolean;
  /** Time between two collections of metrics, milliseconds. Default `OTEL_METRIC_EXPORT_INTERVAL`, else 60,000. */
  readonly metricIntervalMs?: number;
  /** Whether to become the program's registered providers, context manager and propagator. Default true. */
  readonly register?: boolean;
  /** Whether SIGINT, SIGTERM and the end of all work shut telemetry down. Default true. */
  readonly signals?: boolean;
  /** Whether an uncaught exception waits for telemetry, at most `shutdownTimeoutMs`. Default false. */
  readonly crashFlush?: boolean;
  /** Longest wait of a flush, milliseconds. Default 5,000. */
  readonly flushTimeoutMs?: number;
  /** Longest wait of a shutdown, milliseconds. Default 1,500. */
  readonly shutdownTimeoutMs?: number;
  /** Environment variables to go by. Default `process.env`; `{}` ignores them. */
  readonly environment?: Environment;
}

export interface TelemetryReport {
  /** False where the deadline came first. */
  readonly complete: boolean;
  /** Items lost since the start, all signals. `telemetryLost()` has them by reason. */
  readonly lost: number;
}

/** The one handle of what was started. */
export interface Telemetry {
  readonly tracerProvider: TracerProvider;
  readonly meterProvider: MeterProvider;
  /** True where `OTEL_SDK_DISABLED` or `TOOLSPAN_DISABLED` left everything off. */
  readonly disabled: boolean;
  /** False where the host had registered providers before. */
  readonly registered: boolean;
  /** The file of the sink `jsonl`; null as long as there is none. */
  readonly jsonlPath: string | null;
  /** Passes on everything held. Resolves at the deadline at the latest, never rejects. */
  forceFlush(options?: { readonly timeoutMs?: number }): Promise<TelemetryReport>;
  /** Flushes, ends and unregisters what was started; what the deadline cuts off is counted. Idempotent, never rejects. */
  shutdown(options?: { readonly timeoutMs?: number }): Promise<TelemetryReport>;
  [Symbol.asyncDispose](): Promise<void>;
}

const SUBJECT = "startTelemetry";

const CHECKS: Readonly<Record<keyof StartTelemetryOptions, check.Check>> = {
  serviceName: check.text,
  serviceVersion: check.text,
  deploymentEnvironment: check.text,
  resourceAttributes: check.scalars,
  sinks: (value) =>
    Array.isArray(value) && value.every((sink) => sink === "otlp" || sink === "jsonl" || isSpanProcessor(sink))
      ? undefined
      : 'a list of "otlp", "jsonl" and span processors',
  otlp: check.anObject,
  dir: check.text,
  keepErrors: check.flag,
  metrics: check.flag,
  metricIntervalMs: check.atLeast(1, "milliseconds"),
  register: check.flag,
  signals: check.flag,
  crashFlush: check.flag,
  flushTimeoutMs: check.atLeast(0, "milliseconds"),
  shutdownTimeoutMs: check.atLeast(0, "milliseconds"),
  environment: check.anObject,
};

const OTLP_CHECKS: Readonly<Record<keyof OtlpOptions, check.Check>> = {
  endpoint: (value) =>
    typeof value === "string" && /^https?:/.test(value) && URL.canParse(value) ? undefined : "an http or https address",
  headers: check.scalars,
  timeoutMs: check.atLeast(1, "milliseconds"),
  retryMs: check.atLeast(0, "milliseconds"),
  protocol: check.oneOf("http/json", "http/protobuf"),
  compression: check.oneOf("gzip", "none"),
};

/** @throws TOOLSPAN_INVALID_OPTION */
export function checkStartOptions(options: StartTelemetryOptions): void {
  if (typeof options !== "object" || options === null) {
    throw check.invalid(SUBJECT, "its argument", "options", check.describe(options));
  }
  check.checkOptions(SUBJECT, options, CHECKS);
  if (options.serviceName === undefined) throw check.invalid(SUBJECT, "serviceName", "a string", "none");
  check.checkOptions(`${SUBJECT}: otlp`, options.otlp ?? {}, OTLP_CHECKS);
}
