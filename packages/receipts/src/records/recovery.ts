/** Wire record `recovery`: from the second line of a log on, one for each earlier log whose writer died. */

import { type Envelope, envelope } from "./envelope.ts";
import { count, type Fields, hex64, matching, orNull, text, uuid } from "./field.ts";

/** A log vouches for its predecessor and at most so many logs before that. */
export const MAX_RECOVERIES = 16;

/** What a dead writer left behind. Nothing is written to its file: this line is what vouches for it. */
export interface Recovery extends Envelope {
  readonly record: "recovery";
  readonly file: string;
  readonly log: string | null;
  /** Complete lines. */
  readonly lines: number;
  /** RFC 6962 root over them, lower-case hex. */
  readonly root: string;
  /** Length of what stands after the last newline. */
  readonly torn_bytes: number;
  /** Plain SHA-256 of those bytes; null when there are none. */
  readonly torn_hash: string | null;
}

export const recoveryFields: Fields<Recovery> = {
  ...envelope("recovery"),
  file: text,
  log: orNull(uuid),
  lines: count,
  root: hex64,
  torn_bytes: count,
  torn_hash: orNull(matching(/^sha256:[0-9a-f]{64}$/)),
};
