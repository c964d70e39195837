/** Writes heads: appended and synced to the file of all, then put in place of the latest. */

import { closeSync, fdatasync, fdatasyncSync, fsync, fsyncSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Signer } from "../keys/signer.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { headFiles } from "./head-files.ts";
import { type HeadNote, HeadNotes } from "./head-note.ts";
import { createPrivate, syncFolder, writeAll } from "./private-file.ts";

const fdatasyncAsync = promisify(fdatasync);
const fsyncAsync = promisify(fsync);

export class HeadWriter {
  readonly #folder: string;
  readonly #all: string;
  readonly #latest: string;
  readonly #next: string;
  #fd: number | undefined;
  readonly #notes: HeadNotes;
  #inPlace = 0;
  #sealed = 0;
  #closed = false;
  /** True while a head may lie there that never got its place. */
  #stale = false;

  constructor(folder: string, log: string, signer: Signer | null = null) {
    const { all, latest, next } = headFiles(log);
    this.#folder = folder;
    this.#notes = new HeadNotes(signer);
    this.#all = join(folder, all);
    this.#latest = join(folder, latest);
    this.#next = join(folder, next);
  }

  /** Size of the last head that is in place. */
  get size(): number {
    return this.#inPlace;
  }

  /** Size of the last signed head that is in place. */
  get sealed(): number {
    return this.#sealed;
  }

  /** Writes `head`. The caller sees to it that its lines are durable and that heads come one after another. */
  async write(head: Checkpoint): Promise<void> {
    const made = this.#notes.of(head);
    const note = made instanceof Promise ? await made : made;
    if (this.#isOvertaken(head)) return;
    const all = this.#append(note.bytes);
    await fdatasyncAsync(all);
    if (this.#isOvertaken(head)) return;
    const next = this.#create(note.bytes);
    try {
      await fsyncAsync(next);
    } finally {
      closeSync(next);
    }
    if (!this.#isOvertaken(head)) this.#putInPlace(head, note.signed);
  }

  /** As `write`, before it returns, where the signer answers at once; false where it does not. */
  writeAtOnce(head: Checkpoint): boolean {
    const made = this.#notes.of(head);
    if (made instanceof Promise) return false;
    this.#writeNow(head, made);
    return true;
  }

  /** As `write`, before it returns; unsigned where the signer cannot sign at once. */
  writeNow(head: Checkpoint): void {
    this.#writeNow(head, this.#notes.now(head));
  }

  #writeNow(head: Checkpoint, { bytes, signed }: HeadNote): void {
    fdatasyncSync(this.#append(bytes));
    const next = this.#create(bytes);
    try {
      fsyncSync(next);
    } finally {
      closeSync(next);
    }
    this.#putInPlace(head, signed);
  }

  close(): void {
    this.#closed = true;
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  /** True when a later head was written at once, by the end of the process, or the log was given up. */
  #isOvertaken(head: Checkpoint): boolean {
    return this.#closed || this.#inPlace >= head.size;
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

  #putInPlace(head: Checkpoint, signed: boolean): void {
    renameSync(this.#next, this.#latest);
    this.#stale = false;
    // Later renames need no sync: losing one leaves an earlier head, which readers accept.
    if (this.#inPlace === 0) syncFolder(this.#folder);
    this.#inPlace = head.size;
    if (signed) this.#sealed = head.size;
  }
}
