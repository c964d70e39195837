/** When a run must end early: its caller's signal and its deadline, as one signal that knows which of them it was. */

import { abortError, onAbort, timeoutError } from "./abort.ts";

export type AbortCause = "aborted" | "deadline";

/** The signal of one call, and how to let go of it. */
export interface CallSignal {
  readonly signal: AbortSignal | undefined;
  release(): void;
}

export class RunSignal {
  readonly #controller: AbortController | undefined;
  readonly #deadlineAt: number;
  readonly #releases: (() => void)[] = [];
  #cause: AbortCause | undefined;

  constructor(caller: AbortSignal | undefined, deadlineMs: number | undefined) {
    this.#deadlineAt = deadlineMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + deadlineMs;
    if (caller === undefined && deadlineMs === undefined) return;
    this.#controller = new AbortController();
    if (deadlineMs !== undefined) {
      const timer = setTimeout(() => this.#passDeadline(), deadlineMs);
      this.#releases.push(() => clearTimeout(timer));
    }
    this.#releases.push(onAbort(caller, (reason) => this.#fire("aborted", abortError("the run was aborted", reason))));
  }

  /** Undefined where nothing can end the run early. */
  get signal(): AbortSignal | undefined {
    return this.#controller?.signal;
  }

  /** What ended the run, if anything did; looks at the clock too, since a busy process delays timers. */
  get cause(): AbortCause | undefined {
    if (this.#cause === undefined && performance.now() >= this.#deadlineAt) this.#passDeadline();
    return this.#cause;
  }

  /** A signal that fires with this one, or as a timeout after `timeoutMs` milliseconds. */
  forCall(timeoutMs: number | undefined): CallSignal {
    if (timeoutMs === undefined) return { signal: this.signal, release: () => {} };
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(timeoutError(`no answer within ${timeoutMs} ms`)), timeoutMs);
    const unlink = onAbort(this.signal, (reason) => controller.abort(reason));
    return {
      signal: controller.signal,
      release: () => {
        clearTimeout(timer);
        unlink();
      },
    };
  }

  /** Lets go of timer and caller's signal. */
  release(): void {
    for (const release of this.#releases) release();
  }

  #passDeadline(): void {
    this.#fire("deadline", abortError("the run's deadline passed"));
  }

  #fire(cause: AbortCause, reason: Error): void {
    if (this.#cause !== undefined) return;
    this.#cause = cause;
    this.#controller?.abort(reason);
  }
}
