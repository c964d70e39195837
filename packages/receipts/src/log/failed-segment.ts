/** What is said of a log whose descriptor has failed, and what is left of its file. */

import { unlinkSync } from "node:fs";
import { diagnostics } from "@toolspan/core";

export interface FailedSegment {
  readonly path: string;
  /** Lines that the operating system had accepted. */
  readonly written: number;
  readonly durable: number;
  /** True when the file is not the one any more that was written. */
  readonly displaced: boolean;
}

/** Reports the failure, and removes a file in which nothing was ever claimed. */
export function settleFailed({ path, written, durable, displaced }: FailedSegment): void {
  if (displaced) {
    const message = `${path} was cut, replaced or removed by somebody else: ${durable} durable lines may be gone from it; a new log takes over`;
    diagnostics.report("receipts.local", "log_displaced", message);
  } else if (written > 0) {
    const message = `${path} failed after ${durable} durable lines; a new log takes over`;
    diagnostics.report("receipts.local", "log_failed", message);
  }
  if (written === 0) remove(path);
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It stays as an empty or torn file, which readers take for what it is.
  }
}
