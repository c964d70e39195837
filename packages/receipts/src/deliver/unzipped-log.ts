/** A compressed log on its way to an endpoint: unpacked beside the cursors for as long as it is read. */

import { closeSync, fstatSync, readSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createPrivate, writeAll } from "../log/private-file.ts";
import { MAX_LINE_BYTES } from "../records/envelope.ts";
import { gunzipped } from "../verify/lines/gunzipped.ts";
import { openRegular } from "../verify/lines/read-lines.ts";
import { StuckLog } from "./log-feed.ts";

/** Bytes at the end of a gzip file that say how long its content is, modulo 2^32. */
const SIZE_BYTES = 4;
/** Eight logs of the usual size: a small file may say that it holds a disk full. */
const MAX_UNPACKED_BYTES = 512 * 1024 * 1024;
const NEWLINE = 0x0a;

/** How long the content is, as the file says; nobody has looked yet whether it is. */
export function unzippedSize(path: string): number {
  const fd = openRegular(path);
  try {
    const bytes = Buffer.alloc(SIZE_BYTES);
    const { size } = fstatSync(fd);
    if (size < SIZE_BYTES) return 0;
    readSync(fd, bytes, 0, SIZE_BYTES, size - SIZE_BYTES);
    return bytes.readUInt32LE();
  } finally {
    closeSync(fd);
  }
}

/** Where the log of this cursor is unpacked; who takes the lock next removes what is left of it. */
export function unpackedPath(folder: string, key: string): string {
  return join(folder, `${key}.unpacked.next`);
}

/**
 * Unpacks `path` to `target`, whole or not at all.
 *
 * @returns How many bytes there are.
 * @throws StuckLog for more than 512 MiB, DamagedGzip, or what the system throws.
 */
export async function unzip(path: string, target: string): Promise<number> {
  const part = `${target}.part.next`;
  rmSync(part, { force: true });
  const fd = createPrivate(part);
  let bytes = 0;
  try {
    for await (const chunk of contentOf(path)) {
      writeAll(fd, chunk);
      bytes += chunk.length;
    }
    renameSync(part, target);
    return bytes;
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** Its first line, of a very long one only the beginning; null where it has none. */
export async function firstZippedLine(path: string): Promise<Buffer | null> {
  let bytes: Buffer = Buffer.alloc(0);
  for await (const chunk of contentOf(path)) {
    bytes = Buffer.concat([bytes, chunk]);
    const end = bytes.indexOf(NEWLINE);
    if (end !== -1) return bytes.subarray(0, end);
    if (bytes.length > MAX_LINE_BYTES) return bytes.subarray(0, MAX_LINE_BYTES);
  }
  return null;
}

/** How many whole lines and bytes it has. Throws as `unzip`. */
export async function zippedContent(path: string): Promise<{ readonly lines: number; readonly bytes: number }> {
  let lines = 0;
  let bytes = 0;
  for await (const chunk of contentOf(path)) {
    bytes += chunk.length;
    for (let at = 0; at < chunk.length; at++) if (chunk[at] === NEWLINE) lines++;
  }
  return { lines, bytes };
}

/** Chunks, up to a bound. */
async function* contentOf(path: string): AsyncGenerator<Buffer, void, void> {
  let bytes = 0;
  for await (const chunk of gunzipped(openRegular(path))) {
    bytes += chunk.length;
    if (bytes > MAX_UNPACKED_BYTES) throw new StuckLog("it holds more than 512 MiB; unpack it by hand");
    yield chunk;
  }
}
