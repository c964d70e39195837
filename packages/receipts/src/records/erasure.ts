/** Wire record `erasure`: what opened a commitment or a keyed hash was destroyed; the hashes stay, and so does the chain. */

import { type Envelope, envelope } from "./envelope.ts";
import { count, type Fields, orNull, text, uuid } from "./field.ts";

export interface Erasure extends Envelope {
  readonly record: "erasure";
  /** Null when a key was destroyed rather than one dispatch's openings. */
  readonly dispatch_id: string | null;
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
