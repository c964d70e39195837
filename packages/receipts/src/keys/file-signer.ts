/** `fileSigner`: signs with the key in a file, and follows when the file gets a new one. */

import { sign } from "node:crypto";
import { diagnostics } from "@toolspan/core";
import { destroyRetiredKeys } from "./retired-keys.ts";
import type { Signer } from "./signer.ts";
import { readSigningKey, type SigningKey, stampOf } from "./signing-key.ts";

/**
 * Signs with the Ed25519 key in a 0600 PKCS#8 PEM file.
 *
 * A log keeps the key it was opened under; the next log takes what the file then holds. After a rotation, once no log is open under the old key, what is left of it on disk is destroyed.
 *
 * @param path What `toolspan keys init` made, or a PEM file of your own.
 * @throws TOOLSPAN_SIGNING_KEY when made, and when a log is opened, for a file that is not such a key or that others can read.
 */
export function fileSigner(path: string): Signer {
  let current = new KeyInUse(path, readSigningKey(path));
  return {
    get keyName() {
      return current.keyName;
    },
    get verifierKey() {
      return current.verifierKey;
    },
    sign: (bytes) => current.sign(bytes),
    signNow: (bytes) => current.sign(bytes),
    forNextLog() {
      const stamp = stampOf(path);
      // A file that is gone for now takes nothing away from the key that is at hand.
      if (stamp !== null && stamp !== current.stamp) {
        const found = new KeyInUse(path, readSigningKey(path));
        current.retired = true;
        current = found;
      }
      current.open++;
      return current;
    },
  };
}

/** One content of the file, as long as a log is signed with it. */
class KeyInUse implements Signer {
  readonly keyName: string;
  readonly verifierKey: string;
  readonly stamp: string;
  open = 0;
  retired = false;
  readonly #path: string;
  readonly #key: SigningKey["privateKey"];

  constructor(path: string, { verifier, privateKey, stamp }: SigningKey) {
    this.keyName = verifier.name;
    this.verifierKey = verifier.text;
    this.stamp = stamp;
    this.#path = path;
    this.#key = privateKey;
  }

  sign(bytes: Uint8Array): Uint8Array {
    return sign(null, bytes, this.#key);
  }

  signNow(bytes: Uint8Array): Uint8Array {
    return this.sign(bytes);
  }

  logClosed(folder: string): void {
    this.open--;
    if (this.open > 0 || (!this.retired && stampOf(this.#path) === this.stamp)) return;
    try {
      destroyRetiredKeys(this.#path, folder, false);
    } catch (error) {
      const word = String((error as NodeJS.ErrnoException).code ?? "an error");
      diagnostics.report("receipts.local", "retired_key", `a retired key could not be destroyed: ${word}`);
    }
  }
}
