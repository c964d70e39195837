/** Reads the entries of a file of heads from a place in it. */

import { closeSync, constants, fdatasyncSync, fstatSync, openSync, readSync } from "node:fs";
import { type NamedCheckpoint, parseCheckpoint, SIGNATURE_START_LATIN1 } from "../log/checkpoint.ts";
import { sha256Hex } from "../log/merkle.ts";
import type { HeadPosition } from "./position.ts";

/** One entry, and the place behind it. */
export interface FedHead {
  readonly head: NamedCheckpoint;
  readonly text: string;
  readonly at: HeadPosition;
}

const CHUNK_BYTES = 65_536;
/** An entry is at most this long: more goes on without an end and is none. */
const MAX_ENTRY_BYTES = 16_384;

/** True when the bytes before `at` are still those that were delivered. */
export function isHeadPositionOf(path: string, at: HeadPosition): boolean {
  if (at.to === 0) return true;
  const bytes = at.to - at.from <= MAX_ENTRY_BYTES && at.from < at.to ? bytesOf(path, at.from, at.to - at.from) : null;
  return bytes !== null && bytes.length === at.to - at.from && sha256Hex(bytes) === at.hash;
}

/** Whole entries of `log` behind `at`, those of one chunk; what is damaged is passed over, what is being written is left. They are durable when this returns. */
export function headsAfter(path: string, log: string, at: HeadPosition): readonly FedHead[] {
  const bytes = bytesOf(path, at.to, CHUNK_BYTES) ?? Buffer.alloc(0);
  const text = bytes.toString("latin1"); // so that characters are bytes
  const found: FedHead[] = [];
  for (let start = 0; start < text.length; ) {
    const entry = entryAt(text, start, log);
    if (entry === "unfinished") break;
    if (entry === null) {
      const next = nextOrigin(text, start, log);
      if (next === -1) break;
      start = next;
      continue;
    }
    const whole = bytes.subarray(start, entry.end);
    found.push({
      head: entry.head,
      text: whole.toString("utf8"),
      at: { from: at.to + start, to: at.to + entry.end, hash: sha256Hex(whole) },
    });
    start = entry.end;
  }
  return found;
}

/** The entry that begins at `start`; null where none does. */
function entryAt(
  text: string,
  start: number,
  log: string,
): { readonly head: NamedCheckpoint; readonly end: number } | "unfinished" | null {
  const lines: string[] = [];
  let end = start;
  for (let i = 0; i < 4; i++) {
    const found = text.indexOf("\n", end);
    if (found === -1) return text.length - start > MAX_ENTRY_BYTES ? null : "unfinished";
    lines.push(text.slice(end, found));
    end = found + 1;
  }
  const [origin = "", size = "", root = "", blank] = lines;
  const head = parseCheckpoint(origin, size, root);
  if (head === null || head.log !== log || blank !== "") return null;
  let signed = false;
  while (text.startsWith(SIGNATURE_START_LATIN1, end)) {
    const found = text.indexOf("\n", end);
    if (found === -1) return "unfinished";
    signed ||= text.startsWith(`${head.keyName} `, end + SIGNATURE_START_LATIN1.length);
    end = found + 1;
  }
  if (head.keyName === null || signed) return { head, end };
  // Its signature is still to come, or the writer has died before it: then another entry follows, or none.
  return SIGNATURE_START_LATIN1.startsWith(text.slice(end)) ? "unfinished" : null;
}

/** Where the next line begins that may be an origin; -1 where none does. */
function nextOrigin(text: string, start: number, log: string): number {
  for (let at = text.indexOf("\n", start) + 1; at > 0; at = text.indexOf("\n", at) + 1) {
    const end = text.indexOf("\n", at);
    if (end !== -1 && text.slice(at, end).endsWith(`/${log}`)) return at;
  }
  return -1;
}

/** Durable bytes; null where there is no such file. */
function bytesOf(path: string, from: number, length: number): Buffer | null {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  try {
    if (!fstatSync(fd).isFile()) return null;
    const bytes = Buffer.alloc(Math.max(0, Math.min(length, fstatSync(fd).size - from)));
    const read = readSync(fd, bytes, 0, bytes.length, from);
    if (read > 0) fdatasyncSync(fd);
    return bytes.subarray(0, read);
  } finally {
    closeSync(fd);
  }
}
