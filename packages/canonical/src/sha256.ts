/** SHA-256 of texts, whole or in pieces. */
import * as crypto from "node:crypto";

/**
 * SHA-256 of the UTF-8 bytes of `text`, as 64 lower-case hex digits.
 *
 * `text` has to be well-formed: UTF-8 has no form for a lone surrogate, so two such texts could share a hash.
 */
export function sha256Text(text: string): string {
  // The one-shot function came with Node 20.12 and halves the cost of a small text.
  return crypto.hash === undefined
    ? crypto.createHash("sha256").update(text).digest("hex")
    : crypto.hash("sha256", text, "hex");
}

/** Length, UTF-16 code units, from which hashing in pieces beats one long text, which is then never all in memory. */
export const PIECE_LENGTH = 16_384;

/** SHA-256 of a text that arrives in pieces, none of which parts a surrogate pair. */
export class Sha256Stream {
  private hash: crypto.Hash | undefined;
  private pending = "";

  add(text: string): void {
    this.pending += text;
    if (this.pending.length < PIECE_LENGTH) return;
    this.hash ??= crypto.createHash("sha256");
    this.hash.update(this.pending);
    this.pending = "";
  }

  /** Lower-case hex; once. */
  end(): string {
    return this.hash === undefined ? sha256Text(this.pending) : this.hash.update(this.pending).digest("hex");
  }
}
