/** Wire record `segment_close`: the last line of a log that was closed. */

import { type Envelope, envelope } from "./envelope.ts";
import { closed, type Fields, oneOf, orNull, text, uuid } from "./field.ts";

export interface SegmentClose extends Envelope {
  readonly record: "segment_close";
  readonly reason: "end" | "rotated" | "evicted";
  /** The log that goes on, when the writer already knows it. */
  readonly next: { readonly file: string; readonly log: string } | null;
}

export const segmentCloseFields: Fields<SegmentClose> = {
  ...envelope("segment_close"),
  reason: oneOf(["end", "rotated", "evicted"]),
  next: orNull(closed({ file: text, log: uuid })),
};
