/** The sink `otlp`: finished spans to a collector, in batches bounded by count and bytes; whatever is lost is counted. */

import type { Network } from "../built-ins.ts";
import { withDeadline } from "../deadline.ts";
import { causeOf, reportLoss } from "../sinks/loss.ts";
import { isKept, type ReadableSpan, type SpanSink } from "../spans/readable-span.ts";
import { Backlog } from "./backlog.ts";
import type { OtlpLimits } from "./otlp-limits.ts";
import type { OtlpTransport, SendResult } from "./otlp-transport.ts";
import { rejectedOf } from "./rejected.ts";
import type { SpanBatch } from "./span-batch.ts";

/** Receivers refuse bodies of some MiB; one large span must not take its neighbours along. */
const MAX_BATCH_LENGTH = 512 * 1024;

export interface OtlpSinkVoice {
  /** Which part speaks of what is lost. */
  readonly source: string;
  /** Who gets the spans, in words. */
  readonly receiver: string;
  /** Hears of each loss, said or not. */
  readonly onLoss?: ((message: string) => void) | undefined;
}

const VOICE: OtlpSinkVoice = { source: "telemetry.otlp", receiver: "the collector" };

export class OtlpSink implements SpanSink {
  readonly #transport: OtlpTransport;
  readonly #limits: OtlpLimits;
  readonly #batch: SpanBatch;
  readonly #backlog: Backlog;
  readonly #voice: OtlpSinkVoice;
  #sending = false;
  #idle: (() => void)[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #ending: Promise<void> | undefined;
  #closed = false;

  constructor(
    transport: OtlpTransport,
    batch: SpanBatch,
    limits: OtlpLimits,
    { zlib }: Network,
    voice: OtlpSinkVoice = VOICE,
  ) {
    this.#transport = transport;
    this.#batch = batch;
    this.#limits = limits;
    this.#backlog = new Backlog(zlib, limits.maxHeld);
    this.#voice = voice;
  }

  /** Spans that have been taken and not yet been answered for. */
  get pending(): number {
    return this.#closed ? 0 : this.#backlog.spans + this.#batch.count;
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if (!isKept(span, this.#limits.keepErrors)) return;
    if (this.#closed) this.#lose(1, "closed", "a span ended after the sink was shut down");
    else if (this.#backlog.isFull(this.#batch.count)) {
      this.#lose(1, "queue_full", `spans end faster than ${this.#voice.receiver} takes them; some are dropped`);
    } else this.#take(span);
  }

  /** Waits until everything held has been answered for, at most the flush timeout. Never rejects. */
  async forceFlush(timeoutMs: number = this.#limits.flushTimeoutMs): Promise<void> {
    this.#seal();
    const relax = this.#transport.hurry();
    await withDeadline(() => this.#whenIdle(), timeoutMs);
    relax();
  }

  /** Flushes until the deadline, then drops, counted, what is left. */
  shutdown(timeoutMs: number = this.#limits.flushTimeoutMs): Promise<void> {
    this.#ending ??= this.#end(timeoutMs);
    return this.#ending;
  }

  /** Counts everything that has not been answered for as lost, `more` too: the process exits, and nothing more can be sent. */
  exit(more = 0): void {
    this.#lose(
      this.pending + more,
      "process_exit",
      `the process exited before ${this.#voice.receiver} had all spans; await shutdown() first`,
    );
  }

  /** Ends at once; everything that has not been answered for counts as lost. */
  abandon(): void {
    if (this.#closed) return;
    const { pending } = this;
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#lose(pending, ...toldOf(this.#transport.failure, this.#voice.receiver));
    this.#transport.abort();
    this.#backlog.clear();
  }

  async #end(timeoutMs: number): Promise<void> {
    await this.forceFlush(timeoutMs);
    // In one step: whoever asks next what was lost gets the whole number.
    this.abandon();
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
    const { count } = this.#batch;
    if (count === 0) return;
    try {
      this.#backlog.push(this.#batch.take(), count);
    } catch (thrown) {
      this.#lose(count, "unreadable", `spans could not be written out (${causeOf(thrown)})`);
    }
    if (!this.#sending) void this.#drain();
  }

  /** Sends one request after the other until none is left. Never rejects. */
  async #drain(): Promise<void> {
    this.#sending = true;
    for (let next = this.#backlog.take(); next !== undefined; next = this.#backlog.take()) {
      const result = await this.#transport.send(next.body, next.gzipped);
      if (this.#closed) break;
      this.#backlog.release(next);
      if (!result.sent) this.#lose(next.count, ...toldOf(result, this.#voice.receiver));
      else
        this.#lose(
          Math.min(rejectedOf(result.response), next.count),
          "rejected",
          `${this.#voice.receiver} took a request but refused some of its spans`,
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

  #lose(count: number, reason: string, message: string): void {
    const { source, onLoss } = this.#voice;
    reportLoss({ signal: "spans", reason, source, message, count });
    if (count > 0) onLoss?.(message);
  }
}

/** Reason and message for what was not sent. */
export function toldOf(
  result: Extract<SendResult, { readonly sent: false }>,
  receiver: string,
): [reason: string, message: string] {
  const { reason, detail } = result;
  return reason === "aborted"
    ? ["deadline", `${receiver} did not take everything before the shutdown deadline`]
    : [reason, `${receiver} did not take a request (${reason}, ${detail}); its content is lost`];
}
