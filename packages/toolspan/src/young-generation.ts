/** Keeps the garbage of a long stream from being mistaken for a need of memory. */

import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Looking takes some microseconds, and what calls may do so very often. */
const CHECK_MS = 5;

/**
 * Watches the space for new objects and stops its growth once there is enough.
 *
 * V8 doubles that space as long as a program makes garbage quickly, whatever little of it survives. The factor is read at
 * each growth, so it may be set while the program runs; a thread that starts sets it back, so it is set as often as need be.
 *
 * @param enoughBytes Size at which the space is large enough, both halves together.
 * @returns A function to call now and then.
 */
export function watchYoungGeneration(enoughBytes: number): () => void {
  let next = 0;
  return () => {
    const now = performance.now();
    if (now < next) return;
    next = now + CHECK_MS;
    const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
    if (space === undefined || space.physical_space_size < enoughBytes) return;
    setFlagsFromString("--semi-space-growth-factor=1");
  };
}
