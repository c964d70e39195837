/** What a dispatcher still has open after a result has left: deferred receipts and running streams. */

import type { RecorderReply } from "../ports/recorder.ts";
import type { Deferred } from "./ask-recorders.ts";
import { MAX_DELAY_MS, type ToolStream } from "./tool-stream.ts";

export class OpenWork implements Deferred {
  readonly #receipts = new Set<Promise<void>>();
  readonly #streams = new Set<ToolStream>();
  #firstFailure: { readonly error: unknown } | undefined;

  /** Takes a reply that never rejects. */
  add(reply: Promise<RecorderReply>): void {
    const noted = reply.then(({ failure }) => {
      this.#firstFailure ??= failure;
    });
    const done = noted.then(() => void this.#receipts.delete(done));
    this.#receipts.add(done);
  }

  addStream(stream: ToolStream): void {
    this.#streams.add(stream);
    void stream.settled.then(() => this.#streams.delete(stream));
  }

  /** Waits for deferred receipts; rejects with the first failure since the last call. */
  async drain(): Promise<void> {
    while (this.#receipts.size > 0) await Promise.all(this.#receipts);
    const failure = this.#firstFailure;
    this.#firstFailure = undefined;
    if (failure !== undefined) throw failure.error;
  }

  /** Gives running streams `timeoutMs` to close, then abandons them. */
  async settleStreams(timeoutMs: number): Promise<void> {
    if (this.#streams.size === 0) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const deadline = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, Math.min(timeoutMs, MAX_DELAY_MS));
    });
    await Promise.race([Promise.all([...this.#streams].map(({ settled }) => settled)), deadline]);
    clearTimeout(timer);
    await Promise.all([...this.#streams].map((stream) => stream.abandon()));
  }
}
