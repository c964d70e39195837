/** The key log: statements, each signed by the key that ends, of which key follows it. */

import { parseSignatureLine, SIGNATURE_START, type SignatureLine } from "./signature-line.ts";
import { parseVerifierKey, type VerifierKey } from "./verifier-key.ts";

/** One change of keys. */
export interface RotationStatement {
  /** 1-based line that it begins at. */
  readonly line: number;
  readonly oldKey: VerifierKey;
  readonly newKey: VerifierKey;
  /** RFC 3339 UTC, nine decimals: logs opened later are the new key's. */
  readonly at: string;
  /** What is signed. */
  readonly text: string;
  readonly signatures: readonly SignatureLine[];
}

export interface KeyLog {
  readonly statements: readonly RotationStatement[];
  /** First line that is no statement; null when there is none. */
  readonly damaged: number | null;
  /** Length of what the statements take, UTF-8 bytes. */
  readonly bytes: number;
}

/** No head has such a first line: a statement can never be taken for one. */
const TITLE = "toolspan key rotation";
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/;

/** Name of the key log that lies beside a signing key. */
export function keyLogOf(path: string): string {
  return `${path}.rotations`;
}

/** What the old key has to sign. */
export function rotationText(oldKey: VerifierKey, newKey: VerifierKey, at: string): string {
  return `${TITLE}\n${oldKey.text}\n${newKey.text}\n${at}\n`;
}

export function parseKeyLog(text: string): KeyLog {
  const lines = text.split("\n");
  const statements: RotationStatement[] = [];
  let at = 0;
  while (at < lines.length - 1) {
    const statement = statementAt(lines, at);
    if (statement === null) return { statements, damaged: at + 1, bytes: bytesOf(lines, at) };
    statements.push(statement);
    at += 5 + statement.signatures.length;
  }
  const rest = lines[at] ?? "";
  return { statements, damaged: rest === "" ? null : at + 1, bytes: bytesOf(lines, at) };
}

function statementAt(lines: readonly string[], at: number): RotationStatement | null {
  const [title, old = "", next = "", time = "", blank] = lines.slice(at, at + 5);
  const oldKey = parseVerifierKey(old);
  const newKey = parseVerifierKey(next);
  if (title !== TITLE || oldKey === null || newKey === null || !TIME.test(time) || blank !== "") return null;
  const signatures: SignatureLine[] = [];
  for (let i = at + 5; i < lines.length - 1 && lines[i]?.startsWith(SIGNATURE_START); i++) {
    const signature = parseSignatureLine(lines[i] as string);
    if (signature === null) return null;
    signatures.push(signature);
  }
  if (signatures.length === 0) return null;
  return { line: at + 1, oldKey, newKey, at: time, text: rotationText(oldKey, newKey, time), signatures };
}

function bytesOf(lines: readonly string[], count: number): number {
  return lines.slice(0, count).reduce((bytes, line) => bytes + Buffer.byteLength(line) + 1, 0);
}
