/** One open log: a chain of lines in one file, under heads that are cut in time, never silent for long. */

import { unlinkSync } from "node:fs";
import { join } from "node:path";
import { canonicalJson } from "@toolspan/canonical";
import { diagnostics, ToolspanError, uuidv7 } from "@toolspan/core";
import type { Signer } from "../keys/signer.ts";
import { type Chain, SCHEMA_VERSION } from "../records/envelope.ts";
import type { SegmentClose } from "../records/segment-close.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { type Lapse, LineClock } from "./line-clock.ts";
import { forgetOpen, type OpenLog, rememberLost, rememberOpen } from "./open-logs.ts";
import { SegmentHeads } from "./segment-heads.ts";
import type { SegmentLimits } from "./segment-limits.ts";
import { type Failure, SyncedFile } from "./synced-file.ts";
import { nowText } from "./writer-identity.ts";

const HEAD_LINES = 256;
const HEAD_MS = 60_000;
/** When the next file could not be made, it is tried again after so long, or after this part of a file. */
const RETRY_MS = 60_000;
const RETRY_PART = 8;

/** A record without the parts that the log gives it. */
export interface Unchained extends Readonly<Record<string, unknown>> {
  readonly record: string;
  readonly emitted_at?: string;
}

/** What is told of receipts that nobody waits for. */
export interface ReceiptNews {
  written(receipts: number): void;
  /** So many receipts more lie under a signed head. */
  sealed(receipts: number): void;
  lost(receipts: number, error: unknown): void;
}

/** A receipt of a failed log of which nobody knows whether it is there. */
export interface Orphan {
  readonly line: string;
  /** True when it was told as written already. */
  readonly told: boolean;
}

interface KeptReceipt {
  readonly seq: number;
  readonly line: string;
}

export interface SegmentOptions {
  readonly fd: number;
  readonly folder: string;
  readonly file: string;
  readonly news: ReceiptNews;
  readonly signer: Signer | null;
  readonly limits: SegmentLimits;
  /** Told when the log has reached its size or age and no caller is there to see it; `idle` when it was silent. */
  readonly onDue: (idle: boolean) => void;
  /** Told when the log fails, of the receipts that nobody waits for. */
  readonly onOrphans: (orphans: readonly Orphan[], error: unknown) => void;
}

export class SegmentWriter implements OpenLog {
  readonly log: string = uuidv7();
  readonly file: string;
  readonly path: string;
  readonly #options: SegmentOptions;
  readonly #lines: SyncedFile;
  readonly #heads: SegmentHeads;
  readonly #clock: LineClock;
  #seq = 0;
  #prev: string | null = null;
  #unwritten = 0;
  /** Receipts that nobody waits for, until they are durable. */
  #unsure: KeptReceipt[] = [];
  #maxBytes: number;
  #aged = false;
  #headTimer: NodeJS.Timeout | undefined;
  #beatTimer: NodeJS.Timeout | undefined;
  #ageTimer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(options: SegmentOptions) {
    const { fd, folder, file, news, signer, limits } = options;
    this.file = file;
    this.path = join(folder, file);
    this.#options = options;
    this.#maxBytes = limits.maxSegmentBytes;
    this.#clock = new LineClock(limits.heartbeatMs);
    this.#lines = new SyncedFile(fd, this.path, {
      written: () => this.#nowWritten(),
      failed: (failure) => this.#nowFailed(failure),
      quiet: () => this.isDue && options.onDue(false),
    });
    this.#heads = new SegmentHeads({
      folder,
      log: this.log,
      signer,
      durable: () => this.#lines.durable,
      sealed: (receipts) => news.sealed(receipts),
    });
    this.#waitForAge(limits.maxSegmentAgeMs);
    this.#waitForSilence(limits.heartbeatMs);
    rememberOpen(this.log, this);
  }

  get failed(): boolean {
    return this.#lines.failure !== undefined;
  }

  /** True when nothing is under way that `closeNow` would overtake. */
  get idle(): boolean {
    return this.#lines.idle && !this.#heads.isCutting;
  }

  /** True when the log has reached its size or age, and may be ended without overtaking a sync. */
  get isDue(): boolean {
    if (!this.#aged && this.#lines.size < this.#maxBytes) return false;
    return !this.#lines.inPool && !this.#ended && !this.failed;
  }

  /** Lines beyond the last head. */
  get unsealed(): number {
    return this.#seq - this.#heads.size;
  }

  /** What the wall clock said when `mindTime` was called last; Unix milliseconds. */
  get wallMs(): number {
    return this.#clock.wallMs;
  }

  /** The place of the next line. */
  next(): Chain {
    return { log: this.log, seq: this.#seq, prev: this.#prev };
  }

  /** Has to be called before a line is made: says in a line of its own when the clocks moved apart, or stood, since the last. */
  mindTime(): void {
    const lapse = this.#clock.tick();
    if (lapse !== null) this.#addHeartbeat(lapse);
  }

  /** Adds a record of any kind but a receipt, whose line comes ready. */
  add(record: Unchained): void {
    const emitted_at = record.emitted_at ?? nowText();
    this.#push(canonicalJson({ ...record, schema_version: SCHEMA_VERSION, emitted_at, chain: this.next() }));
  }

  /**
   * Adds a receipt's line, which holds the place that `next` gave.
   *
   * @param kept Nobody waits for it: it is remembered until it is durable.
   * @param told It was told as written already, by another log.
   */
  addReceipt(
    line: string,
    { kept = false, told = false }: { readonly kept?: boolean; readonly told?: boolean } = {},
  ): void {
    this.#push(line);
    const seq = this.#seq - 1;
    this.#heads.addReceipt(seq);
    if (!told) this.#unwritten++; // a receipt that this very call could not take is its caller's to tell
    if (kept) this.#unsure.push({ seq, line });
    this.#headTimer ??= setTimeout(() => void this.#cutInBackground(), HEAD_MS).unref();
  }

  /** Hands all lines so far to the operating system. */
  writeOut(): void {
    this.#lines.writeOut();
  }

  /** Resolves when every line so far is durable; when that fails, as `otherwise` does. */
  async durable(otherwise?: () => Promise<void>): Promise<void> {
    try {
      await this.#lines.sync();
    } catch (error) {
      if (otherwise === undefined) throw error;
      return otherwise();
    }
    if (this.unsealed >= HEAD_LINES) void this.#cutInBackground();
  }

  /** Makes all lines durable and puts a head over them. */
  async flush(): Promise<void> {
    if (this.#ended) return;
    await this.#lines.sync();
    await this.#cut();
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
    this.#lines.syncNow();
    this.#guard(() => this.#heads.cutAtOnce());
    return { claim: this.#heads.claim(), finished: this.#finish() };
  }

  /** The next log could not be made: this one goes on for a while. */
  postpone(): void {
    this.#maxBytes = this.#lines.size + Math.ceil(this.#options.limits.maxSegmentBytes / RETRY_PART);
    if (!this.#aged) return;
    this.#aged = false;
    this.#waitForAge(RETRY_MS);
  }

  /** Gives up a log that could not be begun. */
  abandon(error: unknown): void {
    this.#lines.fail(error);
  }

  closeNow(reason: SegmentClose["reason"] = "end"): void {
    if (this.failed) return;
    try {
      if (!this.#ended) this.#end(reason, null);
      const alone = this.idle;
      this.#lines.syncNow();
      this.#guard(() => this.#heads.cutNow());
      if (alone) this.#release();
    } catch (error) {
      this.#lines.fail(error);
    }
  }

  #push(line: string): void {
    if (this.#ended) {
      throw new ToolspanError("TOOLSPAN_RECEIPT_STORE", {
        path: this.path,
        expected: "an open log",
        received: "a closed one",
      });
    }
    const leaf = this.#lines.push(line);
    this.#heads.add(leaf);
    this.#prev = leaf;
    this.#seq++;
  }

  #end(reason: SegmentClose["reason"], next: SegmentClose["next"]): void {
    this.add({ record: "segment_close", reason, next });
    this.#ended = true;
    this.#stopTimers();
  }

  async #finish(): Promise<void> {
    await this.#lines.sync();
    await this.#cut();
    this.#release();
  }

  #release(): void {
    this.#lines.close();
    this.#heads.close();
    forgetOpen(this.log);
    this.#options.signer?.logClosed?.(this.#options.folder);
  }

  async #cutInBackground(): Promise<void> {
    if (this.#heads.isCutting || this.#ended || this.failed) return;
    try {
      await this.#lines.sync();
      await this.#cut();
    } catch {
      // Whatever failed has poisoned the log, and that was told.
    }
  }

  async #cut(): Promise<void> {
    try {
      await this.#heads.cut();
    } catch (error) {
      this.#lines.fail(error);
      throw error;
    } finally {
      clearTimeout(this.#headTimer);
      this.#headTimer = undefined;
      this.#forgetDurable();
    }
  }

  #guard(cut: () => void): void {
    try {
      cut();
    } catch (error) {
      this.#lines.fail(error);
      throw error;
    }
  }

  #waitForAge(delayMs: number): void {
    this.#ageTimer = setTimeout(() => {
      this.#aged = true;
    }, delayMs).unref();
  }

  #waitForSilence(delayMs: number): void {
    if (this.#options.limits.heartbeatMs === 0) return;
    this.#beatTimer = setTimeout(() => void this.#beat(), delayMs).unref();
  }

  /** One timer for many lines: it only looks how long ago the last one was. */
  async #beat(): Promise<void> {
    if (this.#ended || this.failed) return;
    const { heartbeatMs } = this.#options.limits;
    const rest = heartbeatMs - this.#clock.silence;
    if (rest > 0) return this.#waitForSilence(rest);
    if (this.isDue) this.#options.onDue(true);
    if (this.#ended) return;
    this.#addHeartbeat(this.#clock.beat());
    this.#waitForSilence(heartbeatMs);
    await this.#cutInBackground();
  }

  #addHeartbeat(lapse: Lapse): void {
    try {
      this.add({ record: "heartbeat", ...lapse });
    } catch {
      // The log has failed, and that was told.
    }
  }

  #nowWritten(): void {
    if (this.#unwritten > 0) this.#options.news.written(this.#unwritten);
    this.#unwritten = 0;
    if (this.unsealed >= HEAD_LINES) void this.#cutInBackground();
  }

  #nowFailed({ error, displaced }: Failure): void {
    rememberLost(this.log);
    this.#options.signer?.logClosed?.(this.#options.folder);
    this.#stopTimers();
    this.#heads.close();
    this.#forgetDurable();
    const { durable, written } = this.#lines;
    const orphans = this.#unsure.map(({ seq, line }) => ({ line, told: seq < written }));
    this.#unsure = [];
    const lost = this.#unwritten - orphans.filter(({ told }) => !told).length;
    this.#unwritten = 0;
    if (lost > 0) this.#options.news.lost(lost, error);
    if (orphans.length > 0) this.#options.onOrphans(orphans, error);
    if (displaced) {
      const what = `${this.path} was cut, replaced or removed by somebody else`;
      const message = `${what}: ${durable} durable lines may be gone from it; a new log takes over`;
      diagnostics.report("receipts.local", "log_displaced", message);
    } else if (written > 0) {
      const message = `${this.path} failed after ${durable} durable lines; a new log takes over`;
      diagnostics.report("receipts.local", "log_failed", message);
    }
    if (written === 0) this.#remove();
  }

  #forgetDurable(): void {
    if (this.#unsure.length > 0) this.#unsure = this.#unsure.filter(({ seq }) => seq >= this.#lines.durable);
  }

  #remove(): void {
    try {
      unlinkSync(this.path); // nothing in it was ever claimed
    } catch {
      // It stays as an empty or torn file, which readers take for what it is.
    }
  }

  #stopTimers(): void {
    clearTimeout(this.#headTimer);
    clearTimeout(this.#beatTimer);
    clearTimeout(this.#ageTimer);
  }
}
