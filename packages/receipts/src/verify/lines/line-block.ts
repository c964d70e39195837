/** Examined lines of a stretch of a log, packed so that they can go from one thread to another. */

import { MAX_LINE_BYTES } from "../../records/envelope.ts";
import { type ExaminedLine, examineLine, isKeyed, type KeyedFacts } from "./examine-line.ts";
import { LineBuffer } from "./line-buffer.ts";

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

export interface LineBlock {
  readonly lines: number;
  /** What each line is: an index of `KINDS`, 0 for a line that stands in `odd`. */
  readonly kinds: Uint8Array;
  readonly attempts: Uint32Array;
  /** Leaf, dispatch id and time of each line, ASCII. */
  readonly texts: Uint8Array;
  /** Lines that are not what most are: another record, a problem, another place than after the line before. */
  readonly odd: readonly ExaminedLine[];
  /** What stands after the last newline. */
  readonly tail: Uint8Array;
}

const KINDS = [null, "receipt", "intent", "late_settlement"] as const;
const LEAF = 64;
const ID = 36;
const TIME = 30;
const TEXT_BYTES = LEAF + ID + TIME;
const CHUNK_BYTES = 1 << 16;
const FIRST_LINES = 4096;

/** One of each in a thread: what a thread throws away, it holds on to for long. */
let reader: LineBuffer | undefined;
let packer: LinePacker | undefined;

/** Reads and examines a stretch. Throws what the system throws. */
export function packLines({ fd, from, to, log, strict }: LineRange): LineBlock {
  reader ??= new LineBuffer(CHUNK_BYTES, MAX_LINE_BYTES);
  packer ??= new LinePacker();
  reader.reset();
  packer.begin(log);
  for (let position = from, read = 1; read > 0; position += read) {
    read = reader.fill(fd, position, to - position);
    for (let line = reader.next(); line !== null; line = reader.next()) packer.add(examineLine(line, strict));
  }
  return packer.block(new Uint8Array(reader.rest()));
}

class LinePacker {
  #log: string | null = null;
  #odd: ExaminedLine[] = [];
  #kinds = new Uint8Array(FIRST_LINES);
  #attempts = new Uint32Array(FIRST_LINES);
  #texts: Buffer = Buffer.allocUnsafeSlow(FIRST_LINES * TEXT_BYTES);
  #lines = 0;
  #last: ExaminedLine | null = null;

  begin(log: string | null): void {
    this.#log = log;
    this.#odd = [];
    this.#lines = 0;
    this.#last = null;
  }

  add(line: ExaminedLine): void {
    if (this.#lines === this.#kinds.length) this.#grow();
    const { record } = line;
    const at = this.#lines++;
    if (record !== null && isKeyed(record) && this.#isUsual(line)) {
      this.#kinds[at] = KINDS.indexOf(record.record);
      this.#attempts[at] = record.record === "receipt" ? 0 : record.attempt;
      const start = at * TEXT_BYTES;
      this.#texts.write(line.leaf, start, "latin1");
      this.#texts.write(record.dispatch_id, start + LEAF, "latin1");
      this.#texts.write(record.emitted_at, start + LEAF + ID, "latin1");
    } else {
      this.#kinds[at] = 0;
      this.#odd.push(record !== null && isKeyed(record) ? { ...line, record: factsOf(record) } : line);
    }
    this.#last = line;
  }

  block(tail: Uint8Array): LineBlock {
    const lines = this.#lines;
    return {
      lines,
      kinds: this.#kinds.slice(0, lines),
      attempts: this.#attempts.slice(0, lines),
      texts: new Uint8Array(this.#texts.subarray(0, lines * TEXT_BYTES)),
      odd: this.#odd,
      tail,
    };
  }

  /** True when all that is not packed follows from the line before. */
  #isUsual({ chain, problem }: ExaminedLine): boolean {
    const last = this.#last;
    if (problem !== null || chain === null || last === null || last.chain === null) return false;
    return chain.log === this.#log && chain.seq === last.chain.seq + 1 && chain.prev === last.leaf;
  }

  #grow(): void {
    const [kinds, attempts, texts] = [this.#kinds, this.#attempts, this.#texts];
    this.#kinds = new Uint8Array(kinds.length * 2);
    this.#kinds.set(kinds);
    this.#attempts = new Uint32Array(attempts.length * 2);
    this.#attempts.set(attempts);
    this.#texts = Buffer.allocUnsafeSlow(texts.length * 2);
    texts.copy(this.#texts);
  }
}

function factsOf(record: KeyedFacts): KeyedFacts {
  const { dispatch_id, emitted_at } = record;
  if (record.record === "receipt") return { record: "receipt", dispatch_id, emitted_at };
  return { record: record.record, attempt: record.attempt, dispatch_id, emitted_at };
}

/** Calls `take` with each line of a block, in order. */
export function unpackLines(block: LineBlock, log: string | null, take: (line: ExaminedLine) => void): void {
  const texts = Buffer.from(block.texts.buffer, block.texts.byteOffset, block.texts.length);
  let odd = 0;
  let last: ExaminedLine | null = null;
  for (let at = 0; at < block.lines; at++) {
    const record = KINDS[block.kinds[at] as number] ?? null;
    const line: ExaminedLine =
      record === null || last === null || last.chain === null
        ? (block.odd[odd++] as ExaminedLine)
        : usualLine(record, texts, at, block.attempts[at] as number, {
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
  texts: Buffer,
  at: number,
  attempt: number,
  chain: ExaminedLine["chain"],
): ExaminedLine {
  const start = at * TEXT_BYTES;
  const leaf = texts.toString("latin1", start, start + LEAF);
  const dispatch_id = texts.toString("latin1", start + LEAF, start + LEAF + ID);
  const emitted_at = texts.toString("latin1", start + LEAF + ID, start + TEXT_BYTES);
  const facts: KeyedFacts =
    record === "receipt" ? { record, dispatch_id, emitted_at } : { record, attempt, dispatch_id, emitted_at };
  return { leaf, chain, problem: null, record: facts };
}
