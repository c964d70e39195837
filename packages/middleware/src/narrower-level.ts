/** The order of side-effect levels, from no effect to the widest. */

import type { SideEffectLevel } from "@toolspan/core";

const RANK: Readonly<Record<SideEffectLevel, number>> = {
  none: 0,
  read_only: 1,
  workspace_write: 2,
  process_exec: 3,
  network: 4,
};

/** The narrower of two levels; one that is not given does not narrow. */
export function narrowerLevel(
  one: SideEffectLevel | undefined,
  two: SideEffectLevel | undefined,
): SideEffectLevel | undefined {
  if (one === undefined || two === undefined) return one ?? two;
  return RANK[one] <= RANK[two] ? one : two;
}
