/** Records that an endpoint has refused for good: kept in order, to be looked at and sent again. */

import { closeSync, createReadStream, fdatasync, fstatSync, readSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { openPrivate, syncFolder, writeAll } from "../log/private-file.ts";
import { openRegularFile } from "../log/read-small-file.ts";
import { nowText } from "../log/writer-identity.ts";
import { isObject } from "../records/field.ts";

const fdatasyncAsync = promisify(fdatasync);
const FILE = "dead-letters.jsonl";
const NEWLINE = 0x0a;

/** One of them; a line of the file. */
export interface DeadLetter {
  readonly parked_at: string;
  /** `status 400`, `too_large`, `partial_success`. */
  readonly reason: string;
  readonly log: string;
  readonly kind: "line" | "head";
  /** `seq` of a line, size of a head. */
  readonly place: number;
  /** The OTLP log record as it was sent. */
  readonly otlp: unknown;
}

/** What is parked; its `record` is JSON text. */
export interface Parked {
  readonly reason: string;
  readonly log: string;
  readonly kind: "line" | "head";
  readonly place: number;
  readonly record: string;
}

export function deadLetterFile(folder: string): string {
  return join(folder, FILE);
}

/** Adds to the endpoint's file; resolves once that is durable. */
export async function park(path: string, folder: string, parked: readonly Parked[]): Promise<void> {
  const at = nowText();
  const text = parked.map(({ reason, log, kind, place, record }) => {
    const about = JSON.stringify({ parked_at: at, reason, log, kind, place });
    return `${about.slice(0, -1)},"otlp":${record}}\n`;
  });
  const { fd, size } = openPrivate(path);
  try {
    // A sender that was killed may have left the beginning of a line.
    const torn = size > 0 && lastByte(fd) !== NEWLINE ? "\n" : "";
    writeAll(fd, Buffer.from(torn + text.join("")));
    await fdatasyncAsync(fd);
    if (size === 0) syncFolder(folder);
  } finally {
    closeSync(fd);
  }
}

/** Every whole letter of a file, oldest first; none where there is no file. Throws TOOLSPAN_RECEIPT_STORE for what is no regular file. */
export async function* deadLettersIn(path: string): AsyncGenerator<DeadLetter, void, void> {
  let fd: number;
  try {
    fd = openRegularFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  try {
    const lines = createInterface({ input: createReadStream("", { fd, autoClose: false }), crlfDelay: Infinity });
    for await (const line of lines) {
      const letter = letterIn(line);
      if (letter !== null) yield letter;
    }
  } finally {
    closeSync(fd);
  }
}

/** How many there are. */
export async function countDeadLetters(folder: string): Promise<number> {
  let letters = 0;
  for await (const _ of deadLettersIn(deadLetterFile(folder))) letters++;
  return letters;
}

function letterIn(line: string): DeadLetter | null {
  try {
    const value: unknown = JSON.parse(line);
    const whole = isObject(value) && typeof value.log === "string" && isObject(value.otlp);
    return whole ? (value as unknown as DeadLetter) : null;
  } catch {
    return null; // the beginning of one: its record is parked again behind it
  }
}

function lastByte(fd: number): number | undefined {
  const byte = Buffer.alloc(1);
  readSync(fd, byte, 0, 1, fstatSync(fd).size - 1);
  return byte[0];
}
