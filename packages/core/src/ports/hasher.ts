/** Port: how arguments and results become hashes. `@toolspan/canonical/hash` has the implementations. */

export type HashMode = "sha256" | "hmac-sha256" | "commit-sha256";

/** What a hash is of. Keyed and committed hashes of equal values differ between domains, so that no hash of a result gives away that it repeats the arguments. */
export type HashDomain = "args" | "result" | "key";

/** A hash as it is recorded, and what was left out of it. */
export interface Digest {
  /** `sha256:<hex>`, `hmac-sha256:<kid>:<hex>`, `commit-sha256:<hex>`, or `refused:<reason>`. */
  readonly hash: string;
  /** The redact keys that were there. */
  readonly redacted: readonly string[];
  /** Commitments only: what opens this one (`salt`: 64 hex digits; `text`: what was hashed). Never part of a line. */
  readonly opening?: { readonly salt: string; readonly text: string };
}

/** Hash of an array whose items arrive one by one. */
export interface SequenceDigest {
  push(item: unknown): void;
  end(): Digest;
}

/** Turns values into digests; `domain` is `"args"` unless it is said. No method throws; what cannot be hashed is `refused:<reason>`. */
export interface Hasher {
  readonly mode: HashMode;
  readonly keyId?: string;
  /** Exact key names that are removed at any depth before hashing. */
  readonly redact: readonly string[];
  /** Canonical form of `value` less the redact keys. */
  value(value: unknown, domain?: HashDomain): Digest;
  /** Text as it stands: arguments that could not be parsed. */
  text(text: string, domain?: HashDomain): Digest;
  /** Canonical array of what is pushed, each item read when pushed. */
  sequence(domain?: HashDomain): SequenceDigest;
  /** Plain SHA-256 over the whole value, for comparisons only; null when it has no canonical form. */
  plain(value: unknown): string | null;
}
