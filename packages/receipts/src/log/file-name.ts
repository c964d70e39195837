/** File names of logs: two session ids never share a name, and none of them leaves the folder. */

import { createHash } from "node:crypto";

const ENDING = ".jsonl";
/** What is put behind the name of a closed log that was compressed. */
const COMPRESSED = ".gz";
const MAX_STEM = 120;
const SAFE = /[A-Za-z0-9-]/;
/** Names that Windows keeps for devices. */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)$/i;

/** Stem of the log of calls without a session. */
const NO_SESSION = "_none";
/** Stem of a log of all sessions. */
export const PROCESS_STEM = "_process";

/**
 * The part of a log's name that stands for its session.
 *
 * Letters, digits, `-` and inner `_` stay; every other UTF-16 code unit becomes `~` and four hex digits. What gets longer than 120 characters is cut and ends in `~~` and a hash of the whole.
 */
export function stemOf(sessionId: string | null): string {
  if (sessionId === null) return NO_SESSION;
  if (sessionId === "") return "~";
  if (DEVICE.test(sessionId)) return escaped(sessionId[0] as string, true) + sessionId.slice(1);
  const hasher = createHash("sha256");
  let stem = "";
  let long = false;
  for (let i = 0; i < sessionId.length; i++) {
    const unit = escaped(sessionId[i] as string, i === 0 && sessionId[0] === "_");
    hasher.update(unit);
    if (!long && stem.length + unit.length <= MAX_STEM) stem += unit;
    else long = true;
  }
  if (!long) return stem;
  return `${stem.slice(0, 80).replace(/~[0-9A-F]{0,3}$/, "")}~~${hasher.digest("hex").slice(0, 32)}`;
}

/** The first log of a session has no number, later ones count from 2. */
export function fileNameOf(stem: string, number: number): string {
  return number === 1 ? stem + ENDING : `${stem}.${number}${ENDING}`;
}

/** The name that a log gets when it is compressed. */
export function compressedName(name: string): string {
  return name + COMPRESSED;
}

/** The name that a log has, or had before it was compressed. */
export function plainName(name: string): string {
  return name.endsWith(COMPRESSED) ? name.slice(0, -COMPRESSED.length) : name;
}

export function isCompressed(name: string): boolean {
  return name.endsWith(COMPRESSED);
}

/** True for names of logs, compressed ones too. */
export function isLogName(name: string): boolean {
  return plainName(name).endsWith(ENDING);
}

/** Takes a log's name apart, with or without `.gz`; null for a name that no writer gives. */
export function parseFileName(name: string): { readonly stem: string; readonly number: number } | null {
  const match = /^([^.]+)(?:\.([1-9]\d{0,8}))?\.jsonl(?:\.gz)?$/.exec(name);
  if (match === null) return null;
  return { stem: match[1] as string, number: match[2] === undefined ? 1 : Number(match[2]) };
}

function escaped(unit: string, always: boolean): string {
  if (!always && (SAFE.test(unit) || unit === "_")) return unit;
  return `~${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}
