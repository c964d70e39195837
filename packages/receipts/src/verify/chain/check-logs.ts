/** Checks logs one after another, their lines examined ahead by several threads where there is much to do. */

import { readLines } from "../lines/read-lines.ts";
import type { CheckedLog } from "./log-check.ts";
import type { LogRun } from "./log-run.ts";
import { ReadAhead } from "./read-ahead.ts";

export interface CheckLogsOptions {
  /** Threads, this one counted. */
  readonly workers: number;
  readonly strict: boolean;
  readonly totalBytes: number;
  /** How much a thread takes at a time, and below how much one thread does all; for tests. */
  readonly tuning?: { readonly blockBytes: number; readonly minBytes: number };
}

const BLOCK_BYTES = 1 << 18;
const MIN_BYTES = 8 << 20;

/**
 * Checks each log in order; gives what was found, or the error that ended it.
 *
 * The threads hash and parse; order, heads and everything else are judged here, line by line, whatever their number.
 */
export async function* checkLogs(
  runs: readonly LogRun[],
  { workers, strict, totalBytes, tuning }: CheckLogsOptions,
): AsyncGenerator<{ readonly checked: CheckedLog } | { readonly error: unknown }, void, void> {
  const { blockBytes, minBytes } = tuning ?? { blockBytes: BLOCK_BYTES, minBytes: MIN_BYTES };
  const ahead = workers > 1 && totalBytes >= minBytes ? new ReadAhead(runs, workers, strict, blockBytes) : null;
  try {
    for (const run of runs) {
      try {
        const checked = ahead !== null && run.divisible ? await ahead.check(run) : await checkAlone(run);
        yield { checked };
      } catch (error) {
        yield { error };
      }
    }
  } finally {
    await ahead?.close();
  }
}

async function checkAlone({ path, start, onBytes }: LogRun): Promise<CheckedLog> {
  const check = start();
  const tail = await readLines(path, (line, number) => check.take(line, number), { onBytes });
  return check.end(tail.bytes);
}
