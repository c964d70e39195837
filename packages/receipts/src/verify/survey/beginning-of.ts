/** What a compressed log holds at its beginning, where the file is damaged further on. */

import { closeSync, readSync } from "node:fs";
import { constants, inflateRawSync } from "node:zlib";
import { openRegular } from "../lines/read-lines.ts";

const READ_BYTES = 1 << 16;
/** So much may come of `READ_BYTES`, at the utmost rate of deflate. */
const MAX_BEGINNING = 1032 * READ_BYTES;
const HEADER_BYTES = 10;
const HAS_NAME = 0x08;

/** What the first bytes of a damaged gzip file hold, whatever stands behind them; empty where nothing can be had. */
export function beginningOf(path: string): Buffer {
  const fd = openRegular(path);
  try {
    const bytes = Buffer.alloc(READ_BYTES);
    const read = bytes.subarray(0, readSync(fd, bytes, 0, READ_BYTES, 0));
    const flags = read[3] ?? 0;
    if ((flags & ~HAS_NAME) !== 0) return Buffer.alloc(0); // no gzip of a log that we know of writes more
    const start = flags === HAS_NAME ? read.indexOf(0, HEADER_BYTES) + 1 : HEADER_BYTES;
    return inflateRawSync(read.subarray(start), {
      finishFlush: constants.Z_SYNC_FLUSH,
      maxOutputLength: MAX_BEGINNING,
    });
  } catch {
    return Buffer.alloc(0); // that is said when the whole file is read
  } finally {
    closeSync(fd);
  }
}
