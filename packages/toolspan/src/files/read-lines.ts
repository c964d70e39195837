/** Reads a file line by line, by `\n` alone, without holding more than one line and one chunk. */

import { createReadStream } from "node:fs";

export interface FileLine {
  /** 1-based. */
  readonly number: number;
  readonly text: string;
  /** False for a last line that nobody ended: its writer may have died, or may still be writing. */
  readonly ended: boolean;
}

const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 0x0a;

/** Yields every line that is not empty. Bytes that are no UTF-8 become U+FFFD. */
export async function* readLines(path: string): AsyncGenerator<FileLine, void, void> {
  let number = 0;
  let rest: Buffer[] = [];
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      const text = join(rest, chunk.subarray(from, at));
      rest = [];
      from = at + 1;
      number += 1;
      if (text !== "") yield { number, text, ended: true };
    }
    if (from < chunk.length) rest.push(chunk.subarray(from));
  }
  if (rest.length > 0) yield { number: number + 1, text: join(rest, Buffer.alloc(0)), ended: false };
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

function join(pieces: readonly Buffer[], last: Buffer): string {
  return pieces.length === 0 ? last.toString("utf8") : Buffer.concat([...pieces, last]).toString("utf8");
}
