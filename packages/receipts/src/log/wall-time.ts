/** When a line was made, by the wall clock of that moment. */

import { type Clock, toRfc3339 } from "@toolspan/core";
import { APART_MS } from "./line-clock.ts";
import { nowText } from "./writer-identity.ts";

/** True when `clock`, which read the wall clock once, has lost it: it was set since, or the machine slept. */
export function hasLostTime(clock: Clock): boolean {
  const wall = clock.anchorSeconds * 1000 + (clock.anchorNanos + clock.now()) / 1e6;
  return Math.abs(wall - Date.now()) > APART_MS;
}

/** RFC 3339 of now by `clock`, as long as it has kept the time. */
export function timeText(clock: Clock): string {
  return hasLostTime(clock) ? nowText() : toRfc3339(clock, clock.now());
}
