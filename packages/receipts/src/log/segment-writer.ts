/** One open log: a chain of lines in one file, under heads that are cut in time. */

import { unlinkSync } from "node:fs";
import { join } from "node:path";
import { canonicalJson } from "@toolspan/canonical";
import { diagnostics, ToolspanError, uuidv7 } from "@toolspan/core";
import type { Signer } from "../keys/signer.ts";
import { type Chain, SCHEMA_VERSION } from "../records/envelope.ts";
import type { SegmentClose } from "../records/segment-close.ts";
import { HeadWriter } from "./head-writer.ts";
import { MerkleTree } from "./merkle.ts";
import { forgetOpen, type OpenLog, rememberLost, rememberOpen } from "./open-logs.ts";
import { SyncedFile } from "./synced-file.ts";
import { nowText } from "./writer-identity.ts";

const HEAD_LINES = 256;
const HEAD_MS = 60_000;

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

export class SegmentWriter implements OpenLog {
  readonly log: string = uuidv7();
  readonly file: string;
  readonly path: string;
  readonly #lines: SyncedFile;
  readonly #heads: HeadWriter;
  readonly #news: ReceiptNews;
  readonly #folder: string;
  readonly #signer: Signer | null;
  /** Places of receipts that no signed head covers; kept where there is a signer. */
  #unsealed: number[] = [];
  readonly #tree = new MerkleTree();
  /** Leaf hashes that the tree does not have yet, in order. */
  #leaves: string[] = [];
  #seq = 0;
  #prev: string | null = null;
  #unwritten = 0;
  #cutting: Promise<void> | undefined;
  #headTimer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(fd: number, folder: string, file: string, news: ReceiptNews, signer: Signer | null = null) {
    this.file = file;
    this.path = join(folder, file);
    this.#news = news;
    this.#folder = folder;
    this.#signer = signer;
    this.#heads = new HeadWriter(folder, this.log, signer);
    this.#lines = new SyncedFile(fd, this.path, {
      written: () => this.#nowWritten(),
      failed: (error) => this.#nowFailed(error),
    });
    rememberOpen(this.log, this);
  }

  get failed(): boolean {
    return this.#lines.failure !== undefined;
  }

  /** True when nothing is under way that `closeNow` would overtake. */
  get idle(): boolean {
    return this.#lines.idle && this.#cutting === undefined;
  }

  /** Lines beyond the last head. */
  get unsealed(): number {
    return this.#seq - this.#heads.size;
  }

  /** The place of the next line. */
  next(): Chain {
    return { log: this.log, seq: this.#seq, prev: this.#prev };
  }

  /** Adds a record of any kind but a receipt, whose line comes ready. */
  add(record: Unchained): void {
    const emitted_at = record.emitted_at ?? nowText();
    this.#push(canonicalJson({ ...record, schema_version: SCHEMA_VERSION, emitted_at, chain: this.next() }));
  }

  /** Adds a receipt's line, which holds the place that `next` gave. */
  addReceipt(line: string): void {
    this.#push(line);
    if (this.#signer !== null) this.#unsealed.push(this.#seq - 1);
    this.#unwritten++; // a receipt that this very call could not take is its caller's to tell
    this.#headTimer ??= setTimeout(() => void this.#cutInBackground(), HEAD_MS).unref();
  }

  /** Resolves when every line so far is durable. */
  async durable(): Promise<void> {
    await this.#lines.sync();
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
    this.#end(reason);
    await this.#lines.sync();
    await this.#cut();
    this.#release();
  }

  closeNow(reason: SegmentClose["reason"] = "end"): void {
    if (this.failed) return;
    try {
      if (!this.#ended) this.#end(reason);
      const alone = this.idle;
      this.#lines.syncNow();
      this.#plant();
      if (this.#heads.size < this.#tree.size) this.#heads.writeNow(this.#head());
      this.#nowSealed();
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
    this.#leaves.push(leaf);
    this.#prev = leaf;
    this.#seq++;
  }

  #end(reason: SegmentClose["reason"]): void {
    this.add({ record: "segment_close", reason, next: null });
    this.#ended = true;
    clearTimeout(this.#headTimer);
  }

  #release(): void {
    this.#lines.close();
    this.#heads.close();
    forgetOpen(this.log);
    this.#signer?.logClosed?.(this.#folder);
  }

  async #cutInBackground(): Promise<void> {
    if (this.#cutting !== undefined || this.#ended || this.failed) return;
    try {
      await this.#lines.sync();
      await this.#cut();
    } catch {
      // Whatever failed has poisoned the log, and that was told.
    }
  }

  /** Puts a head over the durable lines; one at a time. */
  async #cut(): Promise<void> {
    while (this.#cutting !== undefined) await this.#cutting;
    this.#plant();
    if (this.#heads.size >= this.#tree.size) return;
    this.#cutting = this.#heads.write(this.#head());
    try {
      await this.#cutting;
      this.#nowSealed();
    } catch (error) {
      this.#lines.fail(error);
      throw error;
    } finally {
      this.#cutting = undefined;
      clearTimeout(this.#headTimer);
      this.#headTimer = undefined;
    }
  }

  /** Gives the tree the leaves of durable lines. */
  #plant(): void {
    const ready = this.#lines.durable - this.#tree.size;
    if (ready <= 0) return;
    for (const leaf of this.#leaves.splice(0, ready)) this.#tree.add(leaf);
  }

  #head(): { log: string; size: number; root: string } {
    return { log: this.log, size: this.#tree.size, root: this.#tree.root() };
  }

  /** Tells of receipts that the last head has sealed. */
  #nowSealed(): void {
    const first = this.#unsealed.findIndex((seq) => seq >= this.#heads.sealed);
    const receipts = first === -1 ? this.#unsealed.length : first;
    if (receipts === 0) return;
    this.#unsealed = this.#unsealed.slice(receipts);
    this.#news.sealed(receipts);
  }

  #nowWritten(): void {
    if (this.#unwritten > 0) this.#news.written(this.#unwritten);
    this.#unwritten = 0;
    if (this.unsealed >= HEAD_LINES) void this.#cutInBackground();
  }

  #nowFailed(error: unknown): void {
    rememberLost(this.log);
    this.#signer?.logClosed?.(this.#folder);
    clearTimeout(this.#headTimer);
    this.#heads.close();
    if (this.#unwritten > 0) this.#news.lost(this.#unwritten, error);
    this.#unwritten = 0;
    if (this.#lines.written > 0) {
      const message = `${this.path} failed after ${this.#lines.durable} durable lines; a new log takes over`;
      diagnostics.report("receipts.local", "log_failed", message);
      return;
    }
    try {
      unlinkSync(this.path); // nothing in it was ever claimed
    } catch {
      // It stays as an empty or torn file, which readers take for what it is.
    }
  }
}
