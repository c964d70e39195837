/** From a head to the text that is written: signed where there is a signer that can. */

import { diagnostics } from "@toolspan/core";
import { isSignatureOf, signatureLine } from "../keys/signature-line.ts";
import type { Signer } from "../keys/signer.ts";
import { parseVerifierKey, type VerifierKey } from "../keys/verifier-key.ts";
import { type Checkpoint, checkpointText } from "./checkpoint.ts";

/** The text of a head, and whether it is signed. */
export interface HeadNote {
  readonly bytes: Buffer;
  readonly signed: boolean;
}

/** Writes the heads of one log. Trouble of the signer costs the signature, never the head. */
export class HeadNotes {
  readonly #signer: Signer | null;
  readonly #key: VerifierKey | null;

  constructor(signer: Signer | null) {
    this.#signer = signer;
    this.#key = signer === null ? null : parseVerifierKey(signer.verifierKey);
  }

  /** A promise only where the signer gives one. */
  of(head: Checkpoint): HeadNote | Promise<HeadNote> {
    const signer = this.#signer;
    if (signer === null) return unsigned(head);
    try {
      const signature = signer.sign(this.#body(head));
      if (!(signature instanceof Promise)) return this.#note(head, signature);
      return signature.then((bytes) => this.#note(head, bytes)).catch((error: unknown) => this.#without(head, error));
    } catch (error) {
      return this.#without(head, error);
    }
  }

  /** As `of`, before it returns. */
  now(head: Checkpoint): HeadNote {
    const signer = this.#signer;
    if (signer === null) return unsigned(head);
    try {
      const body = this.#body(head);
      const signature = signer.signNow === undefined ? signer.sign(body) : signer.signNow(body);
      if (!(signature instanceof Promise)) return this.#note(head, signature);
      signature.catch(() => {}); // nobody is there any more to hear of it
      throw new TypeError("it has no signNow, and the process ends");
    } catch (error) {
      return this.#without(head, error);
    }
  }

  #body(head: Checkpoint): Buffer {
    return Buffer.from(checkpointText(head, this.#key?.name).slice(0, -1));
  }

  /** A signature that does not verify would accuse the log of forgery. */
  #note(head: Checkpoint, signature: Uint8Array): HeadNote {
    const key = this.#key;
    const text = checkpointText(head, key?.name);
    if (key === null || !(signature instanceof Uint8Array) || !isSignatureOf(key, text.slice(0, -1), signature)) {
      throw new TypeError("its signature is not that of its verifier key");
    }
    return { bytes: Buffer.from(`${text}${signatureLine(key, signature)}\n`), signed: true };
  }

  #without(head: Checkpoint, error: unknown): HeadNote {
    const word = error instanceof Error ? error.message : String(error);
    diagnostics.report("receipts.local", "unsigned_head", `a head could not be signed and stays unsigned: ${word}`);
    return unsigned(head);
  }
}

function unsigned(head: Checkpoint): HeadNote {
  return { bytes: Buffer.from(checkpointText(head)), signed: false };
}
