/** Brings records to an endpoint and decides what became of each: delivered, parked, or still to be sent. */

import { diagnostics } from "@toolspan/core";
import type { DeliveryEndpoint } from "./delivery-endpoint.ts";
import type { Answer } from "./otlp-answer.ts";
import { sendRecords } from "./otlp-transport.ts";
import { pause } from "./pause.ts";
import { type RetryLimits, RetryWaits } from "./retry-waits.ts";

const SOURCE = "receipts.delivery";

/** What is carried: `record` is an OTLP log record as JSON text. */
export interface Cargo {
  readonly record: string;
  readonly bytes: number;
}

/** Told of what became of records, in their order. Resolves once that is remembered. */
export interface CargoBook<T extends Cargo> {
  delivered(items: readonly T[]): Promise<void>;
  parked(items: readonly T[], reason: string): Promise<void>;
  /** The endpoint cannot be had, and will be asked again. */
  waiting?(reason: string, ms: number): void;
}

/** Bytes around the records of a request. */
const ENVELOPE_BYTES = 256;

export class Courier {
  readonly #endpoint: DeliveryEndpoint;
  readonly #waits: RetryWaits;
  /** Becomes smaller where the endpoint takes no more. */
  #maxBytes: number;

  constructor(endpoint: DeliveryEndpoint, limits?: RetryLimits) {
    this.#endpoint = endpoint;
    this.#waits = new RetryWaits(limits);
    this.#maxBytes = Math.max(1, endpoint.maxBatchBytes - endpoint.resource.length - ENVELOPE_BYTES);
  }

  /** About how many bytes of records one request should hold. */
  get room(): number {
    return this.#maxBytes;
  }

  /**
   * Delivers `items`, or parks those that are refused for good; repeats until there is an answer.
   *
   * A partial success says how many were refused and not which: nothing of it counts as delivered, and the halves are sent on their own, down to single records.
   *
   * @returns False when `signal` fired first: what was not told to `book` is to be sent again.
   */
  async carry<T extends Cargo>(items: readonly T[], book: CargoBook<T>, signal: AbortSignal): Promise<boolean> {
    const answer = await this.#send(items, book, signal);
    if (answer === null) return false;
    switch (answer.kind) {
      case "accepted":
        if (answer.warning !== null) {
          const message = `${this.#endpoint.id}: accepted, with a warning: ${printable(answer.warning)}`;
          diagnostics.report(SOURCE, "endpoint_warning", message);
        }
        await book.delivered(items);
        return true;
      case "refused":
        await this.#park(items, `status ${answer.status}`, book);
        return true;
      case "too_large":
        if (items.length === 1) await this.#park(items, "too_large", book);
        else this.#shrink(items);
        return items.length === 1 || this.#carryHalves(items, book, signal);
      case "partial":
        if (items.length > 1 && !answer.all) return this.#carryHalves(items, book, signal);
        await this.#park(items, "partial_success", book);
        return true;
    }
  }

  async #carryHalves<T extends Cargo>(items: readonly T[], book: CargoBook<T>, signal: AbortSignal): Promise<boolean> {
    const middle = Math.ceil(items.length / 2);
    const first = await this.carry(items.slice(0, middle), book, signal);
    return first && this.carry(items.slice(middle), book, signal);
  }

  /** The answer that decides; null when `signal` fired. */
  async #send<T extends Cargo>(
    items: readonly T[],
    book: CargoBook<T>,
    signal: AbortSignal,
  ): Promise<Exclude<Answer, { readonly kind: "again" }> | null> {
    const records = items.map(({ record }) => record);
    for (;;) {
      if (signal.aborted) return null;
      const answer = await sendRecords(this.#endpoint, records, signal);
      if (answer.kind !== "again") {
        this.#waits.reset();
        return answer;
      }
      if (signal.aborted) return null;
      const ms = this.#waits.next(answer.afterMs);
      const message = `${this.#endpoint.id} cannot be had (${answer.reason}); what waits stays in the logs and is sent again`;
      diagnostics.report(SOURCE, "endpoint_away", message);
      book.waiting?.(answer.reason, ms);
      if (!(await pause(ms, signal))) return null;
    }
  }

  async #park<T extends Cargo>(items: readonly T[], reason: string, book: CargoBook<T>): Promise<void> {
    const message = `${this.#endpoint.id} refuses records (${reason}); they are kept in its dead-letter file`;
    diagnostics.report(SOURCE, "parked", message);
    await book.parked(items, reason);
  }

  #shrink(items: readonly Cargo[]): void {
    const bytes = items.reduce((sum, item) => sum + item.bytes, 0);
    this.#maxBytes = Math.max(1, Math.min(this.#maxBytes, Math.ceil(bytes / 2)));
  }
}

/** What an endpoint says may be anything; this is one line that no terminal obeys. */
function printable(text: string): string {
  return text.slice(0, 200).replace(/[^\x20-\x7e]/g, "?");
}
