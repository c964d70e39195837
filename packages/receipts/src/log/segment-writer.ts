/** One open log, from its first line to its last: records go in, it is never silent for long, and says when it is full. */

import { join } from "node:path";
import { ToolspanError, uuidv7 } from "@toolspan/core";
import type { Chain } from "../records/envelope.ts";
import type { SegmentClose } from "../records/segment-close.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { settleFailed } from "./failed-segment.ts";
import { Heartbeats } from "./heartbeats.ts";
import type { Lapse } from "./line-clock.ts";
import { forgetOpen, type OpenLog, rememberLost, rememberOpen } from "./open-logs.ts";
import { PendingReceipts, type ReceiptCare } from "./pending-receipts.ts";
import { recordLine, type Unchained } from "./record-line.ts";
import { SealedChain } from "./sealed-chain.ts";
import { SegmentExtent } from "./segment-extent.ts";
import type { SegmentOptions } from "./segment-options.ts";
import type { Failure } from "./synced-file.ts";

export class SegmentWriter implements OpenLog {
  readonly log: string = uuidv7();
  readonly file: string;
  readonly path: string;
  readonly #options: SegmentOptions;
  readonly #chain: SealedChain;
  readonly #receipts: PendingReceipts;
  readonly #extent: SegmentExtent;
  readonly #heartbeats: Heartbeats;
  #ended = false;

  constructor(options: SegmentOptions) {
    const { fd, folder, file, news, signer, limits, onDue, onOrphans } = options;
    this.file = file;
    this.path = join(folder, file);
    this.#options = options;
    this.#receipts = new PendingReceipts(news, onOrphans);
    this.#chain = new SealedChain(
      { fd, path: this.path, log: this.log, signer },
      {
        written: () => this.#receipts.nowWritten(),
        durable: (lines) => this.#receipts.nowDurable(lines),
        sealed: (receipts) => news.sealed(receipts),
        quiet: () => this.isDue && onDue(false),
        failed: (failure) => this.#nowFailed(failure),
      },
    );
    this.#extent = new SegmentExtent(limits);
    this.#heartbeats = new Heartbeats({
      heartbeatMs: limits.heartbeatMs,
      add: (lapse) => this.#addHeartbeat(lapse),
      silent: () => this.isDue && onDue(true),
      beaten: () => void this.#chain.cutInBackground(),
    });
    rememberOpen(this.log, this);
  }

  get failed(): boolean {
    return this.#chain.file.failure !== undefined;
  }

  /** True when nothing is under way that `closeNow` would overtake. */
  get idle(): boolean {
    return this.#chain.idle;
  }

  /** True when the log has reached its size or age, and may be ended without overtaking a sync. */
  get isDue(): boolean {
    const { size, inPool } = this.#chain.file;
    return this.#extent.isReached(size) && !inPool && !this.#ended && !this.failed;
  }

  /** Lines beyond the last head. */
  get unsealed(): number {
    return this.#chain.unsealed;
  }

  /** What the wall clock said when `mindTime` was called last; Unix milliseconds. */
  get wallMs(): number {
    return this.#heartbeats.wallMs;
  }

  /** The place of the next line. */
  next(): Chain {
    return this.#chain.next();
  }

  /** Has to be called before a line is made: says in a line of its own when the clocks moved apart, or stood, since the last. */
  mindTime(): void {
    this.#heartbeats.mindTime();
  }

  /** Adds a record of any kind but a receipt, whose line comes ready. */
  add(record: Unchained): void {
    this.#refuseIfEnded();
    this.#chain.push(recordLine(record, this.next()));
  }

  /** Adds a receipt's line, which holds the place that `next` gave. What throws here is the caller's to tell. */
  addReceipt(line: string, care: ReceiptCare = {}): void {
    this.#refuseIfEnded();
    this.#receipts.add(this.#chain.pushReceipt(line), line, care);
  }

  /** Hands all lines so far to the operating system. */
  writeOut(): void {
    this.#chain.writeOut();
  }

  /** Resolves when every line so far is durable; when that fails, as `otherwise` does. */
  async durable(otherwise?: () => Promise<void>): Promise<void> {
    try {
      await this.#chain.sync();
    } catch (error) {
      if (otherwise === undefined) throw error;
      return otherwise();
    }
    this.#chain.cutIfMany();
  }

  /** Makes all lines durable and puts a head over them. */
  async flush(): Promise<void> {
    if (!this.#ended) await this.#chain.cut();
  }

  /** Writes the closing line, syncs, cuts the last head. */
  async close(reason: SegmentClose["reason"]): Promise<void> {
    if (this.#ended || this.failed) return;
    this.#end(reason, null);
    await this.#finish();
  }

  /**
   * Ends the log in favour of `next`. When this returns its lines are durable and its last head is in place; where the signer takes its time, the head follows.
   *
   * @returns What the next log may say of this one.
   */
  retire(next: SegmentClose["next"]): { readonly claim: Checkpoint; readonly finished: Promise<void> } {
    this.#end("rotated", next);
    const claim = this.#chain.cutAtOnce();
    return { claim, finished: this.#finish() };
  }

  /** The next log could not be made: this one goes on for a while. */
  postpone(): void {
    this.#extent.postpone(this.#chain.file.size);
  }

  /** Gives up a log that could not be begun. */
  abandon(error: unknown): void {
    this.#chain.fail(error);
  }

  closeNow(reason: SegmentClose["reason"] = "end"): void {
    if (this.failed) return;
    try {
      if (!this.#ended) this.#end(reason, null);
      const alone = this.idle;
      this.#chain.cutNow();
      if (alone) this.#release();
    } catch (error) {
      this.#chain.fail(error);
    }
  }

  #refuseIfEnded(): void {
    if (!this.#ended) return;
    const facts = { path: this.path, expected: "an open log", received: "a closed one" };
    throw new ToolspanError("TOOLSPAN_RECEIPT_STORE", facts);
  }

  #addHeartbeat(lapse: Lapse): void {
    try {
      this.add({ record: "heartbeat", ...lapse });
    } catch {
      // The log has failed, and that was told.
    }
  }

  #end(reason: SegmentClose["reason"], next: SegmentClose["next"]): void {
    this.mindTime();
    this.add({ record: "segment_close", reason, next });
    this.#ended = true;
    this.#stopTimers();
  }

  async #finish(): Promise<void> {
    await this.#chain.cut();
    this.#release();
  }

  #release(): void {
    this.#chain.close();
    forgetOpen(this.log);
    this.#options.signer?.logClosed?.(this.#options.folder);
  }

  #nowFailed({ error, displaced }: Failure): void {
    const { written, durable } = this.#chain.file;
    rememberLost(this.log);
    this.#options.signer?.logClosed?.(this.#options.folder);
    this.#stopTimers();
    this.#receipts.nowDurable(durable);
    this.#receipts.nowLost(written, error);
    settleFailed({ path: this.path, written, durable, displaced });
  }

  #stopTimers(): void {
    this.#extent.stop();
    this.#heartbeats.stop();
    this.#chain.stop();
  }
}
