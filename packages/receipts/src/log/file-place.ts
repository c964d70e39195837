/** Whether a file that was opened still lies at its path, with what was written to it and nothing else. */

import { fstatSync, lstatSync } from "node:fs";
import { ToolspanError } from "@toolspan/core";

export class FilePlace {
  readonly #path: string;
  readonly #device: number;
  readonly #inode: number;

  /** @param path Where `fd` was opened. */
  constructor(fd: number, path: string) {
    const { dev, ino } = fstatSync(fd);
    this.#path = path;
    this.#device = dev;
    this.#inode = ino;
  }

  /** Null when the file of `bytes` bytes is there; else the error that says what is there instead. Throws what the file system says. */
  displacement(bytes: number): ToolspanError | null {
    const found = lstatSync(this.#path, { throwIfNoEntry: false });
    const same = found?.ino === this.#inode && found.dev === this.#device;
    if (same && found?.size === bytes) return null;
    const expected = same ? `the ${bytes} bytes that were written` : "the log that was opened there";
    const received = same ? `${found?.size} bytes` : found === undefined ? "nothing" : "another file";
    return new ToolspanError("TOOLSPAN_RECEIPT_STORE", { path: this.#path, expected, received });
  }
}
