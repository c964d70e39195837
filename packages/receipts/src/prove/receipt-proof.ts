/** The proof that a receipt stands in a log, as one JSON object: its line, what opens its hashes, and C2SP tlog-proof text. */

import { canonicalFromText } from "@toolspan/canonical";
import { isOpeningLine, type OpeningLine } from "../openings/opening-line.ts";
import { isObject } from "../records/field.ts";

/** What `proveDispatch` gives and `verifyProof` takes; for others it is enough to hash the line and check the proof. */
export interface ReceiptProof {
  /** The receipt's line, byte for byte, without its newline. */
  readonly line: string;
  /** What opens hashes of the receipt, one for each field at most; none for plain ones, which anybody can compute, and none unless asked for. */
  readonly openings: readonly OpeningLine[];
  /** C2SP tlog-proof text with the head that covers the line. */
  readonly proof: string;
}

/** The parts of tlog-proof text. */
export interface TlogProof {
  readonly index: number;
  /** Lower-case hex, lowest first. */
  readonly hashes: readonly string[];
  readonly head: string;
}

const TITLE = "c2sp.org/tlog-proof@v1";
const INDEX = /^index (0|[1-9][0-9]{0,15})$/;
/** A tree of 2^53 leaves has no longer ones. */
const MAX_HASHES = 53;

/** @source C2SP tlog-proof */
export function tlogProofText({ index, hashes, head }: TlogProof): string {
  const encoded = hashes.map((hash) => Buffer.from(hash, "hex").toString("base64"));
  return `${[TITLE, `index ${index}`, ...encoded].map((line) => `${line}\n`).join("")}\n${head}`;
}

/** Takes tlog-proof text apart; null for what is none. Extra data is of no use here and is passed over. */
export function parseTlogProof(text: string): TlogProof | null {
  const blank = text.indexOf("\n\n");
  if (blank === -1) return null;
  const [title, ...lines] = text.slice(0, blank).split("\n");
  if (lines[0]?.startsWith("extra ") && isBase64(lines[0].slice("extra ".length))) lines.shift();
  const index = INDEX.exec(lines.shift() ?? "")?.[1];
  if (title !== TITLE || index === undefined || !Number.isSafeInteger(Number(index))) return null;
  if (lines.length > MAX_HASHES || !lines.every((line) => isBase64(line, 32))) return null;
  const hashes = lines.map((line) => Buffer.from(line, "base64").toString("hex"));
  return { index: Number(index), hashes, head: text.slice(blank + 2) };
}

/** Takes the JSON apart; null for what is no such object, or holds a key twice. */
export function parseReceiptProof(text: string): ReceiptProof | null {
  let value: unknown;
  try {
    value = canonicalFromText(text); // a second key of the same name would show another line to other readers
  } catch {
    return null;
  }
  if (!isObject(value) || Object.keys(value).sort().join() !== "line,openings,proof") return null;
  const { line, openings, proof } = value;
  if (typeof line !== "string" || line.includes("\n") || typeof proof !== "string") return null;
  if (!Array.isArray(openings) || !openings.every(isOpeningLine)) return null;
  const fields = new Set(openings.map(({ field }) => field));
  return fields.size === openings.length ? { line, openings, proof } : null;
}

function isBase64(text: string, length?: number): boolean {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text && (length === undefined || bytes.length === length);
}
