/** Logs that end in the background, so many at a time. */

import type { SegmentWriter } from "./segment-writer.ts";

/** More than this many logs closing at a time would hold too many descriptors; then one is closed at once. */
const MAX_CLOSING = 32;

export class ClosingLogs {
  readonly #closing = new Set<Promise<void>>();

  /** One promise for each log that is still ending. None of them rejects. */
  get pending(): readonly Promise<void>[] {
    return [...this.#closing];
  }

  /** Closes a log that has to make room. */
  evict(writer: SegmentWriter): void {
    if (writer.failed) return;
    if (this.#closing.size >= MAX_CLOSING && writer.idle) writer.closeNow("evicted");
    else this.track(writer.close("evicted"));
  }

  /** Lets a log end that does so already. */
  track(ending: Promise<void>): void {
    const closing = ending.catch(() => {
      // The log has failed, and that was told.
    });
    this.#closing.add(closing);
    void closing.then(() => this.#closing.delete(closing));
  }
}
