/** What a gzip file holds, in chunks and bounded memory. */

import { createReadStream } from "node:fs";
import { createGunzip } from "node:zlib";

/** Largest chunk that is given. */
export const GUNZIP_BYTES: number = 1 << 18;
const READ_BYTES = 1 << 16;

/** The file is no whole gzip file: cut, changed, or another kind of file. */
export class DamagedGzip extends Error {}

/**
 * Gives the content chunk by chunk; a chunk is whole, but what comes after it may still turn out to be damaged.
 *
 * @param fd Is closed when reading ends, however it ends.
 * @param onBytes Told of compressed bytes that were read.
 * @throws DamagedGzip, or what the system throws.
 */
export async function* gunzipped(fd: number, onBytes?: (bytes: number) => void): AsyncGenerator<Buffer, void, void> {
  const input = createReadStream("", { fd, highWaterMark: READ_BYTES });
  const gunzip = createGunzip({ chunkSize: GUNZIP_BYTES });
  input.on("data", (chunk) => onBytes?.(chunk.length));
  input.on("error", (error) => gunzip.destroy(error));
  input.pipe(gunzip);
  try {
    for await (const chunk of gunzip) yield chunk as Buffer;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code?.startsWith("Z_") === true ? new DamagedGzip(code) : error;
  } finally {
    gunzip.destroy();
    input.destroy();
  }
}
