/** The sink `otlp`: finished spans to a collector, in batches bounded by count and bytes; whatever is lost is counted. */

import { TraceFlags } from "@opentelemetry/api";
import { withDeadline } from "../deadline.ts";
import { causeOf, reportLoss } from "../sinks/loss.ts";
import type { ReadableSpan, SpanSink } from "../spans/readable-span.ts";
import { type Environment, readNumber } from "../start/environment.ts";
import type { OtlpTransport, SendResult } from "./otlp-transport.ts";
import type { SpanBatch } from "./span-batch.ts";

/** Receivers refuse bodies of some MiB; one large span must not take its neighbours along. */
const MAX_BATCH_LENGTH = 512 * 1024;
const MAX_HELD_LENGTH = 32 * 1024 * 1024;
const SOURCE = "telemetry.otlp";

export interface OtlpLimits {
  /** Spans of one request at most. */
  readonly maxBatch: number;
  /** Spans held at most, sent ones included until they are answered. */
  readonly maxHeld: number;
  /** How long a span may wait for others, milliseconds. */
  readonly delayMs: number;
  readonly flushTimeoutMs: number;
}

/** The limits of the batch processor's variables. @source OpenTelemetry specification, Batch Span Processor */
export function otlpLimits(env: Environment, flushTimeoutMs: number): OtlpLimits {
  return {
    maxBatch: readNumber(env, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 1) ?? 512,
    maxHeld: readNumber(env, "OTEL_BSP_MAX_QUEUE_SIZE", 1) ?? 65_536,
    delayMs: readNumber(env, "OTEL_BSP_SCHEDULE_DELAY") ?? 1000,
    flushTimeoutMs,
  };
}

interface Sealed {
  readonly body: string | Uint8Array;
  readonly count: number;
  readonly length: number;
}

export class OtlpSink implements SpanSink {
  readonly #transport: OtlpTransport;
  readonly #limits: OtlpLimits;
  readonly #batch: SpanBatch;
  #queue: Sealed[] = [];
  /** Spans and bytes that are sealed and not yet answered. */
  #held = 0;
  #heldLength = 0;
  #sending = false;
  #idle: (() => void)[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #ending: Promise<void> | undefined;
  #closed = false;

  constructor(transport: OtlpTransport, batch: SpanBatch, limits: OtlpLimits) {
    this.#transport = transport;
    this.#batch = batch;
    this.#limits = limits;
  }

  /** Spans that have been taken and not yet been answered for. */
  get pending(): number {
    return this.#held + this.#batch.count;
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return;
    if (this.#closed) this.#lose(1, "closed", "a span ended after the sink was shut down");
    else if (this.pending >= this.#limits.maxHeld || this.#heldLength >= MAX_HELD_LENGTH) {
      this.#lose(1, "queue_full", "spans end faster than the collector takes them; some are dropped");
    } else this.#take(span);
  }

  /** Waits until everything held has been answered for, at most the flush timeout. Never rejects. */
  async forceFlush(timeoutMs: number = this.#limits.flushTimeoutMs): Promise<void> {
    this.#seal();
    await withDeadline(() => this.#whenIdle(), timeoutMs);
  }

  /** Flushes until the deadline, then drops, counted, what is left. */
  shutdown(timeoutMs: number = this.#limits.flushTimeoutMs): Promise<void> {
    this.#ending ??= this.#end(timeoutMs);
    return this.#ending;
  }

  /** Counts everything that has not been answered for as lost: the process exits, and nothing more can be sent. */
  exit(): void {
    this.#lose(
      this.pending,
      "process_exit",
      "the process exited before the collector had all spans; await shutdown() first",
    );
  }

  async #end(timeoutMs: number): Promise<void> {
    await this.forceFlush(timeoutMs);
    this.#closed = true;
    this.#transport.abort();
    // What is under way counts itself when it is aborted.
    const left = this.#queue.reduce((sum, { count }) => sum + count, this.#batch.count);
    this.#queue = [];
    this.#lose(left, "deadline", "the collector did not take everything before the shutdown deadline");
  }

  #take(span: ReadableSpan): void {
    const batch = this.#batch;
    try {
      if (!batch.add(span, MAX_BATCH_LENGTH)) {
        this.#seal();
        batch.add(span, MAX_BATCH_LENGTH);
      }
    } catch (thrown) {
      this.#lose(1, "unreadable", `a span could not be written out (${causeOf(thrown)})`);
      return;
    }
    if (batch.count >= this.#limits.maxBatch || batch.length >= MAX_BATCH_LENGTH) this.#seal();
    else this.#schedule();
  }

  #schedule(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => this.#seal(), this.#limits.delayMs);
    this.#timer.unref();
  }

  #seal(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { count, length } = this.#batch;
    if (count === 0) return;
    try {
      this.#queue.push({ body: this.#batch.take(), count, length });
      this.#held += count;
      this.#heldLength += length;
    } catch (thrown) {
      this.#lose(count, "unreadable", `spans could not be written out (${causeOf(thrown)})`);
    }
    if (!this.#sending) void this.#drain();
  }

  /** Sends one batch after the other until none is left. Never rejects. */
  async #drain(): Promise<void> {
    this.#sending = true;
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      const { body, count, length } = next;
      const result = await this.#transport.send(body);
      this.#release(count, length);
      if (!result.sent) this.#lose(count, ...toldOf(result));
      else
        this.#lose(
          rejectedOf(result.response),
          "rejected",
          "the collector took a request but refused some of its spans",
        );
    }
    this.#sending = false;
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  }

  #whenIdle(): Promise<void> {
    return this.#sending ? new Promise((resolve) => this.#idle.push(resolve)) : Promise.resolve();
  }

  #release(count: number, length: number): void {
    this.#held -= count;
    this.#heldLength -= length;
  }

  #lose(count: number, reason: string, message: string): void {
    reportLoss({ signal: "spans", reason, source: SOURCE, message, count });
  }
}

/** Reason and message for what was not sent. */
export function toldOf(result: Extract<SendResult, { readonly sent: false }>): [reason: string, message: string] {
  const { reason, detail } = result;
  return reason === "aborted"
    ? ["deadline", "the collector did not take everything before the shutdown deadline"]
    : [reason, `the collector did not take a request (${reason}, ${detail}); its content is lost`];
}

/** How many items a partial success refused; 0 where the answer does not say. */
export function rejectedOf(response: string): number {
  if (!response.includes("rejected")) return 0;
  try {
    const { partialSuccess } = JSON.parse(response) as { partialSuccess?: Record<string, unknown> };
    const rejected = Number(partialSuccess?.rejectedSpans ?? partialSuccess?.rejectedDataPoints ?? 0);
    return Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0;
  } catch {
    return 0; // not JSON: it says nothing that could be counted
  }
}
