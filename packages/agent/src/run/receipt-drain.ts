/** Waiting for deferred receipts, shared by all runs of a dispatcher: it tells of a failure once, and all of them must stop. */

import type { Dispatcher } from "@toolspan/core";
import type { RunStop } from "./run-stop.ts";

const drains = new WeakMap<Dispatcher, ReceiptDrain>();

export class ReceiptDrain {
  readonly #dispatcher: Dispatcher;
  readonly #runs = new Set<RunStop>();

  private constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
  }

  static of(dispatcher: Dispatcher): ReceiptDrain {
    const drain = drains.get(dispatcher) ?? new ReceiptDrain(dispatcher);
    drains.set(dispatcher, drain);
    return drain;
  }

  /** From now on a failure stops this run; returns how to leave. */
  join(stop: RunStop): () => void {
    this.#runs.add(stop);
    return () => void this.#runs.delete(stop);
  }

  /** Resolves when every receipt that was open is written, or has stopped the runs. */
  async wait(): Promise<void> {
    try {
      await this.#dispatcher.drain();
    } catch (error) {
      for (const run of this.#runs) run.say("receipt_failed", error);
    }
  }
}
