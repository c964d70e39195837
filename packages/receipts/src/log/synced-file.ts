/** An append-only file whose lines are written together and made durable for many callers by one sync. */

import { closeSync, fdatasync, fdatasyncSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { FilePlace } from "./file-place.ts";
import { GroupCommit } from "./group-commit.ts";
import { LineBuffer } from "./line-buffer.ts";
import { syncFolder, writeAll } from "./private-file.ts";

const fdatasyncAsync = promisify(fdatasync);

/** Lines wait in memory up to this many bytes, and no longer than `BUFFER_MS`, unless somebody waits for them. */
const BUFFER_BYTES = 65_536;
const BUFFER_MS = 100;

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

export class SyncedFile {
  readonly #fd: number;
  readonly #path: string;
  readonly #news: FileNews;
  readonly #place: FilePlace;
  readonly #commits: GroupCommit;
  readonly #buffer = new LineBuffer();
  #lines = 0;
  #written = 0;
  #bytes = 0;
  #durable = 0;
  #nameDurable = false;
  #inPool = false;
  #timer: NodeJS.Timeout | undefined;
  #failure: Failure | undefined;

  /** @param path Where `fd` was opened. */
  constructor(fd: number, path: string, news: FileNews) {
    this.#fd = fd;
    this.#path = path;
    this.#news = news;
    this.#place = new FilePlace(fd, path);
    this.#commits = new GroupCommit({
      syncNow: () => this.syncNow(),
      syncInPool: () => this.#syncInPool(),
      fail: (error) => this.fail(error),
      quiet: () => news.quiet(),
    });
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
    return this.#commits.idle;
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
    return this.#failure === undefined ? this.#commits.join() : Promise.reject(this.#failure.error);
  }

  /** As `sync`, before it returns. */
  syncNow(): void {
    this.writeOut();
    this.#guard(() => fdatasyncSync(this.#fd));
    this.#nowDurable(this.#written);
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
    this.#commits.refuse(error);
    if (!this.#inPool) this.#closeQuietly();
    this.#news.failed(this.#failure);
  }

  async #syncInPool(): Promise<void> {
    this.writeOut();
    const lines = this.#written;
    this.#inPool = true;
    try {
      await fdatasyncAsync(this.#fd);
    } finally {
      this.#inPool = false;
      if (this.#failure !== undefined) this.#closeQuietly();
    }
    this.#refuseIfDead();
    this.#nowDurable(lines);
  }

  #nowDurable(lines: number): void {
    this.#checkPlace();
    if (!this.#nameDurable) this.#guard(() => syncFolder(dirname(this.#path)));
    this.#nameDurable = true;
    this.#durable = Math.max(this.#durable, lines);
  }

  /** A descriptor can be written and synced long after its file was removed, moved away or cut; then nobody finds the lines. */
  #checkPlace(): void {
    const displacement = this.#guard(() => this.#place.displacement(this.#bytes));
    if (displacement === null) return;
    this.fail(displacement, true);
    throw displacement;
  }

  /** Nobody waits for this: who has to know is told by `failed`. */
  #writeInTime(): void {
    try {
      this.writeOut();
    } catch {
      this.#timer = undefined;
    }
  }

  #guard<T>(act: () => T): T {
    try {
      return act();
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
