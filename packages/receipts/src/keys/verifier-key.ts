/** Verifier keys as C2SP signed-note writes them: a name, a key id and an Ed25519 public key in one word. */

import { createHash, createPublicKey, type KeyObject } from "node:crypto";

/** A public key and whose it is. */
export interface VerifierKey {
  /** `<name>+<id>+<base64 of 0x01 and the key>`: what other implementations take. */
  readonly text: string;
  readonly name: string;
  /** Eight hex digits; a hint to find the key by, nothing to trust. */
  readonly id: string;
  readonly key: KeyObject;
}

const ED25519 = Buffer.of(0x01);
const KEY_BYTES = 32;

/** True for what may name a key: no space, no plus sign, not empty. */
export function isKeyName(name: string): boolean {
  return name !== "" && name.length <= 255 && !/[\s+\p{Z}\p{C}]/u.test(name);
}

/** True for what may name a key of ours: files of heads are compared byte by byte. */
export function isOwnKeyName(name: string): boolean {
  return isKeyName(name) && /^[\x21-\x7e]+$/.test(name);
}

/** The verifier key of an Ed25519 key, public or private. */
export function verifierKeyOf(name: string, key: KeyObject): VerifierKey {
  const { x } = key.export({ format: "jwk" });
  const bytes = Buffer.from(x as string, "base64url");
  const id = keyIdOf(name, bytes);
  return {
    text: `${name}+${id}+${Buffer.concat([ED25519, bytes]).toString("base64")}`,
    name,
    id,
    key: key.type === "public" ? key : createPublicKey(key),
  };
}

/** Reads a verifier key; null for what is none, another algorithm, or has an id that is not its own. */
export function parseVerifierKey(text: string): VerifierKey | null {
  const [, name = "", id = "", encoded = ""] = /^([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/u.exec(text) ?? [];
  const bytes = Buffer.from(encoded, "base64");
  if (!isKeyName(name) || bytes.toString("base64") !== encoded) return null;
  if (bytes.length !== KEY_BYTES + 1 || bytes[0] !== ED25519[0]) return null;
  const raw = bytes.subarray(1);
  if (keyIdOf(name, raw) !== id) return null;
  const jwk = { kty: "OKP", crv: "Ed25519", x: raw.toString("base64url") };
  return { text, name, id, key: createPublicKey({ key: jwk, format: "jwk" }) };
}

/** @source C2SP signed-note, "Signatures": the first four bytes of SHA-256(name ‖ "\n" ‖ algorithm ‖ key). */
function keyIdOf(name: string, key: Uint8Array): string {
  return createHash("sha256").update(`${name}\n`).update(ED25519).update(key).digest("hex").slice(0, 8);
}
