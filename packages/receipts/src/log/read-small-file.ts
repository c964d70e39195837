/** Reading a small file whole, where somebody else may have put a pipe, a device, a link or a flood in its place. */

import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { ToolspanError } from "@toolspan/core";

const CHUNK_BYTES = 65_536;

export interface SmallFile {
  readonly bytes: Buffer;
  /** Of the descriptor that was read. */
  readonly stats: Stats;
}

export interface SmallFileOptions {
  /** Follows a link at the path, as a mounted secret is one; default false. */
  readonly followLink?: boolean;
}

/**
 * Reads the regular file at `path`; never waits for a writer, never reads more than `maxBytes` and one.
 *
 * @throws TOOLSPAN_RECEIPT_STORE for anything but a regular file of at most `maxBytes`; the system's error where it cannot be opened (`ENOENT` where there is none).
 */
export function readSmallFile(path: string, maxBytes: number, options: SmallFileOptions = {}): SmallFile {
  const fd = openRegularFile(path, options);
  try {
    const stats = fstatSync(fd);
    const bytes = readUpTo(fd, maxBytes + 1); // it may grow under our eyes
    if (bytes.length > maxBytes) throw refused(path, `a file of at most ${maxBytes} bytes`, "a longer one");
    return { bytes, stats };
  } finally {
    closeSync(fd);
  }
}

/**
 * Opens the regular file at `path` for reading; never waits for a writer.
 *
 * @throws TOOLSPAN_RECEIPT_STORE for anything but a regular file; the system's error where it cannot be opened.
 */
export function openRegularFile(path: string, { followLink = false }: SmallFileOptions = {}): number {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  let fd: number;
  try {
    // Without O_NONBLOCK the opening of a pipe waits for its writer.
    fd = openSync(path, O_RDONLY | O_NONBLOCK | (followLink ? 0 : O_NOFOLLOW));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ELOOP" || code === "EMLINK") throw refused(path, "a regular file", "a link");
    if (code === "ENXIO") throw refused(path, "a regular file", "something else"); // a socket
    throw error;
  }
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw refused(path, "a regular file", "something else");
}

function readUpTo(fd: number, maxBytes: number): Buffer {
  const chunks: Buffer[] = [];
  for (let left = maxBytes; left > 0; ) {
    const chunk = Buffer.allocUnsafe(Math.min(left, CHUNK_BYTES));
    const read = readSync(fd, chunk, 0, chunk.length, null);
    if (read === 0) break;
    chunks.push(chunk.subarray(0, read));
    left -= read;
  }
  return Buffer.concat(chunks);
}

function refused(path: string, expected: string, received: string): ToolspanError {
  return new ToolspanError("TOOLSPAN_RECEIPT_STORE", { path, expected, received });
}
