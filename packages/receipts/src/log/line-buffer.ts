/** Lines on their way to the file: encoded once, hashed where they lie, written together. */

import { hash } from "node:crypto";

const FIRST_BYTES = 4096;
const NEWLINE = 0x0a;
const LEAF_PREFIX = 0x00;

export class LineBuffer {
  /** The first byte belongs to no line: every line has one before it, which is 0x00 while the line is hashed. */
  #bytes = Buffer.alloc(FIRST_BYTES);
  #end = 1;
  #lines = 0;

  /** Bytes that wait. */
  get length(): number {
    return this.#end - 1;
  }

  get lines(): number {
    return this.#lines;
  }

  /** Adds a line and its newline; returns its leaf hash, lower-case hex. */
  push(line: string): string {
    const start = this.#end;
    this.#reserve(line.length * 3 + 1);
    const bytes = this.#bytes;
    const end = start + bytes.write(line, start);
    const before = bytes[start - 1] as number;
    bytes[start - 1] = LEAF_PREFIX;
    // A plain view costs less than `subarray`, which makes a Buffer.
    const hashed = new Uint8Array(bytes.buffer, bytes.byteOffset + start - 1, end - start + 1);
    const leaf = hash("sha256", hashed, "hex");
    bytes[start - 1] = before;
    bytes[end] = NEWLINE;
    this.#end = end + 1;
    this.#lines++;
    return leaf;
  }

  /** Hands over what waits; valid until the next `push`. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(1, this.#end);
    this.#end = 1;
    this.#lines = 0;
    return taken;
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#bytes.length) return;
    const larger = Buffer.alloc(Math.max(this.#bytes.length * 2, this.#end + bytes));
    this.#bytes.copy(larger, 0, 0, this.#end);
    this.#bytes = larger;
  }
}
