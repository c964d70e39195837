/** A compressed log on its way to an endpoint: unpacked beside the cursors for as long as it is read. */

import { closeSync, openSync, readSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { createPrivate, writeAll } from "../log/private-file.ts";
import { gunzipped } from "../verify/lines/gunzipped.ts";
import { openRegular } from "../verify/lines/read-lines.ts";

/** Bytes at the end of a gzip file that say how long its content is, modulo 2^32. */
const SIZE_BYTES = 4;

/** How long the content is, as the file says; a log is shorter than 4 GiB. */
export function unzippedSize(path: string): number {
  const fd = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(SIZE_BYTES);
    const { size } = statSync(path);
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

/** Unpacks `path` to `target`, whole or not at all. */
export async function unzip(path: string, target: string): Promise<void> {
  const part = `${target}.part.next`;
  rmSync(part, { force: true });
  const fd = createPrivate(part);
  try {
    for await (const chunk of gunzipped(openRegular(path))) writeAll(fd, chunk);
  } finally {
    closeSync(fd);
  }
  renameSync(part, target);
}
