/** Wire record `key_rotation`: the old key names the key that follows it. */

import { type Envelope, envelope } from "./envelope.ts";
import { type Fields, text } from "./field.ts";

export interface KeyRotation extends Envelope {
  readonly record: "key_rotation";
  /** Verifier key (C2SP signed-note) that signs until here. */
  readonly old_key: string;
  /** Verifier key that signs from the next segment on. */
  readonly new_key: string;
}

export const keyRotationFields: Fields<KeyRotation> = { ...envelope("key_rotation"), old_key: text, new_key: text };
