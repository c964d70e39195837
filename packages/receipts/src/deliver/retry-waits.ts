/** How long to wait before a request is repeated: longer each time, scattered, and never less than the endpoint asks for. */

export interface RetryLimits {
  readonly firstMs: number;
  readonly maxMs: number;
}

const LIMITS: RetryLimits = { firstMs: 500, maxMs: 30_000 };

export class RetryWaits {
  readonly #limits: RetryLimits;
  #next: number;

  constructor(limits: RetryLimits = LIMITS) {
    this.#limits = limits;
    this.#next = limits.firstMs;
  }

  /** Milliseconds until the next attempt. An endpoint that asks for none gets none earlier than this would be anyway. */
  next(askedMs: number | null): number {
    const own = this.#next * (0.5 + Math.random() / 2);
    this.#next = Math.min(this.#next * 2, this.#limits.maxMs);
    return Math.max(own, askedMs ?? 0);
  }

  /** After an answer that was one. */
  reset(): void {
    this.#next = this.#limits.firstMs;
  }
}
