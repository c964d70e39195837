/** Commitments: hashes that say nothing until they are opened, and never again once their salt is gone. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { labelOf } from "./domain-label.ts";
import type { HashDomain, Hasher } from "./hasher.ts";
import { type HashStream, hashingMethods, namesOf, plainDigest } from "./hashing.ts";

export interface CommittedHasherOptions {
  /** Key names, compared exactly, that are removed at any depth before hashing. */
  readonly redact?: readonly string[];
}

const SALT_BYTES = 32;
const PREFIX = "commit-sha256:";

/**
 * Hashes so that nobody can guess the value or compare two of them, and whoever holds the opening can prove it.
 *
 * `commit-sha256:<hex>` is SHA-256 over the label `toolspan.<domain>/v1`, a zero byte, 32 random bytes and the canonical text. Each digest has its `opening`, with a salt of its own: whoever records the hash has to keep it. Once the salt is destroyed the hash says nothing any more.
 * The text of a value is in memory as a whole while it is hashed.
 *
 * @throws TypeError when made, if `redact` is not a list of strings.
 */
export function committedHasher({ redact }: CommittedHasherOptions = {}): Hasher {
  const names = namesOf(redact);
  return { mode: "commit-sha256", redact: names, ...hashingMethods(committedStream, names), plain: plainDigest };
}

/**
 * True when `text`, with `salt`, is what `hash` commits to.
 *
 * @param opening `salt` of 64 hex digits; `text` as it was hashed: canonical JSON, or arguments that could not be parsed as they stood.
 */
export function opensCommitment(
  hash: string,
  opening: { readonly salt: string; readonly text: string },
  domain: HashDomain,
): boolean {
  const { salt, text } = opening;
  if (!/^commit-sha256:[0-9a-f]{64}$/.test(hash) || !/^[0-9a-f]{64}$/.test(salt)) return false;
  const found = commit(domain, Buffer.from(salt, "hex"), [text]);
  return timingSafeEqual(Buffer.from(found), Buffer.from(hash));
}

function committedStream(domain: HashDomain): HashStream {
  const pieces: string[] = [];
  return {
    add: (text) => void pieces.push(text),
    end() {
      const salt = randomBytes(SALT_BYTES);
      return { hash: commit(domain, salt, pieces), opening: { salt: salt.toString("hex"), text: pieces.join("") } };
    },
  };
}

function commit(domain: HashDomain, salt: Uint8Array, pieces: readonly string[]): string {
  const hash = createHash("sha256").update(labelOf(domain)).update(salt);
  for (const piece of pieces) hash.update(piece);
  return PREFIX + hash.digest("hex");
}
