/** Wire record `heartbeat`: says that a log was idle and alive, or what time did since its last line, so that silence can be told from a cut. */

import { type Envelope, envelope } from "./envelope.ts";
import { count, type Fields, oneOf, wholeNumber } from "./field.ts";

export interface Heartbeat extends Envelope {
  readonly record: "heartbeat";
  /**
   * `idle`: the interval of `segment_open` went by without a line. `late`: more than that went by, because the process was stopped or held up. `clock`: the wall clock and the monotonic one moved apart: one was set, or the machine slept.
   */
  readonly reason: "idle" | "late" | "clock";
  /** How far the wall clock moved since the line before, milliseconds; negative when it was set back. */
  readonly wall_ms: number;
  /** Time since the line before by the monotonic clock, which stands still while the machine sleeps; milliseconds. */
  readonly monotonic_ms: number;
}

export const heartbeatFields: Fields<Heartbeat> = {
  ...envelope("heartbeat"),
  reason: oneOf(["idle", "late", "clock"]),
  wall_ms: wholeNumber,
  monotonic_ms: count,
};
