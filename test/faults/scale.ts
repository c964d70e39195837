// How much is run: enough for every change, or with FAULTS=full the whole.
export const FULL: boolean = process.env.FAULTS === "full";

export function scaled(usually: number, full: number): number {
  return FULL ? full : usually;
}

/** Time that a test of `runs` runs may take, milliseconds; generous, for machines that do other things too. */
export function timeFor(runs: number): number {
  return 60_000 + runs * 5_000;
}
