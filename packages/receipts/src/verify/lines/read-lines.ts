/** Reads a file line by line in bounded memory. */

import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { isCompressed } from "../../log/file-name.ts";
import { MAX_LINE_BYTES } from "../../records/envelope.ts";
import { GUNZIP_BYTES, gunzipped } from "./gunzipped.ts";
import { type Line, LineBuffer } from "./line-buffer.ts";

const CHUNK_BYTES = 1 << 20;
/** How long reading may keep the event loop. */
const TURN_MS = 40;

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
  /** Follows a link at the path: for files that the caller has named, not for what lies in a folder. Plain files only. */
  readonly followLink?: boolean;
  /** Told of each chunk. */
  readonly onBytes?: (bytes: number) => void;
}

/** Opens a regular file for reading; a fifo does not block, and a link is none. Throws what the system throws, or a TypeError. */
export function openRegular(path: string, { followLink = false }: { readonly followLink?: boolean } = {}): number {
  const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = constants;
  const fd = openSync(path, O_RDONLY | O_NONBLOCK | (followLink ? 0 : O_NOFOLLOW));
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
  { maxBytes = MAX_LINE_BYTES, from = 0, upTo = Number.POSITIVE_INFINITY, followLink = false, onBytes }: ReadOptions,
): Promise<Tail> {
  const fd = openRegular(path, { followLink });
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
