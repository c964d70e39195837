/** Receipts on their way to somebody else's function or sink. */

import type { Sink } from "@toolspan/core";
import type { ToolCallReceipt } from "./records/receipt.ts";

/** A function that takes receipts; when it returns a promise, that promise says whether the receipt was taken. */
export type ReceiptFunction = (receipt: ToolCallReceipt) => void | Promise<void>;

export class FunctionOutlet {
  readonly #sink: ReceiptFunction | Sink<ToolCallReceipt>;
  readonly #pending = new Set<Promise<void>>();

  constructor(sink: ReceiptFunction | Sink<ToolCallReceipt>) {
    this.#sink = sink;
  }

  /** Hands the receipt over now. Returns a promise only where the sink does; throws and rejects as the sink does. */
  give(receipt: ToolCallReceipt): void | Promise<void> {
    const answer = typeof this.#sink === "function" ? this.#sink(receipt) : this.#sink.export(receipt);
    if (answer === undefined || answer === null) return;
    const taken = Promise.resolve(answer);
    this.#pending.add(taken);
    const done = (): unknown => this.#pending.delete(taken);
    taken.then(done, done);
    return taken;
  }

  /** Waits for what was handed over; a rejection is told to whoever gave that receipt, not here. */
  async flush(): Promise<void> {
    await Promise.allSettled([...this.#pending]);
    if (typeof this.#sink !== "function") await this.#sink.forceFlush();
  }

  async close(): Promise<void> {
    await this.flush();
    if (typeof this.#sink !== "function") await this.#sink.shutdown();
  }
}
