/** Requests that wait for a collector: bounded by spans and bytes, compressed once more than a few wait. */

import type { Network } from "../built-ins.ts";

/** Beyond this a waiting request is compressed: a backlog of spans shrinks to a tenth, so a burst fits into the bound. */
const PLAIN_BYTES = 4 * 1024 * 1024;
const MAX_BYTES = 32 * 1024 * 1024;
/** The fastest: it runs where spans end. */
const LEVEL = 1;

export interface Request {
  readonly body: Uint8Array;
  /** True where `body` is compressed. */
  readonly gzipped: boolean;
  /** Spans in it. */
  readonly count: number;
}

export class Backlog {
  readonly #zlib: Network["zlib"];
  readonly #maxSpans: number;
  readonly #waiting: Request[] = [];
  #spans = 0;
  #bytes = 0;

  constructor(zlib: Network["zlib"], maxSpans: number) {
    this.#zlib = zlib;
    this.#maxSpans = maxSpans;
  }

  /** Spans that are here or have been taken and not yet been released. */
  get spans(): number {
    return this.#spans;
  }

  /** True where no further span may be taken on, `more` being those that are not here yet. */
  isFull(more: number): boolean {
    return this.#spans + more >= this.#maxSpans || this.#bytes >= MAX_BYTES;
  }

  push(body: Uint8Array, count: number): void {
    const gzipped = this.#bytes + body.length > PLAIN_BYTES;
    const kept = gzipped ? this.#zlib.gzipSync(body, { level: LEVEL }) : body;
    this.#waiting.push({ body: kept, gzipped, count });
    this.#spans += count;
    this.#bytes += kept.length;
  }

  /** The oldest; it counts as held until it is released. */
  take(): Request | undefined {
    return this.#waiting.shift();
  }

  /** Forgets everything. */
  clear(): void {
    this.#waiting.length = 0;
    this.#spans = 0;
    this.#bytes = 0;
  }

  release({ body, count }: Request): void {
    this.#spans -= count;
    this.#bytes -= body.length;
  }
}
