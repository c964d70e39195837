/** Who has signed a head, as far as trust goes. */

import type { SignatureLine } from "../../keys/signature-line.ts";
import type { Checks } from "../checks.ts";
import type { Trust, TrustedKey } from "./trust.ts";

/** `bad`: a signature that names a trusted key is not that key's, so nothing of the head counts. `signed`: by the trusted key that it names as its own. */
export type Signing =
  | { readonly by: "trusted"; readonly key: TrustedKey }
  | { readonly by: "nobody" | "unknown" | "bad" };

export interface SignedText {
  readonly keyName: string | null;
  /** What is signed. */
  readonly text: string;
  readonly signatures: readonly SignatureLine[];
}

/** Signatures of keys that are not trusted are passed over. */
export function signingOf({ keyName, text, signatures }: SignedText, trust: Trust, checks: Checks): Signing {
  let signer: TrustedKey | null = null;
  let bad = false;
  for (const { name, id, signature } of signatures) {
    const key = trust.keyOf(name, id);
    if (key === undefined) continue;
    if (!checks.signature(key.verifier, text, signature)) bad = true;
    else if (name === keyName) signer = key;
  }
  if (bad) return { by: "bad" };
  if (signer !== null) return { by: "trusted", key: signer };
  return { by: signatures.length === 0 ? "nobody" : "unknown" };
}
