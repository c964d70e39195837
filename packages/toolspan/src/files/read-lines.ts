/** Reads a file line by line, by `\n` alone, without holding more than one line, which is bounded, and one chunk. */

import { createReadStream } from "node:fs";

export interface FileLine {
  /** 1-based. */
  readonly number: number;
  /** Empty where the line is too long. */
  readonly text: string;
  /** True for a line of more than `MAX_LINE_BYTES`, of which nothing is kept. */
  readonly tooLong: boolean;
  /** False for a last line that nobody ended: its writer may have died, or may still be writing. */
  readonly ended: boolean;
}

const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 0x0a;
/** Far above what any sink writes; a file without newlines must not fill the memory. */
export const MAX_LINE_BYTES: number = 64 * 1024 * 1024;

/** Yields every line that is not empty. Bytes that are no UTF-8 become U+FFFD. */
export async function* readLines(path: string): AsyncGenerator<FileLine, void, void> {
  let number = 0;
  let rest: Buffer[] = [];
  let length = 0;
  const add = (piece: Buffer): void => {
    length += piece.length;
    if (length > MAX_LINE_BYTES) rest = [];
    else if (piece.length > 0) rest.push(piece);
  };
  const take = (ended: boolean): FileLine => {
    number += 1;
    const tooLong = length > MAX_LINE_BYTES;
    const line = { number, text: Buffer.concat(rest).toString("utf8"), tooLong, ended };
    rest = [];
    length = 0;
    return line;
  };
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      add(chunk.subarray(from, at));
      from = at + 1;
      const isEmpty = length === 0;
      const line = take(true);
      if (!isEmpty) yield line;
    }
    add(chunk.subarray(from));
  }
  if (length > 0) yield take(false);
}

/** True when the file has more than `limit` lines; reads no further than that. */
export async function hasMoreLinesThan(path: string, limit: number): Promise<boolean> {
  let lines = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>) {
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) {
      lines += 1;
      if (lines > limit) return true;
    }
  }
  return false;
}
