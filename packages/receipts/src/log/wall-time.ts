/** When a line was made, by the wall clock of that moment. */

import { type Clock, toRfc3339 } from "@toolspan/core";
import { APART_MS } from "./line-clock.ts";
import { nowText } from "./writer-identity.ts";

/**
 * RFC 3339 of now by `clock`, as long as it has kept the time: it read the wall clock once, and that may have been set since, or the machine slept.
 *
 * @param wallMs What the wall clock says now, where that is known.
 */
export function timeText(clock: Clock, wallMs: number = Date.now()): string {
  const reading = clock.now();
  const kept = clock.anchorSeconds * 1000 + (clock.anchorNanos + reading) / 1e6;
  return Math.abs(kept - wallMs) > APART_MS ? nowText() : toRfc3339(clock, reading);
}
