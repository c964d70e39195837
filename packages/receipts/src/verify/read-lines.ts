/** Reads a file line by line in bounded memory, each line hashable where it lies. */

import { hash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { isCompressed } from "../log/file-name.ts";
import { MAX_LINE_BYTES } from "../records/envelope.ts";
import { GUNZIP_BYTES, gunzipped } from "./gunzipped.ts";

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
  /** Begins at this offset; default the beginning. Plain files only, as `upTo`. */
  readonly from?: number;
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

/** Calls `take` with each complete line and its 1-based number. A name that ends in `.gz` is read through gunzip. */
export async function readLines(
  path: string,
  take: (line: Line, number: number) => void,
  options: ReadOptions = {},
): Promise<Tail> {
  return isCompressed(path) ? readCompressed(path, take, options) : readPlain(path, take, options);
}

async function readPlain(
  path: string,
  take: (line: Line, number: number) => void,
  { maxBytes = MAX_LINE_BYTES, from = 0, upTo = Number.POSITIVE_INFINITY, onBytes }: ReadOptions,
): Promise<Tail> {
  const fd = openRegular(path);
  try {
    const lines = new LineBuffer(chunkOf(fd), maxBytes);
    let number = 0;
    let turn = performance.now();
    for (let position = from; ; ) {
      const read = lines.fill(fd, position, upTo - position);
      position += read;
      if (read === 0) return { bytes: lines.rest(), lines: number };
      for (let line = lines.next(); line !== null; line = lines.next()) take(line, ++number);
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

async function readCompressed(
  path: string,
  take: (line: Line, number: number) => void,
  { maxBytes = MAX_LINE_BYTES, onBytes }: ReadOptions,
): Promise<Tail> {
  const lines = new LineBuffer(GUNZIP_BYTES, maxBytes);
  let number = 0;
  for await (const chunk of gunzipped(openRegular(path), onBytes)) {
    lines.feed(chunk);
    for (let line = lines.next(); line !== null; line = lines.next()) take(line, ++number);
  }
  return { bytes: lines.rest(), lines: number };
}

/** The same lines one at a time, for readers that may stop early; the tail is not told. */
export async function* linesOf(path: string): AsyncGenerator<Line, void, void> {
  const fd = openRegular(path);
  if (isCompressed(path)) {
    const lines = new LineBuffer(GUNZIP_BYTES, MAX_LINE_BYTES);
    for await (const chunk of gunzipped(fd)) {
      lines.feed(chunk);
      for (let line = lines.next(); line !== null; line = lines.next()) yield line;
    }
    return;
  }
  try {
    const lines = new LineBuffer(chunkOf(fd), MAX_LINE_BYTES);
    for (let position = 0, read = 1; read > 0; position += read) {
      read = lines.fill(fd, position);
      for (let line = lines.next(); line !== null; line = lines.next()) yield line;
    }
  } finally {
    closeSync(fd);
  }
}

/** A folder may hold very many small logs; one byte more than the file shows its end. */
function chunkOf(fd: number): number {
  return Math.min(CHUNK_BYTES, fstatSync(fd).size + 1);
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

  rest(): Buffer {
    return this.#buffer.subarray(this.#start, this.#end);
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
