/** Writes heads: appended and synced to the file of all, then put in place of the latest. */

import { closeSync, fdatasync, fdatasyncSync, fsync, fsyncSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Checkpoint, checkpointText } from "./checkpoint.ts";
import { headFiles } from "./head-files.ts";
import { createPrivate, syncFolder, writeAll } from "./private-file.ts";

const fdatasyncAsync = promisify(fdatasync);
const fsyncAsync = promisify(fsync);

export class HeadWriter {
  readonly #folder: string;
  readonly #all: string;
  readonly #latest: string;
  readonly #next: string;
  #fd: number | undefined;
  #inPlace = 0;
  /** True while a head may lie there that never got its place. */
  #stale = false;

  constructor(folder: string, log: string) {
    const { all, latest, next } = headFiles(log);
    this.#folder = folder;
    this.#all = join(folder, all);
    this.#latest = join(folder, latest);
    this.#next = join(folder, next);
  }

  /** Size of the last head that is in place. */
  get size(): number {
    return this.#inPlace;
  }

  /** Writes `head`. The caller sees to it that its lines are durable and that heads come one after another. */
  async write(head: Checkpoint): Promise<void> {
    const text = Buffer.from(checkpointText(head));
    const all = this.#append(text);
    await fdatasyncAsync(all);
    if (this.#inPlace >= head.size) return; // a later head was written at once, by the end of the process
    const next = this.#create(text);
    try {
      await fsyncAsync(next);
    } finally {
      closeSync(next);
    }
    if (this.#inPlace < head.size) this.#putInPlace(head);
  }

  /** As `write`, before it returns. */
  writeNow(head: Checkpoint): void {
    const text = Buffer.from(checkpointText(head));
    fdatasyncSync(this.#append(text));
    const next = this.#create(text);
    try {
      fsyncSync(next);
    } finally {
      closeSync(next);
    }
    this.#putInPlace(head);
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #append(text: Buffer): number {
    this.#fd ??= createPrivate(this.#all);
    writeAll(this.#fd, text);
    return this.#fd;
  }

  #create(text: Buffer): number {
    if (this.#stale) rmSync(this.#next, { force: true });
    this.#stale = true;
    const fd = createPrivate(this.#next);
    try {
      writeAll(fd, text);
      return fd;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  #putInPlace(head: Checkpoint): void {
    renameSync(this.#next, this.#latest);
    this.#stale = false;
    // Later renames need no sync: losing one leaves an earlier head, which readers accept.
    if (this.#inPlace === 0) syncFolder(this.#folder);
    this.#inPlace = head.size;
  }
}
