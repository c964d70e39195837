/** Heartbeats of one log: it is never silent for long, and says so when the clocks moved apart. */

import { type Lapse, LineClock } from "./line-clock.ts";

export interface HeartbeatsOptions {
  /** After so much silence a heartbeat is due; 0 when none is. */
  readonly heartbeatMs: number;
  /** Adds a heartbeat's line. */
  readonly add: (lapse: Lapse) => void;
  /** The log was silent, and its heartbeat is due. When `stop` is called in here there will be none. */
  readonly silent: () => void;
  /** A heartbeat that was due to silence has been added. */
  readonly beaten: () => void;
}

export class Heartbeats {
  readonly #options: HeartbeatsOptions;
  readonly #clock: LineClock;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: HeartbeatsOptions) {
    this.#options = options;
    this.#clock = new LineClock(options.heartbeatMs);
    if (options.heartbeatMs > 0) this.#wait(options.heartbeatMs);
  }

  /** What the wall clock said when `mindTime` was called last; Unix milliseconds. */
  get wallMs(): number {
    return this.#clock.wallMs;
  }

  /** Has to be called before a line is made: says in a line of its own when the clocks moved apart, or stood, since the last. */
  mindTime(): void {
    const lapse = this.#clock.tick();
    if (lapse !== null) this.#options.add(lapse);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #wait(delayMs: number): void {
    if (!this.#stopped) this.#timer = setTimeout(() => this.#look(), delayMs).unref();
  }

  /** One timer for many lines: it only looks how long ago the last one was. */
  #look(): void {
    const { heartbeatMs, add, silent, beaten } = this.#options;
    const rest = heartbeatMs - this.#clock.silence;
    if (rest > 0) {
      this.#wait(rest);
      return;
    }
    silent();
    if (this.#stopped) return;
    add(this.#clock.beat());
    this.#wait(heartbeatMs);
    beaten();
  }
}
