/** Sinks that are flushed and ended together: none waits for another, none hides another's failure, all share one deadline. */

import { diagnostics } from "@toolspan/core";
import { type Outcome, withDeadline } from "../deadline.ts";
import { causeOf } from "./loss.ts";

/** What can be flushed and ended. */
export interface Flushable {
  forceFlush(): Promise<unknown>;
  /** `timeoutMs` is the time that is left. */
  shutdown(timeoutMs?: number): Promise<unknown>;
}

/** Sinks keep the deadline themselves, and count what it cuts off; this much later nobody waits for them any more. */
const SLACK_MS = 100;
/** A close this soon after a flush is the same end: a dispatcher flushes everybody before it closes anybody. */
const SAME_END_MS = 1000;

export class SinkGroup {
  readonly #sinks: readonly Flushable[];
  readonly #timeoutMs: number;
  /** When the last flush ended, and how long it took. */
  #flushed = { at: Number.NEGATIVE_INFINITY, took: 0 };

  constructor(sinks: readonly Flushable[], timeoutMs: number) {
    this.#sinks = sinks;
    this.#timeoutMs = timeoutMs;
  }

  /** Ends at the deadline at the latest. Never rejects. */
  async flush(timeoutMs: number = this.#timeoutMs): Promise<void> {
    const started = performance.now();
    await Promise.all(this.#sinks.map((sink) => flushSink(sink, timeoutMs)));
    const at = performance.now();
    this.#flushed = { at, took: at - started };
  }

  /** Flushes and ends each sink within one deadline, that of a flush just before included. Never rejects. */
  async close(): Promise<void> {
    const now = performance.now();
    const { at, took } = this.#flushed;
    const until = now + this.#timeoutMs - (now - at < SAME_END_MS ? took : 0);
    const left = (): number => Math.max(0, until - performance.now());
    await this.flush(left());
    await Promise.all(this.#sinks.map((sink) => endSink(sink, left())));
  }
}

/** Waits for a sink's flush, at most `timeoutMs` and a little; says once where it fails or hangs. Never rejects. */
export function flushSink(sink: Pick<Flushable, "forceFlush">, timeoutMs: number): Promise<Outcome> {
  return heard("flush", () => sink.forceFlush(), timeoutMs);
}

/** As `flushSink`, for the end of a sink. */
export function endSink(sink: Pick<Flushable, "shutdown">, timeoutMs: number): Promise<Outcome> {
  return heard("shutdown", () => sink.shutdown(timeoutMs), timeoutMs);
}

async function heard(what: "flush" | "shutdown", work: () => Promise<unknown>, timeoutMs: number): Promise<Outcome> {
  let why = "it did not end in time";
  const outcome = await withDeadline(async () => {
    try {
      await work();
    } catch (thrown) {
      why = causeOf(thrown);
      throw thrown;
    }
  }, timeoutMs + SLACK_MS);
  if (outcome !== "done")
    diagnostics.report(
      "telemetry.sink",
      `${what}_${outcome}`,
      `the ${what} of a telemetry sink failed (${why}); what it held may be lost, the other sinks went on`,
    );
  return outcome;
}
