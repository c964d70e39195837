/** Creating files that only this user may read, whatever the umask and whatever lies at the path. */

import { closeSync, constants, fchmodSync, fstatSync, fsyncSync, openSync, writeSync } from "node:fs";
import { ToolspanError } from "@toolspan/core";

/** Opens a new 0600 file for appending. Never an existing one, never through a link. */
export function createPrivate(path: string): number {
  const { O_WRONLY, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants;
  const fd = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    fchmodSync(fd, 0o600);
    const { nlink } = fstatSync(fd);
    if (nlink !== 1) {
      throw new ToolspanError("TOOLSPAN_RECEIPT_STORE", {
        path,
        expected: "a new file with one name",
        received: `a file with ${nlink} names`,
      });
    }
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/**
 * Opens a 0600 file of this user for appending, and makes it where it is missing. Never through a link.
 *
 * @returns The descriptor, and how many bytes are there.
 */
export function openPrivate(path: string): { readonly fd: number; readonly size: number } {
  const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  const fd = openSync(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  try {
    const found = fstatSync(fd);
    const own = process.geteuid === undefined || found.uid === process.geteuid();
    if (!found.isFile() || found.nlink !== 1 || !own) {
      const expected = "a file of this user with one name";
      throw new ToolspanError("TOOLSPAN_RECEIPT_STORE", { path, expected, received: "something else" });
    }
    fchmodSync(fd, 0o600);
    return { fd, size: found.size };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Writes all of `bytes`; a full disk takes a part without an error, and only the next write says why. */
export function writeAll(fd: number, bytes: Uint8Array): void {
  for (let offset = 0; offset < bytes.length; ) offset += writeSync(fd, bytes, offset, bytes.length - offset);
}

/** Makes the names in `folder` survive a power cut. */
export function syncFolder(folder: string): void {
  if (process.platform === "win32") return; // cannot be opened there, and the file system journals names
  const fd = openSync(folder, constants.O_RDONLY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
