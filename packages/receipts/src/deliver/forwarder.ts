/** The forwarder of a running program: delivers in the background what its logs hold, and never fails a call. */

import { diagnostics, type Meter, noopMeter } from "@toolspan/core";
import { countDeadLetters } from "./dead-letters.ts";
import { Delivery } from "./delivery.ts";
import type { DeliveryEndpoint } from "./delivery-endpoint.ts";
import { pause } from "./pause.ts";
import { type RetryLimits, RetryWaits } from "./retry-waits.ts";
import type { Waiting } from "./spool.ts";

const SOURCE = "receipts.delivery";
const HEADS = "toolspan.receipts.heads";
const SPOOL_BYTES = "toolspan.receipts.spool.bytes";
const OLDEST_AGE = "toolspan.receipts.spool.oldest_age";

/** Receipts that come together travel together. */
const GATHER_MS = 200;
/** Heads are cut, and other writers write, without a word to us. */
const TICK_MS = 2000;
/** How often somebody who waits for another sender looks at what that one has done. */
const LOOK_MS = 100;

/** What an endpoint has not answered for. It stays in the logs, and whoever delivers next sends it. */
export interface Undelivered extends Waiting {
  /** Name of the endpoint's folder under `<state root>/delivery/`. */
  readonly endpoint: string;
  /** Records in the endpoint's dead-letter file: it has refused them for good. They are sent again by `toolspan export --dead-letters` alone. */
  readonly deadLetters: number;
}

export class Forwarder {
  readonly #delivery: Delivery;
  readonly #endpoint: DeliveryEndpoint;
  #meter: Meter = noopMeter;
  #forgetGauges: () => void = () => {};
  #stop: AbortController | null = null;
  #ended: Promise<void> = Promise.resolve();
  /** Those who wait for the next whole pass. */
  #waiters: (() => void)[] = [];
  /** True when the last pass met something else than the endpoint's being away, such as a full disk. */
  #trouble = false;
  readonly #waits: RetryWaits;
  #wake: () => void = () => {};
  #woken = false;

  /** @throws TOOLSPAN_RECEIPT_STORE when the endpoint's folder cannot be made. */
  constructor(root: string, endpoint: DeliveryEndpoint, retry?: RetryLimits) {
    this.#endpoint = endpoint;
    this.#waits = new RetryWaits(retry);
    this.#delivery = new Delivery(
      root,
      endpoint,
      { anchored: (heads) => this.#meter.add(HEADS, heads, { level: "anchored" }) },
      retry,
    );
  }

  useMeter(meter: Meter): void {
    this.#meter = meter;
    this.#forgetGauges();
    const forget = [
      meter.gauge(SPOOL_BYTES, () => this.#delivery.spoolBytes),
      meter.gauge(OLDEST_AGE, () => ageOf(this.#delivery.oldestAt)),
    ];
    this.#forgetGauges = () => {
      for (const one of forget) one();
    };
  }

  /** There is something new. */
  wake(): void {
    this.#woken = true;
    if (this.#stop === null) this.#start();
    else this.#wake();
  }

  /**
   * Delivers what is durable now, at most for `timeoutMs`.
   *
   * @returns What is left. Rejects only where that cannot be read.
   */
  async flush(timeoutMs: number): Promise<Undelivered> {
    await this.#passed(timeoutMs);
    const deadLetters = await countDeadLetters(this.#delivery.folder);
    const left = { endpoint: this.#endpoint.id, ...(await this.#delivery.waiting()), deadLetters };
    if (left.lines + left.heads > 0) {
      const message = `${left.endpoint}: ${left.lines} lines and ${left.heads} heads were not delivered in time; they stay in the logs`;
      diagnostics.report(SOURCE, "undelivered", message);
    }
    if (deadLetters > 0) {
      const message = `${left.endpoint}: ${deadLetters} records were refused for good and lie in its dead-letter file; toolspan export --dead-letters sends them again`;
      diagnostics.report(SOURCE, "dead_letters", message);
    }
    return left;
  }

  /** As `flush`, then ends. `wake` begins anew. */
  async close(timeoutMs: number): Promise<Undelivered> {
    try {
      return await this.flush(timeoutMs);
    } finally {
      // They are read once more, while the lock that knows what is left is ours.
      this.#forgetGauges();
      this.#forgetGauges = () => {};
      this.#stop?.abort();
      this.#stop = null;
      await this.#ended;
    }
  }

  #start(): void {
    const stop = new AbortController();
    this.#stop = stop;
    this.#ended = this.#ended.then(() => this.#run(stop.signal));
  }

  #passed(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      // A timer that holds the process: somebody waits.
      const timer = setTimeout(resolve, Math.max(0, timeoutMs));
      this.#waiters.push(() => {
        clearTimeout(timer);
        resolve();
      });
      this.wake();
    });
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const served = this.#waiters;
      this.#waiters = [];
      this.#woken = false;
      if (await this.#deliver(served.length > 0, signal)) {
        for (const serve of served) serve();
        if (this.#waiters.length === 0) await this.#idle(signal);
      } else {
        this.#waiters.unshift(...served);
        await this.#idle(signal, this.#trouble ? this.#waits.next(null) : LOOK_MS);
      }
    }
    this.#release();
  }

  /** True when nothing is left that was there when it began; `asked` when somebody waits to know it. */
  async #deliver(asked: boolean, signal: AbortSignal): Promise<boolean> {
    this.#trouble = false;
    try {
      if (this.#delivery.take() === null) {
        const done = await this.#delivery.pass(signal);
        this.#waits.reset();
        return done;
      }
      if (!asked) return true;
      const { lines, heads } = await this.#delivery.waiting();
      return lines + heads === 0;
    } catch (error) {
      const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
      const message = `${this.#endpoint.id}: delivery has stopped (${String(code ?? name)}) and is tried again`;
      diagnostics.report(SOURCE, "delivery_failed", message);
      // What was sent and could not be noted is sent again: not too often.
      this.#trouble = true;
      this.#release();
      return false;
    }
  }

  /** Until there is something to do. */
  async #idle(signal: AbortSignal, leastMs = 0): Promise<void> {
    if (leastMs > 0) await pause(leastMs, signal);
    if (this.#waiters.length > 0) return;
    if (!this.#woken) {
      const woken = new AbortController();
      this.#wake = () => woken.abort();
      signal.addEventListener("abort", this.#wake);
      await pause(TICK_MS, woken.signal);
      signal.removeEventListener("abort", this.#wake);
      this.#wake = () => {};
    }
    if (this.#woken && this.#waiters.length === 0) await pause(GATHER_MS, signal);
  }

  #release(): void {
    try {
      this.#delivery.release();
    } catch {
      // A lock whose holder is gone is taken over.
    }
  }
}

function ageOf(at: number | null): number {
  return at === null ? 0 : Math.max(0, (Date.now() - at) / 1000);
}
