/** Logs in stretches that several threads examine ahead of the place where they are checked. */

import { closeSync, fstatSync, readSync } from "node:fs";
import type { Examined } from "../lines/examine-worker.ts";
import { unpackLines } from "../lines/line-block.ts";
import { giveRoom } from "../lines/line-room.ts";
import { type LineJob, LineWorkers } from "../lines/line-workers.ts";
import type { LineRange } from "../lines/pack-lines.ts";
import { openRegular } from "../lines/read-lines.ts";
import type { CheckedLog, LogCheck } from "./log-check.ts";
import type { LogRun } from "./log-run.ts";

/** So many small logs make one job at most. */
const MAX_RANGES = 64;
const PROBE_BYTES = 4096;
const NEWLINE = 0x0a;

/** One stretch of a log on its way. */
interface Piece {
  readonly run: LogRun;
  readonly check: LogCheck;
  /** Its place among the ranges of its job; null for a log that could not be opened. */
  readonly at: number | null;
  readonly failure: unknown;
  readonly bytes: number;
  /** The log's descriptor, with its last stretch. */
  readonly last: number | null;
}

interface Batch {
  readonly pieces: readonly Piece[];
  readonly job: LineJob;
}

export class ReadAhead {
  readonly #workers: LineWorkers;
  readonly #batches: Generator<Batch, void, void>;
  readonly #ahead: Batch[] = [];
  readonly #open = new Set<number>();
  readonly #pieces: Generator<Promise<readonly [Piece, Examined | null]>, void, void>;

  constructor(runs: readonly LogRun[], workers: number, strict: boolean, blockBytes: number) {
    this.#workers = new LineWorkers(workers);
    this.#batches = this.#batchesOf(runs, strict, blockBytes);
    this.#pieces = this.#inOrder();
  }

  /** Checks the next log. */
  async check(run: LogRun): Promise<CheckedLog> {
    let number = 0;
    let error: unknown = null;
    for (;;) {
      const next = this.#pieces.next();
      if (next.done === true) throw error ?? new TypeError("there is no such log");
      const [piece, examined] = await next.value;
      if (piece.failure !== null) throw piece.failure;
      if (examined !== null && "failure" in examined) error ??= new TypeError(examined.failure);
      else if (examined !== null && error === null) {
        unpackLines(examined.block, run.log, (line) => piece.check.place(line, ++number));
        giveRoom(examined.block.room);
        run.onBytes(piece.bytes);
      }
      if (piece.last === null) continue;
      this.#open.delete(piece.last);
      closeSync(piece.last);
      if (error !== null) throw error;
      return piece.check.end(
        examined !== null && "block" in examined ? Buffer.from(examined.block.tail) : Buffer.alloc(0),
      );
    }
  }

  async close(): Promise<void> {
    await this.#workers.close();
    for (const fd of this.#open) closeSync(fd);
  }

  *#inOrder(): Generator<Promise<readonly [Piece, Examined | null]>, void, void> {
    for (;;) {
      while (this.#ahead.length < this.#workers.window) {
        const next = this.#batches.next();
        if (next.done === true) break;
        this.#ahead.push(next.value);
      }
      const batch = this.#ahead.shift();
      if (batch === undefined) return;
      const result = this.#workers.result(batch.job);
      for (const piece of batch.pieces) {
        yield result.then((examined) => [piece, piece.at === null ? null : (examined[piece.at] ?? null)] as const);
      }
    }
  }

  *#batchesOf(runs: readonly LogRun[], strict: boolean, blockBytes: number): Generator<Batch, void, void> {
    let pieces: Piece[] = [];
    let ranges: LineRange[] = [];
    let bytes = 0;
    for (const run of runs) {
      if (!run.divisible) continue;
      for (const { piece, range } of this.#piecesOf(run, strict, blockBytes)) {
        pieces.push(range === null ? piece : { ...piece, at: ranges.length });
        if (range !== null) ranges.push(range);
        bytes += piece.bytes;
        if (bytes < blockBytes && ranges.length < MAX_RANGES) continue;
        yield { pieces, job: this.#workers.submit(ranges) };
        pieces = [];
        ranges = [];
        bytes = 0;
      }
    }
    if (pieces.length > 0) yield { pieces, job: this.#workers.submit(ranges) };
  }

  *#piecesOf(
    run: LogRun,
    strict: boolean,
    blockBytes: number,
  ): Generator<{ readonly piece: Piece; readonly range: LineRange | null }, void, void> {
    const check = run.start();
    let fd: number;
    try {
      fd = openRegular(run.path);
    } catch (failure) {
      yield { piece: { run, check, at: null, failure, bytes: 0, last: null }, range: null };
      return;
    }
    this.#open.add(fd);
    const { size } = fstatSync(fd);
    for (let from = 0, to = 0; to < size || from === 0; from = to) {
      to = from + blockBytes >= size ? size : lineEndAfter(fd, from + blockBytes, size);
      const last = to >= size ? fd : null;
      const range = { fd, from, to, log: run.log, strict };
      yield { piece: { run, check, at: 0, failure: null, bytes: to - from, last }, range };
      if (last !== null) return;
    }
  }
}

/** The place after the first newline from `position` on. */
function lineEndAfter(fd: number, position: number, size: number): number {
  const bytes = Buffer.allocUnsafe(PROBE_BYTES);
  for (let at = position - 1; at < size; at += PROBE_BYTES) {
    const read = readSync(fd, bytes, 0, PROBE_BYTES, at);
    const found = bytes.subarray(0, read).indexOf(NEWLINE);
    if (found !== -1) return at + found + 1;
    if (read === 0) return size;
  }
  return size;
}
