/** The keys that a verification trusts, each with the time in which it may have signed what. */

import type { KeyLog } from "../../keys/key-log.ts";
import type { VerifierKey } from "../../keys/verifier-key.ts";
import type { Checks } from "../checks.ts";
import type { Findings } from "../findings.ts";
import type { Verdict } from "../verdicts.ts";

/** A trusted key and its epoch. Times are RFC 3339 UTC with nine decimals, which sort as text. */
export interface TrustedKey {
  readonly verifier: VerifierKey;
  /** When the key before it named it; null for a key that was trusted from the start. */
  readonly from: string | null;
  /** When it named the key that follows; null while none does. */
  readonly until: string | null;
  /** From when on it is revoked; "" for always, null for not. */
  readonly revokedFrom: string | null;
}

export interface TrustParts {
  readonly keys: readonly VerifierKey[];
  readonly rotation: { readonly file: string; readonly log: KeyLog } | null;
  /** By verifier key; "" as in `revokedFrom`. */
  readonly revoked: ReadonlyMap<string, string>;
}

interface Trouble {
  readonly verdict: Verdict;
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

export class Trust {
  readonly #keys = new Map<string, TrustedKey>();
  readonly #troubles: Trouble[] = [];

  constructor({ keys, rotation, revoked }: TrustParts, checks: Checks) {
    for (const verifier of keys) this.#add(verifier, null, revoked);
    if (rotation !== null) this.#follow(rotation.file, rotation.log, revoked, checks);
  }

  /** The trusted key that a signature names. */
  keyOf(name: string, id: string): TrustedKey | undefined {
    return this.#keys.get(`${name}+${id}`);
  }

  /** What is wrong with the key log. */
  report(findings: Findings): void {
    for (const { verdict, file, line, message } of this.#troubles) findings.add(verdict, file, line, message);
  }

  #add(verifier: VerifierKey, from: string | null, revoked: ReadonlyMap<string, string>): void {
    const revokedFrom = revoked.get(verifier.text) ?? null;
    this.#keys.set(`${verifier.name}+${verifier.id}`, { verifier, from, until: null, revokedFrom });
  }

  /** Statements count from a trusted key on, in their order, one for each key. */
  #follow(file: string, { statements, damaged }: KeyLog, revoked: ReadonlyMap<string, string>, checks: Checks): void {
    for (const { line, oldKey, newKey, at, text, signatures } of statements) {
      const old = this.keyOf(oldKey.name, oldKey.id);
      if (old?.verifier.text !== oldKey.text || newKey.name !== oldKey.name) continue;
      const own = signatures.filter(({ name, id }) => name === oldKey.name && id === oldKey.id);
      if (own.length === 0) continue;
      if (!own.every(({ signature }) => checks.signature(oldKey, text, signature))) {
        this.#tell("BAD_SIGNATURE", file, line, "the signature of this change of keys is not the old key's");
      } else if (old.until !== null) {
        if (old.until !== at || !this.#keys.has(`${newKey.name}+${newKey.id}`))
          this.#tell("FORKED", file, line, "its old key has named another key to follow before");
      } else if (old.revokedFrom === null || at < old.revokedFrom) {
        this.#keys.set(`${oldKey.name}+${oldKey.id}`, { ...old, until: at });
        if (!this.#keys.has(`${newKey.name}+${newKey.id}`)) this.#add(newKey, at, revoked);
      }
    }
    if (damaged !== null) this.#tell("UNREADABLE", file, damaged, "it is no statement of a change of keys");
  }

  #tell(verdict: Verdict, file: string, line: number, message: string): void {
    this.#troubles.push({ verdict, file, line, message });
  }
}
