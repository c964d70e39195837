/** Examined lines of a stretch of a log, packed so that they can go from one thread to another. */

import type { ExaminedLine, KeyedFacts } from "./examine-line.ts";
import { type LineRoom, lineRoom, TEXT_BYTES } from "./line-room.ts";

/** Lines in a room: what each line is, an index of `KINDS`, 0 for a line that stands in `odd`; leaf, dispatch id and time of each, ASCII. */
export interface LineBlock {
  readonly lines: number;
  readonly room: ArrayBuffer;
  /** Lines that are not what most are: another record, a problem, another place than after the line before. */
  readonly odd: readonly ExaminedLine[];
  /** What stands after the last newline. */
  readonly tail: Uint8Array;
}

export const KINDS = [null, "receipt", "intent", "late_settlement"] as const;
export const LEAF = 64;
export const ID = 36;

/** Calls `take` with each line of a block, in order. */
export function unpackLines(block: LineBlock, log: string | null, take: (line: ExaminedLine) => void): void {
  const room = lineRoom(block.room);
  let odd = 0;
  let last: ExaminedLine | null = null;
  for (let at = 0; at < block.lines; at++) {
    const record = KINDS[room.kinds[at] as number] ?? null;
    const line: ExaminedLine =
      record === null || last === null || last.chain === null
        ? (block.odd[odd++] as ExaminedLine)
        : usualLine(record, room, at, {
            log: log ?? "",
            seq: last.chain.seq + 1,
            prev: last.leaf,
          });
    take(line);
    last = line;
  }
}

function usualLine(
  record: KeyedFacts["record"],
  { texts, attempts }: LineRoom,
  at: number,
  chain: ExaminedLine["chain"],
): ExaminedLine {
  const attempt = attempts[at] as number;
  const start = at * TEXT_BYTES;
  const leaf = texts.toString("latin1", start, start + LEAF);
  const dispatch_id = texts.toString("latin1", start + LEAF, start + LEAF + ID);
  const emitted_at = texts.toString("latin1", start + LEAF + ID, start + TEXT_BYTES);
  const facts: KeyedFacts =
    record === "receipt" ? { record, dispatch_id, emitted_at } : { record, attempt, dispatch_id, emitted_at };
  return { leaf, chain, problem: null, record: facts };
}
