/** Core's meter port on the provider that is registered when something is measured, which may be later than when the dispatcher is made. */

import type { MeterProvider } from "@opentelemetry/api";
import type { Attributes, Meter } from "@toolspan/core";
import { type Instruments, instrumentsOf } from "./instruments.ts";

interface WaitingGauge {
  readonly name: string;
  readonly read: () => number;
}

/** A gauge that finds no provider waits for the first measurement that does. */
export class LateMeter implements Meter {
  readonly #provider: MeterProvider | undefined;
  readonly #waiting = new Map<WaitingGauge, (forget: () => void) => void>();

  constructor(provider: MeterProvider | undefined) {
    this.#provider = provider;
  }

  add(name: string, value: number, attributes?: Attributes): void {
    this.#instruments()?.add(name, value, attributes);
  }

  record(name: string, value: number, attributes?: Attributes): void {
    this.#instruments()?.record(name, value, attributes);
  }

  gauge(name: string, read: () => number): () => void {
    const gauge: WaitingGauge = { name, read };
    let forget = (): void => void this.#waiting.delete(gauge);
    this.#waiting.set(gauge, (registered) => {
      forget = registered;
    });
    this.#instruments();
    return () => forget();
  }

  #instruments(): Instruments | null {
    const instruments = instrumentsOf(this.#provider);
    if (instruments === null || this.#waiting.size === 0) return instruments;
    for (const [{ name, read }, settle] of this.#waiting) settle(instruments.gauge(name, read));
    this.#waiting.clear();
    return instruments;
  }
}
