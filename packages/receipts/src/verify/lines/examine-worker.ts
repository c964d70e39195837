/** The other thread of a verification: examines stretches of logs as they are asked for. */

import { parentPort } from "node:worker_threads";
import type { LineBlock } from "./line-block.ts";
import { giveRoom } from "./line-room.ts";
import { type LineRange, packLines } from "./pack-lines.ts";
import { wordOf } from "./word-of.ts";

export interface ExamineJob {
  readonly id: number;
  readonly ranges: readonly LineRange[];
  /** Rooms that are free again. */
  readonly rooms: readonly ArrayBuffer[];
}

/** A block, or why a stretch could not be read. */
export type Examined = { readonly block: LineBlock } | { readonly failure: string };

export interface ExamineAnswer {
  readonly id: number;
  readonly examined: readonly Examined[];
}

export function examineRange(range: LineRange): Examined {
  try {
    return { block: packLines(range) };
  } catch (error) {
    return { failure: wordOf(error) };
  }
}

parentPort?.on("message", ({ id, ranges, rooms }: ExamineJob) => {
  for (const room of rooms) giveRoom(room);
  const examined = ranges.map(examineRange);
  const answer: ExamineAnswer = { id, examined };
  const answered = examined.flatMap((each) => ("block" in each ? [each.block.room] : []));
  parentPort?.postMessage(answer, answered);
});
