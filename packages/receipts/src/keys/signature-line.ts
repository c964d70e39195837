/** Signature lines of C2SP signed notes: whose signature it is, and the bytes of it. */

import { verify } from "node:crypto";
import type { VerifierKey } from "./verifier-key.ts";
import { isKeyName } from "./verifier-key.ts";

export interface SignatureLine {
  readonly name: string;
  /** Key id, eight hex digits. */
  readonly id: string;
  readonly signature: Uint8Array;
}

/** What every signature line begins with: an em dash and a space. */
export const SIGNATURE_START = "\u2014 ";
export const SIGNATURE_BYTES = 64;
const ID_BYTES = 4;

/** The line without its newline. */
export function signatureLine({ name, id }: VerifierKey, signature: Uint8Array): string {
  return `${SIGNATURE_START}${name} ${Buffer.concat([Buffer.from(id, "hex"), signature]).toString("base64")}`;
}

/** Reads a line, without its newline; null for what is no signature line. Signatures of other algorithms have other lengths. */
export function parseSignatureLine(line: string): SignatureLine | null {
  if (!line.startsWith(SIGNATURE_START)) return null;
  const [name = "", encoded = "", ...more] = line.slice(SIGNATURE_START.length).split(" ");
  const bytes = Buffer.from(encoded, "base64");
  if (more.length > 0 || !isKeyName(name) || bytes.toString("base64") !== encoded || bytes.length <= ID_BYTES)
    return null;
  return { name, id: bytes.toString("hex", 0, ID_BYTES), signature: bytes.subarray(ID_BYTES) };
}

/** True when `signature` is the key's over `text`. */
export function isSignatureOf(key: VerifierKey, text: string | Uint8Array, signature: Uint8Array): boolean {
  return (
    signature.length === SIGNATURE_BYTES &&
    verify(null, typeof text === "string" ? Buffer.from(text) : text, key.key, signature)
  );
}
