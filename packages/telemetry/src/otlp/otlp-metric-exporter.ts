/** Sends collected metrics to a collector; members and values are those of an SDK push exporter. */

import { causeOf, reportLoss } from "../sinks/loss.ts";
import { type CollectedMetrics, countPoints, metricsToJson } from "./otlp-metrics.ts";
import { toldOf } from "./otlp-sink.ts";
import type { OtlpTransport } from "./otlp-transport.ts";
import { rejectedOf } from "./rejected.ts";

/** 0 is success. */
export type ExportCallback = (result: { readonly code: 0 }) => void;

export interface MetricSerializer {
  serializeRequest(metrics: CollectedMetrics): Uint8Array | undefined;
}

interface Waiting {
  readonly body: Uint8Array;
  readonly count: number;
}

const CUMULATIVE = 1;

/**
 * Answers the reader at once and sends behind it, so that no timer of the reader holds the process open; `forceFlush` waits
 * for what is under way. While one request is under way the newest collection replaces an older one that waits: metrics are
 * cumulative, so nothing is lost by that.
 */
export class OtlpMetricExporter {
  readonly #transport: OtlpTransport;
  readonly #serializer: MetricSerializer | undefined;
  #waiting: Waiting | undefined;
  #sending: Promise<void> | undefined;

  constructor(transport: OtlpTransport, serializer: MetricSerializer | undefined) {
    this.#transport = transport;
    this.#serializer = serializer;
  }

  selectAggregationTemporality(): typeof CUMULATIVE {
    return CUMULATIVE;
  }

  export(metrics: CollectedMetrics, done: ExportCallback): void {
    const count = countPoints(metrics);
    try {
      const body = this.#serializer?.serializeRequest(metrics) ?? Buffer.from(metricsToJson(metrics));
      this.#waiting = { body, count };
      this.#sending ??= this.#drain();
    } catch (thrown) {
      lose(count, "unreadable", `metrics could not be written out (${causeOf(thrown)})`);
    }
    // What is lost is said and counted here; the SDK would say it again on every interval.
    done({ code: 0 });
  }

  async forceFlush(): Promise<void> {
    const relax = this.#transport.hurry();
    await this.#sending;
    relax();
  }

  async shutdown(): Promise<void> {
    await this.forceFlush();
    this.abort();
  }

  /** Ends what is under way; it counts as lost. */
  abort(): void {
    this.#transport.abort();
  }

  /** Never rejects. */
  async #drain(): Promise<void> {
    for (let next = this.#waiting; next !== undefined; next = this.#waiting) {
      this.#waiting = undefined;
      const result = await this.#transport.send(next.body);
      if (result.sent) {
        const rejected = Math.min(rejectedOf(result.response), next.count);
        lose(rejected, "rejected", "the collector refused some data points");
      } else lose(next.count, ...toldOf(result, "the collector"));
    }
    this.#sending = undefined;
  }
}

function lose(count: number, reason: string, message: string): void {
  reportLoss({ signal: "metrics", reason, source: "telemetry.otlp", message, count });
}
