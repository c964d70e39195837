/** How far an endpoint has taken a log: the cursor, its file, and the check that it still fits the log. */

import { closeSync, fsync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ToolspanError, uuidv7 } from "@toolspan/core";
import { createPrivate, writeAll } from "../log/private-file.ts";
import { readSmallFile } from "../log/read-small-file.ts";
import { count, hex64, isObject, orNull } from "../records/field.ts";

const fsyncAsync = promisify(fsync);
const VERSION = 1;
const ENDING = ".cursor";
const MAX_BYTES = 16_384;

/** What lies before the next line and the next head that have to be delivered. */
export interface Position {
  /** Bytes of the log that were answered for. */
  readonly offset: number;
  /** Lines that were answered for. */
  readonly lines: number;
  /** Leaf hash of the last of them, lower-case hex; null before the first. */
  readonly leaf: string | null;
  readonly heads: HeadPosition;
  /** Lines under the largest signed head that an endpoint outside has taken. */
  readonly anchored: number;
}

/** The last head that was answered for, as a place in the file of heads. */
export interface HeadPosition {
  readonly from: number;
  readonly to: number;
  /** SHA-256 of these bytes, lower-case hex; null before the first. */
  readonly hash: string | null;
}

export const START: Position = {
  offset: 0,
  lines: 0,
  leaf: null,
  heads: { from: 0, to: 0, hash: null },
  anchored: 0,
};

/** The cursor of log `key`; `START` where there is none, null where there is one that says nothing. */
export function readPosition(folder: string, key: string): Position | null {
  let text: string;
  try {
    text = readSmallFile(join(folder, key + ENDING), MAX_BYTES).bytes.toString("utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return START;
    if (ToolspanError.is(error, "TOOLSPAN_RECEIPT_STORE")) return null; // a pipe, a link, a flood: no cursor of ours
    throw error;
  }
  return positionIn(text, key);
}

/** Puts the cursor in place of the one before; the caller syncs the folder. */
export async function writePosition(folder: string, key: string, position: Position): Promise<void> {
  const { offset, lines, leaf, heads, anchored } = position;
  const text = JSON.stringify({ version: VERSION, log: key, offset, seq: lines - 1, leaf, heads, anchored });
  const next = join(folder, `${key}.${uuidv7()}.next`);
  const fd = createPrivate(next);
  try {
    writeAll(fd, Buffer.from(`${text}\n`));
    await fsyncAsync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(next, join(folder, key + ENDING));
}

export function removePosition(folder: string, key: string): void {
  rmSync(join(folder, key + ENDING), { force: true });
}

function positionIn(text: string, key: string): Position | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isObject(value) || value.version !== VERSION || value.log !== key || !isObject(value.heads)) return null;
  const { offset, seq, leaf, heads, anchored } = value;
  const { from, to, hash } = heads;
  const whole = [offset, from, to, anchored].every((number) => count.accepts(number)) && Number.isSafeInteger(seq);
  if (!whole || ![leaf, hash].every((digest) => orNull(hex64).accepts(digest))) return null;
  if ((seq as number) < -1 || (offset === 0) !== (leaf === null) || (to === 0) !== (hash === null)) return null;
  return {
    offset: offset as number,
    lines: (seq as number) + 1,
    leaf: leaf as string | null,
    heads: { from: from as number, to: to as number, hash: hash as string | null },
    anchored: anchored as number,
  };
}
