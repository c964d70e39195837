/** Which log a file holds, and the name of its cursor. */

import { closeSync, constants, openSync, readSync } from "node:fs";
import { sha256Hex } from "../log/merkle.ts";
import { MAX_LINE_BYTES } from "../records/envelope.ts";
import { isObject, uuid } from "../records/field.ts";

const NEWLINE = 0x0a;

/** The log that the first line of a file belongs to; empty where it does not say so, null where there is none yet. Throws what the system throws. */
export function identityOf(path: string): string | null {
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  let fd: number | undefined;
  try {
    fd = openSync(path, flags);
    const bytes = Buffer.alloc(MAX_LINE_BYTES + 1);
    const read = readSync(fd, bytes, 0, bytes.length, 0);
    const end = bytes.subarray(0, read).indexOf(NEWLINE);
    if (end === -1) return read > MAX_LINE_BYTES ? "" : null;
    return logIn(bytes.subarray(0, end));
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** The log that a first line belongs to; empty where it does not say so. */
export function logIn(line: Buffer): string {
  try {
    const { chain } = JSON.parse(line.toString("utf8")) as { readonly chain?: unknown };
    return isObject(chain) && uuid.accepts(chain.log) ? (chain.log as string) : "";
  } catch {
    return "";
  }
}

/** Two files of one log contradict each other; each is delivered, under a cursor of its own. */
export function keyOf(
  log: string,
  file: string,
  claimed: ReadonlySet<string>,
): { readonly key: string; readonly log: string } {
  const key = log === "" || claimed.has(log) ? `file-${sha256Hex(Buffer.from(file)).slice(0, 32)}` : log;
  return { key, log: log === "" ? key : log };
}
