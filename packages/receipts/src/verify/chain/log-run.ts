/** A log that is to be checked. */

import type { LogCheck } from "./log-check.ts";

export interface LogRun {
  readonly path: string;
  readonly log: string | null;
  /** False for a log that has to be read from its beginning by one thread. */
  readonly divisible: boolean;
  /** Called once, before the first line is read: what vouches for lines has to be looked at before them. */
  start(): LogCheck;
  readonly onBytes: (bytes: number) => void;
}
