/** Reads a file line by line in bounded memory, each line hashable where it lies. */

import { hash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { MAX_LINE_BYTES } from "../records/envelope.ts";

const CHUNK_BYTES = 1 << 20;
const NEWLINE = 0x0a;
/** How long reading may keep the event loop. */
const TURN_MS = 40;

/** One line; its bytes are valid until the next one. */
export interface Line {
  readonly bytes: Buffer;
  /** RFC 6962 leaf hash, lower-case hex. */
  leaf(): string;
  /** True when the line is longer than any may be: then `bytes` is only its beginning. */
  readonly overlong: boolean;
}

export interface Tail {
  /** What stands after the last newline; of a very long one only the beginning. */
  readonly bytes: Buffer;
  readonly lines: number;
}

export interface ReadOptions {
  /** Longest line, bytes. */
  readonly maxBytes?: number;
  /** Reads no further than this offset, so that what came later does not count; default the end. */
  readonly upTo?: number;
  /** Told of each chunk. */
  readonly onBytes?: (bytes: number) => void;
}

/** Opens a regular file for reading; a fifo does not block. Throws what the system throws, or a TypeError. */
export function openRegular(path: string): number {
  const fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw new TypeError("not a regular file");
}

/** Calls `take` with each complete line and its 1-based number. */
export async function readLines(
  path: string,
  take: (line: Line, number: number) => void,
  { maxBytes = MAX_LINE_BYTES, upTo = Number.POSITIVE_INFINITY, onBytes }: ReadOptions = {},
): Promise<Tail> {
  const fd = openRegular(path);
  try {
    const reader = new ChunkReader(fd, maxBytes, upTo);
    let number = 0;
    let turn = performance.now();
    for (;;) {
      const read = reader.fill();
      if (read === 0) return { bytes: reader.rest(), lines: number };
      for (let line = reader.next(); line !== null; line = reader.next()) take(line, ++number);
      onBytes?.(read);
      if (performance.now() - turn > TURN_MS) {
        await new Promise<void>((resolve) => setImmediate(resolve));
        turn = performance.now();
      }
    }
  } finally {
    closeSync(fd);
  }
}

/** The same lines one at a time, for readers that may stop early; the tail is not told. */
export function* linesOf(path: string): Generator<Line, void, void> {
  const fd = openRegular(path);
  try {
    const reader = new ChunkReader(fd, MAX_LINE_BYTES);
    while (reader.fill() > 0) for (let line = reader.next(); line !== null; line = reader.next()) yield line;
  } finally {
    closeSync(fd);
  }
}

class ChunkReader {
  readonly #fd: number;
  readonly #maxBytes: number;
  readonly #upTo: number;
  /** One byte lies before every line: it is 0x00 while the line is hashed. */
  #buffer: Buffer;
  readonly #chunk: number;
  #start = 1;
  #end = 1;
  #position = 0;
  #skipping = false;

  constructor(fd: number, maxBytes: number, upTo: number = Number.POSITIVE_INFINITY) {
    this.#fd = fd;
    this.#maxBytes = maxBytes;
    this.#upTo = upTo;
    // A folder may hold very many small logs; one byte more than the file shows its end.
    this.#chunk = Math.min(CHUNK_BYTES, fstatSync(fd).size + 1);
    this.#buffer = Buffer.allocUnsafe(this.#chunk + 1);
  }

  /** Reads on; returns how many bytes came. */
  fill(): number {
    this.#buffer.copyWithin(1, this.#start, this.#end);
    this.#end -= this.#start - 1;
    this.#start = 1;
    this.#dropOverlong();
    if (this.#buffer.length - this.#end < this.#chunk) this.#grow();
    const wanted = Math.min(this.#chunk, this.#upTo - this.#position);
    const read = readSync(this.#fd, this.#buffer, this.#end, wanted, this.#position);
    this.#position += read;
    this.#end += read;
    return read;
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

  rest(): Buffer {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  /** Of a line without an end in sight only the beginning is kept. */
  #dropOverlong(): void {
    if (this.#end - this.#start <= this.#maxBytes + 1) return;
    this.#skipping = true;
    this.#end = this.#start + this.#maxBytes + 1;
  }

  #grow(): void {
    const larger = Buffer.allocUnsafe(this.#end + this.#chunk);
    this.#buffer.copy(larger, 0, 0, this.#end);
    this.#buffer = larger;
  }
}

function leafIn(buffer: Buffer, start: number, end: number): string {
  const before = buffer[start - 1] as number;
  buffer[start - 1] = 0;
  const leaf = hash("sha256", buffer.subarray(start - 1, end), "hex");
  buffer[start - 1] = before;
  return leaf;
}
