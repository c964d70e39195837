/** What a new log finds of the log before it: a claim about that file's complete lines, made without touching it. */

import { closeSync, constants, fdatasyncSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { MAX_LINE_BYTES } from "../records/envelope.ts";
import { isObject } from "../records/field.ts";
import { faultOf, type LogRecord } from "../records/record.ts";
import type { Previous, Writer } from "../records/segment-open.ts";
import { parseCheckpoint } from "./checkpoint.ts";
import { headFiles } from "./head-files.ts";
import { EMPTY_ROOT, leafHash, MerkleTree, sha256Hex } from "./merkle.ts";
import { isLost } from "./open-logs.ts";
import { readSmallFile } from "./read-small-file.ts";
import { stateOf } from "./writer-identity.ts";

export interface Predecessor extends Previous {
  /** What stands after the last whole line, at most `MAX_TORN_BYTES` of it. */
  readonly torn: Uint8Array;
}

const CHUNK_BYTES = 1 << 20;
const NEWLINE = 0x0a;
/** A head is three short lines and its signatures. */
const MAX_HEAD_BYTES = 65_536;
/** Of a line without an end so much is kept, and the hash of a `recovery` line is over no more: it is longer than any line, so the file is none of a writer's from there on. */
const MAX_TORN_BYTES: number = MAX_LINE_BYTES + 1;
const NO_BYTES = new Uint8Array(0);

/**
 * Reads the log `file` of `folder`.
 *
 * Its bytes are synced first: a claim must not outlive what it is about. A file that cannot be read gives a claim about none of its lines.
 */
export function inspectLog(folder: string, file: string): Predecessor {
  let fd: number;
  try {
    fd = openSync(join(folder, file), constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch {
    return unreadable(file);
  }
  try {
    if (!fstatSync(fd).isFile()) return unreadable(file);
    fdatasyncSync(fd);
    return closedUnderHead(fd, folder, file) ?? readThrough(fd, file);
  } catch {
    return unreadable(file);
  } finally {
    closeSync(fd);
  }
}

/** What the first line of a log says, and whether anything is missing at its end: the closing line, or the head over it. Null when it has no readable first line. */
export function inspectOpening(
  folder: string,
  file: string,
): {
  readonly log: string;
  readonly verifierKey: string | null;
  readonly writer: Writer;
  readonly open: boolean;
} | null {
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  let fd: number;
  try {
    fd = openSync(join(folder, file), flags);
  } catch {
    return null;
  }
  try {
    const bytes = Buffer.alloc(MAX_LINE_BYTES + 1);
    const read = fstatSync(fd).isFile() ? readSync(fd, bytes, 0, bytes.length, 0) : 0;
    const opening = parseRecord(bytes.subarray(0, Math.max(0, bytes.subarray(0, read).indexOf(NEWLINE))));
    if (opening?.record !== "segment_open") return null;
    return {
      log: opening.chain.log,
      verifierKey: opening.verifier_key,
      writer: opening.writer,
      open: closedUnderHead(fd, folder, file) === null,
    };
  } finally {
    closeSync(fd);
  }
}

/** True for a log whose writer died before its first line was whole. */
export function isWordless(folder: string, file: string): boolean {
  const { log, lines, state } = inspectLog(folder, file);
  return log === null && lines === 0 && state === "crashed";
}

function unreadable(file: string): Predecessor {
  return { file, log: null, lines: 0, root: EMPTY_ROOT, state: "unknown", torn: NO_BYTES };
}

/** The short way: a log whose last line closes it and whose head covers that line need not be read again. */
function closedUnderHead(fd: number, folder: string, file: string): Predecessor | null {
  const last = lastLine(fd);
  if (last?.record !== "segment_close") return null;
  const { log, seq } = last.chain;
  try {
    const { bytes } = readSmallFile(join(folder, headFiles(log).latest), MAX_HEAD_BYTES);
    const [origin = "", size = "", root = ""] = bytes.toString("utf8").split("\n");
    const head = parseCheckpoint(origin, size, root);
    if (head?.log !== log || head.size !== seq + 1) return null;
    return { file, log, lines: head.size, root: head.root, state: "closed", torn: NO_BYTES };
  } catch {
    return null; // no readable head: the long way
  }
}

function lastLine(fd: number): LogRecord | null {
  const { size } = fstatSync(fd);
  const bytes = Buffer.alloc(Math.min(size, MAX_LINE_BYTES + 2));
  const read = readSync(fd, bytes, 0, bytes.length, size - bytes.length);
  if (read === 0 || bytes[read - 1] !== NEWLINE) return null;
  return parseRecord(bytes.subarray(bytes.lastIndexOf(NEWLINE, read - 2) + 1, read - 1));
}

function readThrough(fd: number, file: string): Predecessor {
  const tree = new MerkleTree();
  let first: LogRecord | null = null;
  let last: Uint8Array = NO_BYTES;
  const torn = eachLine(fd, (line) => {
    if (tree.size === 0) first = parseRecord(line);
    tree.add(leafHash(line));
    last = line;
  });
  // A writer that lives has its first line written as soon as the file is there.
  if (tree.size === 0) return { file, log: null, lines: 0, root: tree.root(), state: "crashed", torn };
  const opening = first as LogRecord | null;
  const log = opening?.chain.log ?? null;
  const open = openState(opening);
  // No head covers the last line: a writer that died after its closing line needs a successor's word as well.
  const state = parseRecord(last)?.record === "segment_close" && open !== "crashed" ? "closed" : open;
  return { file, log, lines: tree.size, root: tree.root(), state, torn };
}

/** State of a log that lacks its closing line or the head over it, by who wrote it. */
function openState(opening: LogRecord | null): Previous["state"] {
  if (opening?.record !== "segment_open") return "unknown";
  if (isLost(opening.chain.log)) return "crashed";
  const state = stateOf(opening.writer);
  if (state === "unknown") return "unknown";
  return state === "gone" ? "crashed" : "live";
}

/** Calls `take` with a copy of each line up to the first that is too long to be one; returns what stands after the last of them, in bounded time and memory. */
function eachLine(fd: number, take: (line: Uint8Array) => void): Uint8Array {
  let rest = Buffer.alloc(0);
  const chunk = Buffer.alloc(CHUNK_BYTES);
  for (let position = 0; ; ) {
    const read = readSync(fd, chunk, 0, CHUNK_BYTES, position);
    if (read === 0) return rest;
    position += read;
    const bytes = Buffer.concat([rest, chunk.subarray(0, read)]);
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1 && end - start <= MAX_LINE_BYTES; ) {
      take(bytes.subarray(start, end));
      start = end + 1;
      end = bytes.indexOf(NEWLINE, start);
    }
    rest = bytes.subarray(start);
    if (rest.length >= MAX_TORN_BYTES) return rest.subarray(0, MAX_TORN_BYTES);
  }
}

/** The record that a line holds; null for what is none that this version knows. */
export function parseRecord(line: Uint8Array): LogRecord | null {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(line).toString("utf8"));
    return isObject(parsed) && faultOf(parsed) === null ? (parsed as unknown as LogRecord) : null;
  } catch {
    return null;
  }
}

/** What a `recovery` line says of the bytes after the last newline. */
export function tornFields(torn: Uint8Array): { readonly torn_bytes: number; readonly torn_hash: string | null } {
  return { torn_bytes: torn.length, torn_hash: torn.length === 0 ? null : `sha256:${sha256Hex(torn)}` };
}
