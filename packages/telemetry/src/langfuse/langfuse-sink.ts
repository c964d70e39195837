/** The sink `langfuse`: finished spans through Langfuse's own processor to Langfuse, in batches, what is lost counted. */

import { TraceFlags } from "@opentelemetry/api";
import { diagnostics } from "@toolspan/core";
import { neededNetwork } from "../built-ins.ts";
import { SCOPE_NAME } from "../names.ts";
import * as check from "../observer/options-check.ts";
import { otlpLimits } from "../otlp/otlp-limits.ts";
import { OtlpSink } from "../otlp/otlp-sink.ts";
import { OtlpTransport } from "../otlp/otlp-transport.ts";
import { JsonBatch } from "../otlp/span-batch.ts";
import { reportLoss } from "../sinks/loss.ts";
import type { ReadableSpan, SpanOrigin, SpanSink } from "../spans/readable-span.ts";
import { processEnvironment } from "../start/environment.ts";
import { atProcessEnd } from "../start/process-end.ts";
import { type LangfusePeer, langfusePeer } from "./langfuse-peer.ts";
import { type LangfuseOptions, type LangfuseSettings, langfuseSettings } from "./langfuse-settings.ts";
import { toObservation } from "./to-observation.ts";

const SUBJECT = "langfuseSink";
const SOURCE = "telemetry.langfuse";
const PATH = "/api/public/otel/v1/traces";
/** Longest wait after a signal, as that of `startTelemetry`. */
const SIGNAL_FLUSH_MS = 1500;
const RETRY_MS = 300_000;
/** Spans that may be inside the processor: it passes each on a few steps of the event loop later. */
const MAX_INSIDE = 65_536;

export interface LangfuseSink extends SpanSink {
  /** Why nothing is sent; null where everything needed is there. */
  readonly problem: string | null;
  /** Spans that have been taken and not yet been answered for. */
  readonly pending: number;
}

const CHECKS: Readonly<Record<keyof LangfuseOptions, check.Check>> = {
  baseUrl: check.text,
  publicKey: check.text,
  secretKey: check.text,
  project: check.text,
  environment: check.text,
  release: check.text,
  tags: check.texts,
  timeoutMs: check.atLeast(1, "milliseconds"),
  flushTimeoutMs: check.atLeast(0, "milliseconds"),
  env: check.anObject,
};

/**
 * Sends finished spans to Langfuse: a tool call is an observation of type `tool`, its layers lie under it, a model call is a
 * `generation`, a run an `agent`; trace and span ids are those of every other sink.
 *
 * Give it to `withTelemetry` as a sink, or by name (`withTelemetry("langfuse")`); the host's SDK is left as it is, and no
 * provider is registered. Spans pass through `LangfuseSpanProcessor` of `@langfuse/otel`; media upload is off. Arguments and
 * results are sent with content capture alone. What is held is also sent when the process has nothing left to do. Without `baseUrl` and both keys nothing is sent anywhere: that is said once.
 *
 * @throws TOOLSPAN_MISSING_PEER when made, where `@langfuse/otel` or one of its peers (OpenTelemetry 2.x) is not installed;
 *   TOOLSPAN_INVALID_OPTION for an unknown or wrong option.
 */
export function langfuseSink(options: LangfuseOptions = {}): LangfuseSink {
  check.checkOptions(SUBJECT, options, CHECKS);
  return createLangfuseSink(options, SUBJECT);
}

export interface LangfuseSinkHooks {
  /** Hears of each loss, said or not. */
  readonly onLoss?: (message: string) => void;
  /** Whether SIGINT and SIGTERM wait for what is held; then they do what they would have done. Default false. */
  readonly signals?: boolean;
}

/** As `langfuseSink`, for options that have been checked. */
export function createLangfuseSink(
  options: LangfuseOptions,
  subject: string,
  { onLoss, signals = false }: LangfuseSinkHooks = {},
): LangfuseSink {
  const peer = langfusePeer(subject);
  const settings = langfuseSettings(options);
  if (typeof settings !== "string") return new ProcessorSink(settings, peer, options, onLoss, signals);
  const problem = `Langfuse gets no spans: ${settings}`;
  diagnostics.report(SOURCE, "not_configured", problem);
  return new SilentSink(problem);
}

class ProcessorSink implements LangfuseSink {
  readonly problem = null;
  readonly #settings: LangfuseSettings;
  readonly #processor: SpanSink;
  readonly #isWanted: (span: ReadableSpan) => boolean;
  readonly #out: OtlpSink;
  /** Longest wait of a flush; at the end, what is left of the deadline. */
  #flushTimeoutMs: number;
  readonly #signals: boolean;
  #inside = 0;
  #closed = false;
  /** Set once there is something to flush when the process ends. */
  #unhook: (() => void) | undefined;

  constructor(
    settings: LangfuseSettings,
    peer: LangfusePeer,
    { env }: LangfuseOptions,
    onLoss: ((message: string) => void) | undefined,
    signals: boolean,
  ) {
    const { baseUrl, publicKey, secretKey, timeoutMs, flushTimeoutMs } = settings;
    const network = neededNetwork(SUBJECT);
    const limits = otlpLimits(env ?? processEnvironment(), flushTimeoutMs);
    const transport = new OtlpTransport(transportSettings(settings, peer.version), network);
    this.#settings = settings;
    this.#signals = signals;
    // The processor's own filter passes nothing but `gen_ai.*`, and would drop the layers.
    this.#isWanted = (span) => span.instrumentationScope.name === SCOPE_NAME || peer.isDefaultExportSpan(span);
    this.#flushTimeoutMs = flushTimeoutMs;
    this.#out = new OtlpSink(transport, new JsonBatch(), limits, network, {
      source: SOURCE,
      receiver: "Langfuse",
      onLoss,
    });
    this.#processor = new peer.LangfuseSpanProcessor({
      baseUrl,
      publicKey,
      secretKey,
      timeout: timeoutMs / 1000,
      mediaUploadEnabled: false,
      exportMode: "immediate",
      // What gets here has been chosen already, and is counted: it must come out again.
      shouldExportSpan: () => true,
      exporter: {
        export: (spans, done) => {
          this.#inside -= spans.length;
          for (const span of spans) this.#out.onEnd(span);
          done({ code: 0 });
        },
        forceFlush: () => this.#out.forceFlush(this.#flushTimeoutMs),
        shutdown: () => this.#out.shutdown(0),
      },
    });
  }

  get pending(): number {
    return this.#inside + this.#out.pending;
  }

  onStart(): void {}

  onEnd(span: ReadableSpan, origin?: SpanOrigin): void {
    if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0 || !this.#isWanted(span)) return;
    if (this.#closed) {
      const message = "a span ended after the sink was shut down";
      reportLoss({ signal: "spans", reason: "closed", source: SOURCE, message });
      return;
    }
    if (this.#inside >= MAX_INSIDE) {
      const message = "spans end faster than Langfuse's processor takes them; some are dropped";
      reportLoss({ signal: "spans", reason: "queue_full", source: SOURCE, message });
      return;
    }
    this.#inside += 1;
    this.#unhook ??= atProcessEnd({
      // A signal leaves no later moment to count what is lost.
      end: (isLast) => (isLast ? this.shutdown(SIGNAL_FLUSH_MS) : this.forceFlush()),
      exit: () => this.#out.exit(this.#inside),
      signals: this.#signals,
      crash: false,
    });
    this.#processor.onEnd(toObservation(span, origin, this.#settings));
  }

  forceFlush(): Promise<void> {
    return this.#processor.forceFlush();
  }

  async shutdown(timeoutMs: number = this.#settings.flushTimeoutMs): Promise<void> {
    this.#flushTimeoutMs = timeoutMs;
    // The processor waits for the spans inside it before it ends its exporter.
    await this.#processor.forceFlush();
    this.#closed = true;
    this.#out.abandon();
    await this.#processor.shutdown();
    // Not before: a process that exits until now still has its losses counted.
    this.#unhook?.();
  }
}

/** Stands where something that is needed is missing: counts, and sends nothing. */
class SilentSink implements LangfuseSink {
  readonly problem: string;
  readonly pending = 0;

  constructor(problem: string) {
    this.problem = problem;
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return;
    reportLoss({ signal: "spans", reason: "not_configured", source: SOURCE, message: this.problem });
  }

  async forceFlush(): Promise<void> {}

  async shutdown(): Promise<void> {}
}

/** The address and headers that the processor would use itself. */
function transportSettings(
  { baseUrl, publicKey, secretKey, timeoutMs }: LangfuseSettings,
  version: string,
): ConstructorParameters<typeof OtlpTransport>[0] {
  return {
    url: new URL(`${baseUrl}${PATH}`),
    headers: {
      Authorization: `Basic ${Buffer.from(`${publicKey}:${secretKey}`).toString("base64")}`,
      "x-langfuse-sdk-name": "javascript",
      "x-langfuse-sdk-version": version,
      "x-langfuse-public-key": publicKey,
    },
    contentType: "application/json",
    timeoutMs,
    retryMs: RETRY_MS,
    gzip: false,
    tls: {},
  };
}
