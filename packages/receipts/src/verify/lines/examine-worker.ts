/** The other thread of a verification: examines stretches of logs as they are asked for. */

import { parentPort } from "node:worker_threads";
import { type LineBlock, type LineRange, packLines } from "./line-block.ts";
import { wordOf } from "./word-of.ts";

export interface ExamineJob {
  readonly id: number;
  readonly ranges: readonly LineRange[];
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

parentPort?.on("message", ({ id, ranges }: ExamineJob) => {
  const examined = ranges.map(examineRange);
  const buffers = examined.flatMap((each) =>
    "block" in each ? [each.block.kinds.buffer, each.block.attempts.buffer, each.block.texts.buffer] : [],
  );
  const answer: ExamineAnswer = { id, examined };
  parentPort?.postMessage(answer, buffers as ArrayBuffer[]);
});
