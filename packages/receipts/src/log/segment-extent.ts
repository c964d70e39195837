/** Whether a log has reached its size or age, so that the next one is due. */

import type { SegmentLimits } from "./segment-limits.ts";

/** When the next file could not be made, it is tried again after so long, or after this part of a file. */
const RETRY_MS = 60_000;
const RETRY_PART = 8;

export class SegmentExtent {
  readonly #limits: SegmentLimits;
  #maxBytes: number;
  #aged = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: SegmentLimits) {
    this.#limits = limits;
    this.#maxBytes = limits.maxSegmentBytes;
    this.#waitForAge(limits.maxSegmentAgeMs);
  }

  /** True for a log of `bytes` bytes that has reached its size, or any that has reached its age. */
  isReached(bytes: number): boolean {
    return this.#aged || bytes >= this.#maxBytes;
  }

  /** The next log could not be made: this one, of `bytes` bytes, goes on for a while. */
  postpone(bytes: number): void {
    this.#maxBytes = bytes + Math.ceil(this.#limits.maxSegmentBytes / RETRY_PART);
    if (!this.#aged) return;
    this.#aged = false;
    this.#waitForAge(RETRY_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #waitForAge(delayMs: number): void {
    this.#timer = setTimeout(() => {
      this.#aged = true;
    }, delayMs).unref();
  }
}
