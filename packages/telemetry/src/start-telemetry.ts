/** `startTelemetry`: an OpenTelemetry SDK, set up and wound down, for programs that have none of their own. */

import {
  type ContextManager,
  context,
  type MeterProvider,
  metrics,
  propagation,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import { diagnostics } from "@toolspan/core";
import { withDeadline } from "./deadline.ts";
import { type Environment, processEnvironment, readFlag, readNumber, readSwitch } from "./environment.ts";
import { reportDuplicateApi } from "./host.ts";
import { type JsonlSink, jsonlSink } from "./jsonl-sink.ts";
import { telemetryLost } from "./loss.ts";
import * as check from "./options-check.ts";
import { OtlpMetricExporter } from "./otlp-metric-exporter.ts";
import type { OtlpOptions, OtlpSettings } from "./otlp-settings.ts";
import { otlpSettings } from "./otlp-settings.ts";
import { OtlpSink, otlpLimits } from "./otlp-sink.ts";
import { OtlpTransport } from "./otlp-transport.ts";
import { atProcessEnd } from "./process-end.ts";
import { isSpanProcessor, type SpanSink } from "./readable-span.ts";
import { type ResourceOptions, resourceAttributes } from "./resource.ts";
import { samplerFrom } from "./sampler.ts";
import {
  createContextManager,
  createMeterProvider,
  createPropagator,
  createResource,
  createTracerProvider,
  missingPeer,
  protobufSerializers,
  type SdkProvider,
} from "./sdk-peers.ts";
import { JsonBatch, ProtobufBatch } from "./span-batch.ts";
import { spanLimits } from "./span-limits.ts";
import { markJsonlStarted } from "./started.ts";

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
  /** Longest wait of a shutdown, milliseconds. Default 2,000. */
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
/** Parts keep the deadline themselves; this much later nobody waits for them any more. */
const DEADLINE_SLACK_MS = 50;

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
  protocol: check.oneOf("http/json", "http/protobuf"),
  compression: check.oneOf("gzip", "none"),
};

/**
 * Starts tracing and metrics with the OpenTelemetry SDK that is installed, 2.x or 3.x, and registers them.
 *
 * Nothing of it keeps the process alive. On SIGINT, SIGTERM and when no work is left, it flushes within `shutdownTimeoutMs`;
 * a file of spans is also completed on `process.exit`. Honours `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`,
 * `OTEL_TRACES_SAMPLER*`, `OTEL_EXPORTER_OTLP_*`, `OTEL_BSP_*`, `OTEL_SPAN_*_LIMIT`, `OTEL_METRIC_EXPORT_INTERVAL`,
 * `OTEL_SDK_DISABLED`, `TOOLSPAN_DISABLED` and `TOOLSPAN_STATE_DIR`.
 *
 * @returns The handle; keep it, and await `shutdown` before a one-shot program ends.
 * @throws TOOLSPAN_INVALID_OPTION for a wrong option; TOOLSPAN_MISSING_PEER where a package of the SDK is not installed.
 */
export function startTelemetry(options: StartTelemetryOptions): Telemetry {
  if (typeof options !== "object" || options === null)
    throw check.invalid(SUBJECT, "its argument", "options", check.describe(options));
  check.checkOptions(SUBJECT, options, CHECKS);
  if (options.serviceName === undefined) throw check.invalid(SUBJECT, "serviceName", "a string", "none");
  check.checkOptions(`${SUBJECT}: otlp`, options.otlp ?? {}, OTLP_CHECKS);
  const env = options.environment ?? processEnvironment();
  const disabled = readFlag(env, "OTEL_SDK_DISABLED") || readSwitch(env, "TOOLSPAN_DISABLED");
  return disabled ? new DisabledTelemetry() : new StartedTelemetry(options, env);
}

class StartedTelemetry implements Telemetry {
  readonly tracerProvider: TracerProvider & SdkProvider;
  readonly meterProvider: MeterProvider;
  readonly disabled = false;
  readonly registered: boolean;
  readonly #options: StartTelemetryOptions;
  readonly #jsonl: JsonlSink | undefined;
  readonly #otlp: OtlpSink | undefined;
  readonly #others: readonly SpanSink[];
  readonly #metrics: (MeterProvider & SdkProvider) | undefined;
  readonly #exporter: OtlpMetricExporter | undefined;
  readonly #unhook: () => void;
  readonly #undo: readonly (() => void)[];
  readonly #lostBefore = totalLost();
  #ending: Promise<TelemetryReport> | undefined;

  constructor(options: StartTelemetryOptions, env: Environment) {
    this.#options = options;
    const sinks = options.sinks ?? ["otlp"];
    const resource = createResource({ ...resourceAttributes(options, env) });
    if (sinks.includes("otlp")) {
      const settings = checkedSettings("traces", options, env);
      this.#otlp = createOtlpSink(settings, env, options.flushTimeoutMs ?? 5000);
      if (options.metrics ?? true) {
        const forMetrics = checkedSettings("metrics", options, env);
        const serializer =
          forMetrics.protocol === "http/protobuf" ? protobufSerializers()?.ProtobufMetricsSerializer : undefined;
        this.#exporter = new OtlpMetricExporter(new OtlpTransport(forMetrics), serializer);
        const interval = options.metricIntervalMs ?? readNumber(env, "OTEL_METRIC_EXPORT_INTERVAL", 1) ?? 60_000;
        this.#metrics = createMeterProvider(resource, this.#exporter, interval);
      }
    }
    if (sinks.includes("jsonl"))
      this.#jsonl = jsonlSink({ env, ...(options.dir === undefined ? {} : { dir: options.dir }) });
    this.#others = sinks.filter((sink): sink is SpanSink => typeof sink !== "string");
    this.tracerProvider = createTracerProvider({
      resource,
      sampler: samplerFrom(env),
      spanLimits: spanLimits(env),
      spanProcessors: [this.#otlp, this.#jsonl, ...this.#others].filter((sink) => sink !== undefined),
    });
    this.meterProvider = this.#metrics ?? metrics.getMeterProvider();
    const { registered, undo } =
      (options.register ?? true) ? register(this.tracerProvider, this.#metrics) : NOT_REGISTERED;
    this.registered = registered;
    const unmark = registered && this.#jsonl !== undefined ? [markJsonlStarted()] : [];
    this.#undo = [...unmark, ...undo];
    this.#unhook = atProcessEnd({
      end: () => this.shutdown(),
      exit: () => this.#exit(),
      signals: options.signals ?? true,
      crash: options.crashFlush ?? false,
    });
  }

  get jsonlPath(): string | null {
    return this.#jsonl?.path ?? null;
  }

  async forceFlush({
    timeoutMs = this.#options.flushTimeoutMs ?? 5000,
  }: {
    readonly timeoutMs?: number;
  } = {}): Promise<TelemetryReport> {
    const outcome = await withDeadline(() => this.#flushAll(timeoutMs), timeoutMs + DEADLINE_SLACK_MS);
    return this.#report(outcome === "done" && (this.#otlp?.pending ?? 0) === 0);
  }

  shutdown({
    timeoutMs = this.#options.shutdownTimeoutMs ?? 2000,
  }: {
    readonly timeoutMs?: number;
  } = {}): Promise<TelemetryReport> {
    this.#ending ??= this.#end(timeoutMs);
    return this.#ending;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.shutdown();
  }

  async #flushAll(timeoutMs: number): Promise<void> {
    const waits = [this.#otlp?.forceFlush(timeoutMs), this.#jsonl?.forceFlush(), this.#metrics?.forceFlush()];
    await Promise.all([...waits, ...this.#others.map((sink) => sink.forceFlush())]);
  }

  async #end(timeoutMs: number): Promise<TelemetryReport> {
    this.#unhook();
    const lost = totalLost();
    const ended = (): Promise<unknown> =>
      Promise.all([this.#otlp?.shutdown(timeoutMs), this.tracerProvider.shutdown(), this.#metrics?.shutdown()]);
    const outcome = await withDeadline(ended, timeoutMs + DEADLINE_SLACK_MS);
    this.#exporter?.abort();
    await this.#exporter?.forceFlush();
    for (const undo of this.#undo) undo();
    return this.#report(outcome === "done" && totalLost() === lost);
  }

  #exit(): void {
    this.#jsonl?.flushSync();
    this.#otlp?.exit();
  }

  #report(complete: boolean): TelemetryReport {
    return { complete, lost: totalLost() - this.#lostBefore };
  }
}

class DisabledTelemetry implements Telemetry {
  readonly tracerProvider: TracerProvider = trace.getTracerProvider();
  readonly meterProvider: MeterProvider = metrics.getMeterProvider();
  readonly disabled = true;
  readonly registered = false;
  readonly jsonlPath = null;

  async forceFlush(): Promise<TelemetryReport> {
    return { complete: true, lost: 0 };
  }

  async shutdown(): Promise<TelemetryReport> {
    return { complete: true, lost: 0 };
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

function checkedSettings(signal: "traces" | "metrics", options: StartTelemetryOptions, env: Environment): OtlpSettings {
  const settings = otlpSettings(signal, options.otlp ?? {}, env);
  if (settings.protocol === "http/json" || protobufSerializers() !== undefined) return settings;
  if (settings.protocolChosen) throw missingPeer("@opentelemetry/otlp-transformer");
  diagnostics.report(
    "telemetry.otlp",
    "protobuf_missing",
    "OTLP as http/protobuf needs the package @opentelemetry/otlp-transformer, found none; http/json is used",
  );
  return { ...settings, protocol: "http/json" };
}

function createOtlpSink(settings: OtlpSettings, env: Environment, flushTimeoutMs: number): OtlpSink {
  const serializer = settings.protocol === "http/protobuf" ? protobufSerializers()?.ProtobufTraceSerializer : undefined;
  const batch = serializer === undefined ? new JsonBatch() : new ProtobufBatch(serializer);
  return new OtlpSink(new OtlpTransport(settings), batch, otlpLimits(env, flushTimeoutMs));
}

interface Registration {
  readonly registered: boolean;
  readonly undo: readonly (() => void)[];
}

const NOT_REGISTERED: Registration = { registered: false, undo: [] };

function register(tracerProvider: TracerProvider, meterProvider: MeterProvider | undefined): Registration {
  if (!trace.setGlobalTracerProvider(tracerProvider)) {
    reportDuplicateApi();
    diagnostics.report(
      "telemetry.start",
      "already_registered",
      "startTelemetry: a tracer provider is registered already and stays; pass this handle's tracerProvider where its sinks are wanted",
    );
    return NOT_REGISTERED;
  }
  const undo = [() => trace.disable()];
  const manager: ContextManager = createContextManager();
  if (context.setGlobalContextManager(manager)) undo.push(() => context.disable());
  if (propagation.setGlobalPropagator(createPropagator())) undo.push(() => propagation.disable());
  if (meterProvider !== undefined && metrics.setGlobalMeterProvider(meterProvider)) undo.push(() => metrics.disable());
  return { registered: true, undo };
}

function totalLost(): number {
  return [...telemetryLost().values()].reduce((sum, count) => sum + count, 0);
}
