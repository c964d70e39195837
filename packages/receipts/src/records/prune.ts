/** Wire record `prune`: a whole log was removed on purpose; this is what it held. */

import { type Envelope, envelope } from "./envelope.ts";
import { count, type Fields, hex64, text, uuid } from "./field.ts";

export interface Prune extends Envelope {
  readonly record: "prune";
  readonly file: string;
  readonly log: string;
  readonly lines: number;
  /** RFC 6962 root over them, lower-case hex. */
  readonly root: string;
}

export const pruneFields: Fields<Prune> = { ...envelope("prune"), file: text, log: uuid, lines: count, root: hex64 };
