/** Reads and examines a stretch of a log, and packs its lines into a block. */

import { MAX_LINE_BYTES } from "../../records/envelope.ts";
import { type ExaminedLine, examineLine, isKeyed, type KeyedFacts } from "./examine-line.ts";
import { ID, KINDS, LEAF, type LineBlock } from "./line-block.ts";
import { LineBuffer } from "./line-buffer.ts";
import { giveRoom, type LineRoom, lineRoom, TEXT_BYTES, takeRoom } from "./line-room.ts";

/** A stretch of a file, from the beginning of a line to the end of one. */
export interface LineRange {
  /** Open in this process. */
  readonly fd: number;
  readonly from: number;
  readonly to: number;
  /** The log that its lines should belong to. */
  readonly log: string | null;
  readonly strict: boolean;
}

const CHUNK_BYTES = 1 << 16;
/** Lines are seldom shorter; where they are, the room grows. */
const LINE_BYTES = 512;

/** One of each in a thread: what a thread throws away, it holds on to for long. */
let reader: LineBuffer | undefined;
let packer: LinePacker | undefined;

/** Reads and examines a stretch. Throws what the system throws. */
export function packLines({ fd, from, to, log, strict }: LineRange): LineBlock {
  reader ??= new LineBuffer(CHUNK_BYTES, MAX_LINE_BYTES);
  packer ??= new LinePacker();
  reader.reset();
  packer.begin(log, 1 + Math.ceil((to - from) / LINE_BYTES));
  for (let position = from, read = 1; read > 0; position += read) {
    read = reader.fill(fd, position, to - position);
    for (let line = reader.next(); line !== null; line = reader.next()) packer.add(examineLine(line, strict));
  }
  return packer.block(new Uint8Array(reader.rest()));
}

class LinePacker {
  #log: string | null = null;
  #odd: ExaminedLine[] = [];
  #room: LineRoom = lineRoom(new ArrayBuffer(0));
  #lines = 0;
  #last: ExaminedLine | null = null;

  /** @param lines How many there may be; more are taken too. */
  begin(log: string | null, lines: number): void {
    this.#log = log;
    this.#room = takeRoom(lines);
    this.#odd = [];
    this.#lines = 0;
    this.#last = null;
  }

  add(line: ExaminedLine): void {
    if (this.#lines === this.#room.capacity) this.#grow();
    const { kinds, attempts, texts } = this.#room;
    const { record } = line;
    const at = this.#lines++;
    if (record !== null && isKeyed(record) && this.#isUsual(line)) {
      kinds[at] = KINDS.indexOf(record.record);
      attempts[at] = record.record === "receipt" ? 0 : record.attempt;
      const start = at * TEXT_BYTES;
      texts.write(line.leaf, start, "latin1");
      texts.write(record.dispatch_id, start + LEAF, "latin1");
      texts.write(record.emitted_at, start + LEAF + ID, "latin1");
    } else {
      kinds[at] = 0;
      this.#odd.push(record !== null && isKeyed(record) ? { ...line, record: factsOf(record) } : line);
    }
    this.#last = line;
  }

  block(tail: Uint8Array): LineBlock {
    return { lines: this.#lines, room: this.#room.bytes, odd: this.#odd, tail };
  }

  /** True when all that is not packed follows from the line before. */
  #isUsual({ chain, problem }: ExaminedLine): boolean {
    const last = this.#last;
    if (problem !== null || chain === null || last === null || last.chain === null) return false;
    return chain.log === this.#log && chain.seq === last.chain.seq + 1 && chain.prev === last.leaf;
  }

  #grow(): void {
    const small = this.#room;
    this.#room = takeRoom(small.capacity * 2);
    this.#room.attempts.set(small.attempts);
    this.#room.texts.set(small.texts);
    this.#room.kinds.set(small.kinds);
    giveRoom(small.bytes);
  }
}

function factsOf(record: KeyedFacts): KeyedFacts {
  const { dispatch_id, emitted_at } = record;
  if (record.record === "receipt") return { record: "receipt", dispatch_id, emitted_at };
  return { record: record.record, attempt: record.attempt, dispatch_id, emitted_at };
}
