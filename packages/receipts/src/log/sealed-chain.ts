/** The lines of one log: each is chained to the one before it, made durable, and put under a head in time. */

import { dirname } from "node:path";
import type { Signer } from "../keys/signer.ts";
import type { Chain } from "../records/envelope.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { SegmentHeads } from "./segment-heads.ts";
import { type FileNews, SyncedFile } from "./synced-file.ts";

const HEAD_LINES = 256;
const HEAD_MS = 60_000;

export interface ChainOptions {
  readonly fd: number;
  readonly path: string;
  readonly log: string;
  readonly signer: Signer | null;
}

export interface ChainNews extends FileNews {
  /** The first `lines` lines are durable, and a head over them was tried. */
  durable(lines: number): void;
  /** So many receipts more lie under a signed head. */
  sealed(receipts: number): void;
}

export class SealedChain {
  readonly #log: string;
  readonly #news: ChainNews;
  readonly #lines: SyncedFile;
  readonly #heads: SegmentHeads;
  #seq = 0;
  #prev: string | null = null;
  #headTimer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor({ fd, path, log, signer }: ChainOptions, news: ChainNews) {
    this.#log = log;
    this.#news = news;
    this.#lines = new SyncedFile(fd, path, {
      written: () => {
        news.written();
        this.cutIfMany();
      },
      failed: (failure) => {
        this.stop();
        this.#heads.close();
        news.failed(failure);
      },
      quiet: () => news.quiet(),
    });
    this.#heads = new SegmentHeads({
      folder: dirname(path),
      log,
      signer,
      durable: () => this.#lines.durable,
      sealed: (receipts) => news.sealed(receipts),
    });
  }

  /** The file under the lines: how far it has come, and whether it failed. */
  get file(): Pick<SyncedFile, "written" | "durable" | "size" | "failure" | "inPool"> {
    return this.#lines;
  }

  /** True when nothing is under way that `cutNow` would overtake. */
  get idle(): boolean {
    return this.#lines.idle && !this.#heads.isCutting;
  }

  /** Lines beyond the last head. */
  get unsealed(): number {
    return this.#heads.unsealed;
  }

  /** The place of the next line. */
  next(): Chain {
    return { log: this.#log, seq: this.#seq, prev: this.#prev };
  }

  /** Adds a line that holds the place which `next` gave. */
  push(line: string): void {
    const leaf = this.#lines.push(line);
    this.#heads.add(leaf);
    this.#prev = leaf;
    this.#seq++;
  }

  /** As `push`, for a receipt: it gets its head within a minute. Returns its place. */
  pushReceipt(line: string): number {
    this.push(line);
    this.#headTimer ??= setTimeout(() => void this.cutInBackground(), HEAD_MS).unref();
    const seq = this.#seq - 1;
    this.#heads.addReceipt(seq);
    return seq;
  }

  /** Hands all lines so far to the operating system. */
  writeOut(): void {
    this.#lines.writeOut();
  }

  /** Resolves when every line so far is durable. */
  sync(): Promise<void> {
    return this.#lines.sync();
  }

  /** Cuts a head in the background when many lines are without. */
  cutIfMany(): void {
    if (this.unsealed >= HEAD_LINES) void this.cutInBackground();
  }

  /** Makes all lines durable and puts a head over them. */
  async cut(): Promise<void> {
    await this.#lines.sync();
    try {
      await this.#heads.cut();
    } catch (error) {
      this.fail(error);
      throw error;
    } finally {
      clearTimeout(this.#headTimer);
      this.#headTimer = undefined;
      this.#news.durable(this.#lines.durable);
    }
  }

  /** As `cut`, unless one is under way already or cutting was stopped. Never rejects. */
  async cutInBackground(): Promise<void> {
    if (this.#heads.isCutting || this.#stopped) return;
    try {
      await this.cut();
    } catch {
      // Whatever failed has poisoned the log, and that was told.
    }
  }

  /** As `cut`, before it returns, where the signer answers at once; else the lines are durable and without a head. */
  cutAtOnce(): Checkpoint {
    this.#cutNow(() => this.#heads.cutAtOnce());
    return this.#heads.claim();
  }

  /** As `cut`, before it returns; unsigned where the signer cannot sign at once. */
  cutNow(): void {
    this.#cutNow(() => this.#heads.cutNow());
  }

  /** From now on heads are cut only when somebody asks. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#headTimer);
  }

  /** Gives up the log: nothing more is asked of its descriptor. */
  fail(error: unknown): void {
    this.#lines.fail(error);
  }

  close(): void {
    this.#lines.close();
    this.#heads.close();
  }

  #cutNow(cut: () => void): void {
    this.#lines.syncNow();
    try {
      cut();
    } catch (error) {
      this.fail(error);
      throw error;
    }
  }
}
