/** A sink of span records, guarded: what it throws or rejects is counted and said once. */

import type { ObservedOutcome, Sink, TraceRef } from "@toolspan/core";
import { type RecordOptions, type ToolCallSpan, toToolCallSpan } from "../spans/tool-call-span.ts";
import { causeOf, reportLoss } from "./loss.ts";

/** Hears of a record that did not reach its sink. */
export type OnTelemetryError = (message: string, span: ToolCallSpan) => void;

export class RecordTarget {
  readonly options: RecordOptions;
  readonly #sink: Sink<ToolCallSpan>;
  readonly #onError: OnTelemetryError | undefined;
  #pending = 0;
  #waiting: (() => void)[] = [];

  constructor(sink: Sink<ToolCallSpan>, options: RecordOptions, onError: OnTelemetryError | undefined) {
    this.#sink = sink;
    this.options = options;
    this.#onError = onError;
  }

  /** Hands over the record of `outcome`. Never throws, never waits. */
  export(outcome: ObservedOutcome, trace: TraceRef | null): void {
    let span: ToolCallSpan;
    try {
      span = toToolCallSpan(outcome, trace, this.options);
    } catch (thrown) {
      reportLoss({
        signal: "records",
        reason: "unreadable",
        source: "telemetry.sink",
        message: `a span record could not be made (${causeOf(thrown)}); the call went on`,
      });
      return;
    }
    try {
      const answer: unknown = this.#sink.export(span);
      if (isThenable(answer)) this.#follow(answer, span);
    } catch (thrown) {
      this.#failed(thrown, span);
    }
  }

  /** Resolves when every record handed over so far has been taken or refused. */
  async forceFlush(): Promise<void> {
    if (this.#pending > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    await this.#sink.forceFlush();
  }

  async shutdown(): Promise<void> {
    await this.#sink.shutdown();
  }

  #follow(answer: PromiseLike<unknown>, span: ToolCallSpan): void {
    this.#pending += 1;
    const settled = (): void => {
      this.#pending -= 1;
      if (this.#pending > 0) return;
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const resolve of waiting) resolve();
    };
    Promise.resolve(answer).then(settled, (thrown: unknown) => {
      this.#failed(thrown, span);
      settled();
    });
  }

  #failed(thrown: unknown, span: ToolCallSpan): void {
    const message = `a telemetry sink failed (${causeOf(thrown)}); the call went on`;
    reportLoss({ signal: "records", reason: "sink_failed", source: "telemetry.sink", message });
    try {
      this.#onError?.(message, span);
    } catch {
      // Whoever is told of failures has failed: it stays counted.
    }
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
