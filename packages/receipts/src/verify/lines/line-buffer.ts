/** Bytes as they come, given back as lines, each hashable where it lies. */

import { hash } from "node:crypto";
import { readSync } from "node:fs";

const NEWLINE = 0x0a;

/** One line; its bytes are valid until the next one. */
export interface Line {
  readonly bytes: Buffer;
  /** RFC 6962 leaf hash, lower-case hex. */
  leaf(): string;
  /** True when the line is longer than any may be: then `bytes` is only its beginning. */
  readonly overlong: boolean;
}

/** Bytes as they come, given back as lines. */
export class LineBuffer {
  readonly #maxBytes: number;
  /** One byte lies before every line: it is 0x00 while the line is hashed. */
  #buffer: Buffer;
  readonly #chunk: number;
  #start = 1;
  #end = 1;
  #skipping = false;

  /** @param chunk How much is read at a time. */
  constructor(chunk: number, maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#chunk = chunk;
    this.#buffer = Buffer.allocUnsafe(chunk + 1);
  }

  /** Forgets what is there, to begin elsewhere. */
  reset(): void {
    this.#start = 1;
    this.#end = 1;
    this.#skipping = false;
  }

  /** Reads a chunk from `position`, at most `most` bytes; returns how many came. */
  fill(fd: number, position: number, most: number = Number.POSITIVE_INFINITY): number {
    this.#makeRoom(this.#chunk);
    const read = readSync(fd, this.#buffer, this.#end, Math.min(this.#chunk, most), position);
    this.#end += read;
    return read;
  }

  /** Takes a chunk that was read elsewhere. */
  feed(chunk: Buffer): void {
    this.#makeRoom(chunk.length);
    chunk.copy(this.#buffer, this.#end);
    this.#end += chunk.length;
  }

  next(): Line | null {
    const found = this.#buffer.indexOf(NEWLINE, this.#start);
    if (found === -1 || found >= this.#end) return null;
    const start = this.#start;
    this.#start = found + 1;
    const overlong = this.#skipping || found - start > this.#maxBytes;
    this.#skipping = false;
    const buffer = this.#buffer;
    return { bytes: buffer.subarray(start, found), overlong, leaf: () => leafIn(buffer, start, found) };
  }

  /** What stands after the last newline; of a very long one as much as a later log can have found. */
  rest(): Buffer {
    return this.#buffer.subarray(this.#start, Math.min(this.#end, this.#start + this.#maxBytes + 1));
  }

  #makeRoom(bytes: number): void {
    this.#buffer.copyWithin(1, this.#start, this.#end);
    this.#end -= this.#start - 1;
    this.#start = 1;
    this.#dropOverlong();
    if (this.#buffer.length - this.#end >= bytes) return;
    const larger = Buffer.allocUnsafe(this.#end + bytes);
    this.#buffer.copy(larger, 0, 0, this.#end);
    this.#buffer = larger;
  }

  /** Of a line without an end in sight only the beginning is kept. */
  #dropOverlong(): void {
    if (this.#end - this.#start <= this.#maxBytes + 1) return;
    this.#skipping = true;
    this.#end = this.#start + this.#maxBytes + 1;
  }
}

function leafIn(buffer: Buffer, start: number, end: number): string {
  const before = buffer[start - 1] as number;
  buffer[start - 1] = 0;
  const leaf = hash("sha256", buffer.subarray(start - 1, end), "hex");
  buffer[start - 1] = before;
  return leaf;
}
