/** Hashes under a key: comparable for whoever holds it, of no use for guessing to everybody else. */
import { createHmac, createSecretKey, type Hmac, type KeyObject } from "node:crypto";
import { labelOf } from "./domain-label.ts";
import type { HashDomain, Hasher } from "./hasher.ts";
import { type HashStream, hashingMethods, namesOf, plainDigest } from "./hashing.ts";

export interface KeyedHasherOptions {
  /** At least 32 bytes from a random source; a copy is kept. */
  readonly key: Uint8Array;
  /** Stands in every hash, so that the key can be found again: 1 to 64 letters, digits, `.`, `_`, `-`. No secret. */
  readonly keyId: string;
  /** Key names, compared exactly, that are removed at any depth before hashing. */
  readonly redact?: readonly string[];
}

const MIN_KEY_BYTES = 32;
const KEY_ID = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * Hashes so that equal values of one domain can be recognised by whoever holds the key, and by nobody else.
 *
 * `hmac-sha256:<keyId>:<hex>` is HMAC-SHA-256 over the label `toolspan.<domain>/v1`, a zero byte and the canonical text. Destroying the key makes all its hashes meaningless.
 *
 * @throws TypeError when made, for a key that is shorter, or an option that is not of these. The message never holds the key.
 */
export function keyedHasher({ key, keyId, redact }: KeyedHasherOptions): Hasher {
  if (!(key instanceof Uint8Array) || key.length < MIN_KEY_BYTES) {
    const received = key instanceof Uint8Array ? `${key.length} bytes` : "something else";
    throw new TypeError(`options.key: expected at least ${MIN_KEY_BYTES} bytes, received ${received}`);
  }
  if (typeof keyId !== "string" || !KEY_ID.test(keyId)) {
    throw new TypeError("options.keyId: expected 1 to 64 letters, digits, '.', '_' or '-', received something else");
  }
  const names = namesOf(redact);
  const secret = createSecretKey(key);
  const methods = hashingMethods((domain) => keyedStream(secret, keyId, domain), names);
  return { mode: "hmac-sha256", keyId, redact: names, ...methods, plain: plainDigest };
}

function keyedStream(secret: KeyObject, keyId: string, domain: HashDomain): HashStream {
  const hmac: Hmac = createHmac("sha256", secret).update(labelOf(domain));
  return {
    add: (text) => void hmac.update(text),
    end: () => ({ hash: `hmac-sha256:${keyId}:${hmac.digest("hex")}` }),
  };
}
