/** Wire record `erasure`: what opened a commitment or a keyed hash was destroyed; the hashes stay, and so does the chain. */

import { type Envelope, envelope } from "./envelope.ts";
import { count, type Fields, orNull, text, uuid } from "./field.ts";

export interface Erasure extends Envelope {
  readonly record: "erasure";
  /** Null when all openings of a subject, or a key, were destroyed rather than one dispatch's. */
  readonly dispatch_id: string | null;
  /** The key that was destroyed, if it was one. */
  readonly key_id: string | null;
  /** How many openings are gone. */
  readonly openings: number;
  readonly reason: string | null;
}

export const erasureFields: Fields<Erasure> = {
  ...envelope("erasure"),
  dispatch_id: orNull(uuid),
  key_id: orNull(text),
  openings: count,
  reason: orNull(text),
};
