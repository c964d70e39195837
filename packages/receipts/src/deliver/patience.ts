/** Gives up when nothing has happened for a while; holds the process meanwhile, since somebody waits for the end. */

/** Long enough for no reader to notice, and within a timer's range. */
const HOLD_MS = 2 ** 30;

export class Patience {
  readonly #ms: number | null;
  readonly #giveUp: () => void;
  #timer: NodeJS.Timeout;

  /** @param ms Null to wait for ever. */
  constructor(ms: number | null, giveUp: () => void) {
    this.#ms = ms;
    this.#giveUp = giveUp;
    this.#timer = this.#start();
  }

  /** Something has happened. */
  renew(): void {
    clearTimeout(this.#timer);
    this.#timer = this.#start();
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  #start(): NodeJS.Timeout {
    return this.#ms === null ? setInterval(() => {}, HOLD_MS) : setTimeout(this.#giveUp, this.#ms);
  }
}
