/** The comparisons that integrity rests on, apart from the code around them, so that a test can leave one out. */

import { isSignatureOf } from "../keys/signature-line.ts";
import type { VerifierKey } from "../keys/verifier-key.ts";

export interface Checks {
  /** Does a line name the line before it? */
  link(named: string | null, leaf: string | null): boolean;
  /** Is a stated root the root of the lines? */
  root(stated: string, found: string): boolean;
  /** Is it the key's signature over the text? */
  signature(key: VerifierKey, text: string, signature: Uint8Array): boolean;
}

export const CHECKS: Checks = {
  link: (named, leaf) => named === leaf,
  root: (stated, found) => stated === found,
  signature: isSignatureOf,
};
