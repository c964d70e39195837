/** What `startTelemetry` has started: providers, sinks and their end. */

import { type MeterProvider, metrics, type TracerProvider } from "@opentelemetry/api";
import { diagnostics } from "@toolspan/core";
import { withDeadline } from "../deadline.ts";
import { SCOPE_VERSION } from "../names.ts";
import type { OtlpMetricExporter } from "../otlp/otlp-metric-exporter.ts";
import { createOtlpMetricExporter, createOtlpSink } from "../otlp/otlp-parts.ts";
import type { OtlpSink } from "../otlp/otlp-sink.ts";
import { ATTR_TELEMETRY_DISTRO_NAME, ATTR_TELEMETRY_DISTRO_VERSION } from "../semconv.ts";
import { type JsonlSink, jsonlSink } from "../sinks/jsonl-sink.ts";
import { countLossesIn, telemetryLost } from "../sinks/loss.ts";
import { endSink, flushSink } from "../sinks/sink-group.ts";
import type { SpanSink } from "../spans/readable-span.ts";
import { spanLimits } from "../spans/span-limits.ts";
import { type Environment, readNumber } from "./environment.ts";
import { atProcessEnd } from "./process-end.ts";
import { NOT_REGISTERED, register } from "./register.ts";
import { resourceAttributes } from "./resource.ts";
import { samplerFrom } from "./sampler.ts";
import { createMeterProvider, createResource, createTracerProvider, type SdkProvider } from "./sdk-peers.ts";
import type { StartTelemetryOptions, Telemetry, TelemetryReport } from "./start-options.ts";
import { markJsonlStarted } from "./started.ts";

const DISTRO = { [ATTR_TELEMETRY_DISTRO_NAME]: "toolspan", [ATTR_TELEMETRY_DISTRO_VERSION]: SCOPE_VERSION };
const DEFAULT_FLUSH_MS = 5000;
const DEFAULT_SHUTDOWN_MS = 1500;
/** Parts keep the deadline themselves; this much later nobody waits for them any more. */
const DEADLINE_SLACK_MS = 100;

export class StartedTelemetry implements Telemetry {
  readonly tracerProvider: TracerProvider & SdkProvider;
  readonly meterProvider: MeterProvider;
  readonly disabled = false;
  readonly registered: boolean;
  readonly #flushTimeoutMs: number;
  readonly #shutdownTimeoutMs: number;
  readonly #jsonl: JsonlSink | undefined;
  readonly #otlp: OtlpSink | undefined;
  readonly #others: readonly SpanSink[];
  readonly #metrics: (MeterProvider & SdkProvider) | undefined;
  readonly #exporter: OtlpMetricExporter | undefined;
  readonly #unhook: () => void;
  readonly #undo: readonly (() => void)[];
  readonly #lostBefore = telemetryLost();
  #endTimeoutMs: number;
  #ending: Promise<TelemetryReport> | undefined;

  constructor(options: StartTelemetryOptions, env: Environment) {
    this.#flushTimeoutMs = options.flushTimeoutMs ?? DEFAULT_FLUSH_MS;
    this.#shutdownTimeoutMs = options.shutdownTimeoutMs ?? DEFAULT_SHUTDOWN_MS;
    this.#endTimeoutMs = this.#shutdownTimeoutMs;
    const { sinks = ["otlp"], keepErrors = false } = options;
    const resource = createResource({ ...DISTRO, ...resourceAttributes(options, env) });
    if (sinks.includes("otlp")) {
      const otlp = options.otlp ?? {};
      this.#otlp = createOtlpSink(otlp, env, this.#flushTimeoutMs, keepErrors);
      if (options.metrics ?? true) {
        this.#exporter = createOtlpMetricExporter(otlp, env);
        const interval = options.metricIntervalMs ?? readNumber(env, "OTEL_METRIC_EXPORT_INTERVAL", 1) ?? 60_000;
        this.#metrics = createMeterProvider(resource, this.#exporter, interval);
      }
    }
    if (sinks.includes("jsonl"))
      this.#jsonl = jsonlSink({ env, keepErrors, ...(options.dir === undefined ? {} : { dir: options.dir }) });
    this.#others = sinks.filter((sink): sink is SpanSink => typeof sink !== "string");
    this.tracerProvider = createTracerProvider({
      resource,
      sampler: samplerFrom(env, keepErrors),
      spanLimits: spanLimits(env),
      spanProcessors: [this.#otlp, this.#jsonl, ...this.#others.map((sink) => this.#bounded(sink))].filter(
        (sink) => sink !== undefined,
      ),
    });
    this.meterProvider = this.#metrics ?? metrics.getMeterProvider();
    if (this.#metrics !== undefined) countLossesIn(this.#metrics);
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
    timeoutMs = this.#flushTimeoutMs,
  }: {
    readonly timeoutMs?: number;
  } = {}): Promise<TelemetryReport> {
    const outcome = await withDeadline(() => this.#flushAll(timeoutMs), timeoutMs + DEADLINE_SLACK_MS);
    return this.#report(outcome === "done" && [this.#otlp, ...this.#others].every(isEmpty));
  }

  shutdown({ timeoutMs = this.#shutdownTimeoutMs }: { readonly timeoutMs?: number } = {}): Promise<TelemetryReport> {
    this.#ending ??= this.#end(timeoutMs);
    return this.#ending;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.shutdown();
  }

  async #flushAll(timeoutMs: number): Promise<void> {
    const waits = [this.#otlp?.forceFlush(timeoutMs), this.#jsonl?.forceFlush(), this.#metrics?.forceFlush()];
    const others = this.#others.map((sink) => flushSink(sink, timeoutMs));
    const ends = await Promise.all([...waits, ...others]);
    if (ends.some((end) => end === "failed" || end === "deadline")) throw new Error("a sink was not flushed");
  }

  /** A sink as the provider gets it: told how much time is left when all ends, and without a failure that could hide others. */
  #bounded(sink: SpanSink): SpanSink {
    return {
      onStart: (span, context) => sink.onStart(span, context),
      onEnd: (span) => sink.onEnd(span),
      forceFlush: async () => void (await flushSink(sink, this.#flushTimeoutMs)),
      shutdown: async () => void (await endSink(sink, this.#endTimeoutMs)),
    };
  }

  async #end(timeoutMs: number): Promise<TelemetryReport> {
    this.#endTimeoutMs = timeoutMs;
    const lost = totalLost();
    const ended = (): Promise<unknown> =>
      Promise.all([this.#otlp?.shutdown(timeoutMs), this.tracerProvider.shutdown(), this.#metrics?.shutdown()]);
    const outcome = await withDeadline(ended, timeoutMs + DEADLINE_SLACK_MS);
    this.#exporter?.abort();
    await this.#exporter?.forceFlush();
    for (const undo of this.#undo) undo();
    // Not before: a process that exits until now still has its losses counted.
    this.#unhook();
    this.#sayLost();
    return this.#report(outcome === "done" && totalLost() === lost);
  }

  /** The last line: how much, by signal and reason. */
  #sayLost(): void {
    const lost = [...telemetryLost()].flatMap(([what, count]) => {
      const since = count - (this.#lostBefore.get(what) ?? 0);
      return since > 0 ? [`${since} ${what}`] : [];
    });
    if (lost.length > 0)
      diagnostics.report("telemetry.start", "lost", `telemetry lost since its start: ${lost.join(", ")}`);
  }

  #exit(): void {
    this.#jsonl?.flushSync();
    this.#otlp?.exit();
  }

  #report(complete: boolean): TelemetryReport {
    return { complete, lost: totalLost() - sum(this.#lostBefore) };
  }
}

/** False for a sink that says it still holds spans. */
function isEmpty(sink: object | undefined): boolean {
  const { pending } = (sink ?? {}) as { readonly pending?: unknown };
  return typeof pending !== "number" || pending === 0;
}

function totalLost(): number {
  return sum(telemetryLost());
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}
