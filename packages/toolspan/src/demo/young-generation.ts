/** Keeps the garbage of a long stream from being mistaken for a need of memory. */

import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

const MB = 1024 * 1024;
/** Both halves together. The demo is no slower with it; Node 24 by itself goes on to 96 MB. */
const ENOUGH = 8 * MB;

/**
 * Watches the space for new objects and stops its growth once there is enough.
 *
 * V8 doubles that space as long as a program makes garbage quickly, whatever little of it survives. The factor is read at
 * each growth, so it may be set while the program runs.
 *
 * @returns A function to call now and then; after the last growth it does nothing.
 */
export function watchYoungGeneration(): () => void {
  let growing = true;
  return () => {
    if (!growing) return;
    const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
    if (space === undefined || space.physical_space_size < ENOUGH) return;
    setFlagsFromString("--semi-space-growth-factor=1");
    growing = false;
  };
}
