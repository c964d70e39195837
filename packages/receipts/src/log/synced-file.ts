/** An append-only file whose lines are written together and made durable for many callers by one sync. */

import { closeSync, fdatasync, fdatasyncSync, fstatSync, lstatSync, type Stats } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { ToolspanError } from "@toolspan/core";
import { LineBuffer } from "./line-buffer.ts";
import { syncFolder, writeAll } from "./private-file.ts";

const fdatasyncAsync = promisify(fdatasync);

/** Lines wait in memory up to this many bytes, and no longer than `BUFFER_MS`, unless somebody waits for them. */
const BUFFER_BYTES = 65_536;
const BUFFER_MS = 100;
/** Every so many lone commits one goes through the pool, to see whether others come meanwhile. */
const PROBE_EVERY = 16;
/** A disk slower than this must not hold up the event loop. */
const SLOW_SYNC_MS = 2;

export interface FileNews {
  /** All lines so far were accepted by the operating system. */
  written(): void;
  /** The descriptor is dead; nothing that was not durable before may be relied on. */
  failed(failure: Failure): void;
  /** A group has been served, the next one waits and is not under way yet. */
  quiet(): void;
}

export interface Failure {
  readonly error: unknown;
  /** True when the file is not the one any more that was written: even durable lines may be gone. */
  readonly displaced: boolean;
}

interface Waiter {
  resolve(): void;
  reject(error: unknown): void;
}

export class SyncedFile {
  readonly #fd: number;
  readonly #path: string;
  readonly #device: number;
  readonly #inode: number;
  readonly #news: FileNews;
  readonly #buffer = new LineBuffer();
  #lines = 0;
  #written = 0;
  #bytes = 0;
  #durable = 0;
  #nameDurable = false;
  #waiters: Waiter[] = [];
  #committing = false;
  #inPool = false;
  #timer: NodeJS.Timeout | undefined;
  #loneCommits = 0;
  #crowded = false;
  #slow = false;
  #failure: Failure | undefined;

  /** @param path Where `fd` was opened. */
  constructor(fd: number, path: string, news: FileNews) {
    const { dev, ino } = fstatSync(fd);
    this.#fd = fd;
    this.#path = path;
    this.#device = dev;
    this.#inode = ino;
    this.#news = news;
  }

  /** Lines that the operating system has accepted. */
  get written(): number {
    return this.#written;
  }

  get durable(): number {
    return this.#durable;
  }

  /** Bytes of all lines, those that wait included. */
  get size(): number {
    return this.#bytes + this.#buffer.length;
  }

  get failure(): Failure | undefined {
    return this.#failure;
  }

  /** True when no group is under way. */
  get idle(): boolean {
    return !this.#committing;
  }

  /** True while another thread syncs; what that finds is not known yet, so nothing may be concluded from a sync of one's own. */
  get inPool(): boolean {
    return this.#inPool;
  }

  /** Takes a line; returns its leaf hash. */
  push(line: string): string {
    this.#refuseIfDead();
    const leaf = this.#buffer.push(line);
    this.#lines++;
    if (this.#buffer.length >= BUFFER_BYTES) this.writeOut();
    else this.#timer ??= setTimeout(() => this.#writeInTime(), BUFFER_MS).unref();
    return leaf;
  }

  /** Resolves when every line so far is durable. */
  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure.error);
      this.#waiters.push({ resolve, reject });
      if (this.#committing) return;
      this.#committing = true;
      // One turn of microtasks: callers that were released together come back together.
      queueMicrotask(() => void this.#commit());
    });
  }

  /** As `sync`, before it returns. */
  syncNow(): void {
    this.writeOut();
    const started = performance.now();
    this.#guard(() => fdatasyncSync(this.#fd));
    this.#nowDurable(this.#written);
    this.#slow = performance.now() - started > SLOW_SYNC_MS;
  }

  /** Hands all lines to the operating system. */
  writeOut(): void {
    this.#refuseIfDead();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#buffer.length === 0) return;
    const bytes = this.#buffer.take();
    this.#guard(() => writeAll(this.#fd, bytes));
    this.#bytes += bytes.length;
    this.#written = this.#lines;
    this.#news.written();
  }

  close(): void {
    clearTimeout(this.#timer);
    closeSync(this.#fd);
  }

  /** Poison rule: after an error of a write or a sync nothing more is asked of the descriptor. */
  fail(error: unknown, displaced = false): void {
    if (this.#failure !== undefined) return;
    this.#failure = { error, displaced };
    clearTimeout(this.#timer);
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { reject } of waiters) reject(error);
    if (!this.#inPool) this.#closeQuietly();
    this.#news.failed(this.#failure);
  }

  async #commit(): Promise<void> {
    while (this.#waiters.length > 0) {
      const served = this.#waiters;
      this.#waiters = [];
      try {
        if (this.#mayHoldUp(served.length)) this.syncNow();
        else await this.#syncInPool();
      } catch (error) {
        this.fail(error);
        for (const { reject } of served) reject(error);
        break;
      }
      for (const { resolve } of served) resolve();
      // Those that were just served may bring their next line before the next group is closed.
      if (this.#crowded) await new Promise<void>((resolve) => setImmediate(resolve));
      if (this.#waiters.length > 0) this.#news.quiet();
    }
    this.#committing = false;
  }

  /** A lone caller is served fastest in this thread, as long as nobody else is held up by it. */
  #mayHoldUp(waiting: number): boolean {
    if (waiting > 1 || this.#crowded || this.#slow) return false;
    this.#loneCommits++;
    return this.#loneCommits % PROBE_EVERY !== 0;
  }

  async #syncInPool(): Promise<void> {
    this.writeOut();
    const lines = this.#written;
    const started = performance.now();
    this.#inPool = true;
    try {
      await fdatasyncAsync(this.#fd);
    } finally {
      this.#inPool = false;
      if (this.#failure !== undefined) this.#closeQuietly();
    }
    this.#refuseIfDead();
    this.#nowDurable(lines);
    this.#slow = performance.now() - started > SLOW_SYNC_MS * 2;
    this.#crowded = this.#waiters.length > 0;
  }

  #nowDurable(lines: number): void {
    this.#checkPlace();
    if (!this.#nameDurable) this.#guard(() => syncFolder(dirname(this.#path)));
    this.#nameDurable = true;
    this.#durable = Math.max(this.#durable, lines);
  }

  /** A descriptor can be written and synced long after its file was removed, moved away or cut; then nobody finds the lines. */
  #checkPlace(): void {
    let found: Stats | undefined;
    this.#guard(() => {
      found = lstatSync(this.#path, { throwIfNoEntry: false });
    });
    const same = found?.ino === this.#inode && found.dev === this.#device;
    if (same && found?.size === this.#bytes) return;
    const expected = same ? `the ${this.#bytes} bytes that were written` : "the log that was opened there";
    const received = same ? `${found?.size} bytes` : found === undefined ? "nothing" : "another file";
    const error = new ToolspanError("TOOLSPAN_RECEIPT_STORE", { path: this.#path, expected, received });
    this.fail(error, true);
    throw error;
  }

  /** Nobody waits for this: who has to know is told by `failed`. */
  #writeInTime(): void {
    try {
      this.writeOut();
    } catch {
      this.#timer = undefined;
    }
  }

  #guard(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.fail(error);
      throw error;
    }
  }

  #refuseIfDead(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #closeQuietly(): void {
    try {
      closeSync(this.#fd);
    } catch {
      // A dead descriptor has nothing left to say.
    }
  }
}
