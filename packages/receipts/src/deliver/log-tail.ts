/** The end of a log: how many whole lines it has, and what a line says of its place. */

import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { MAX_LINE_BYTES } from "../records/envelope.ts";

const NEWLINE = 0x0a;

/** Whole lines of a log: as its last one says, else counted behind `offset`, before which there are `before`. */
export function countLines(path: string, offset: number, before: number): number {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch {
    return before;
  }
  try {
    const { size } = fstatSync(fd);
    const from = Math.max(0, size - 2 * MAX_LINE_BYTES - 2);
    const tail = readAt(fd, from, size - from);
    const end = tail.lastIndexOf(NEWLINE);
    if (end === -1 || from + end < offset) return before;
    const start = end === 0 ? 0 : tail.lastIndexOf(NEWLINE, end - 1) + 1;
    const seq = seqIn(tail.subarray(start, end));
    if (seq !== null) return seq + 1;
    let lines = before;
    for (let at = offset; at < size; at += tail.length) {
      for (const byte of readAt(fd, at, Math.min(tail.length, size - at))) if (byte === NEWLINE) lines++;
    }
    return lines;
  } finally {
    closeSync(fd);
  }
}

/** What a line says of its own place; null where it says nothing. */
export function seqIn(line: Buffer): number | null {
  try {
    const { chain } = JSON.parse(line.toString("utf8")) as { readonly chain?: { readonly seq?: unknown } };
    return typeof chain?.seq === "number" ? chain.seq : null;
  } catch {
    return null;
  }
}

/** Up to `length` bytes, fewer only at the end of the file. */
export function readAt(fd: number, from: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let read = 0;
  while (read < length) {
    const more = readSync(fd, bytes, read, length - read, from + read);
    if (more === 0) break;
    read += more;
  }
  return bytes.subarray(0, read);
}
