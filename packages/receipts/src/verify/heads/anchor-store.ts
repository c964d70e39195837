/** Heads that were kept elsewhere, 64 bytes each, by log and size. */

import type { Signing } from "../trust/signing.ts";
import type { TrustedKey } from "../trust/trust.ts";

/** A head that was kept where the log's writer cannot reach it. */
export interface Anchor {
  readonly log: string;
  readonly size: number;
  /** Lower-case hex. */
  readonly root: string;
  /** File of anchors, as it was named, and the line in it. */
  readonly file: string;
  readonly line: number;
  /** Null when nobody asks who signed. */
  readonly signing: Signing | null;
}

const ENTRY_BYTES = 64;
const LOG_BYTES = 16;
const SIZE_AT = 16;
const ROOT_AT = 24;
const ROOT_END = 56;
const SIGNING_AT = 56;
const FILE_AT = 58;
const LINE_AT = 60;
const FIRST_ENTRIES = 1024;
const MAX_ENTRIES = 500_000;
/** Numbers of what a signature can be; keys count from here. */
const SIGNINGS = [null, { by: "nobody" }, { by: "unknown" }, { by: "bad" }] as const;

export class AnchorStore {
  /** True when there were more than fit. */
  full = false;
  readonly #maxEntries: number;
  #bytes: Buffer = Buffer.alloc(FIRST_ENTRIES * ENTRY_BYTES);
  #count = 0;
  #sorted = true;
  readonly #files: string[] = [];
  readonly #keys: TrustedKey[] = [];

  /** @param maxEntries Bound of what is kept; for tests. */
  constructor(maxEntries: number = MAX_ENTRIES) {
    this.#maxEntries = maxEntries;
  }

  /** Heads that are kept, each once. */
  get count(): number {
    this.#sort();
    return this.#count;
  }

  add({ log, size, root, file, line, signing }: Anchor): void {
    if (!this.#hasRoom()) {
      this.full = true;
      return;
    }
    const at = this.#count * ENTRY_BYTES;
    this.#bytes.write(log.replaceAll("-", ""), at, "hex");
    this.#bytes.writeDoubleBE(size, at + SIZE_AT);
    this.#bytes.write(root, at + ROOT_AT, "hex");
    this.#bytes.writeUInt16BE(this.#numberOf(signing), at + SIGNING_AT);
    this.#bytes.writeUInt16BE(indexIn(this.#files, file), at + FILE_AT);
    this.#bytes.writeUInt32BE(line, at + LINE_AT);
    this.#count++;
    this.#sorted = false;
  }

  /** Every log that has an anchor, with its anchors, smallest first. */
  *logs(): Generator<{ readonly log: string; readonly anchors: readonly Anchor[] }, void, void> {
    this.#sort();
    for (let from = 0; from < this.#count; ) {
      const log = this.#anchorAt(from).log;
      const anchors = this.#anchorsFrom(from);
      yield { log, anchors };
      from += anchors.length;
    }
  }

  /** The anchors of one log, smallest first. */
  of(log: string): readonly Anchor[] {
    this.#sort();
    const wanted = Buffer.from(log.replaceAll("-", ""), "hex");
    let low = 0;
    for (let high = this.#count; low < high; ) {
      const middle = (low + high) >> 1;
      const at = middle * ENTRY_BYTES;
      if (this.#bytes.compare(wanted, 0, LOG_BYTES, at, at + LOG_BYTES) < 0) low = middle + 1;
      else high = middle;
    }
    return low < this.#count && this.#isOfLog(low, wanted) ? this.#anchorsFrom(low) : [];
  }

  #anchorsFrom(from: number): readonly Anchor[] {
    const log = Buffer.from(this.#bytes.subarray(from * ENTRY_BYTES, from * ENTRY_BYTES + LOG_BYTES));
    const anchors: Anchor[] = [];
    for (let i = from; i < this.#count && this.#isOfLog(i, log); i++) anchors.push(this.#anchorAt(i));
    return anchors;
  }

  #isOfLog(index: number, log: Buffer): boolean {
    const at = index * ENTRY_BYTES;
    return this.#bytes.compare(log, 0, LOG_BYTES, at, at + LOG_BYTES) === 0;
  }

  #anchorAt(index: number): Anchor {
    const at = index * ENTRY_BYTES;
    const hex = this.#bytes.toString("hex", at, at + LOG_BYTES);
    const number = this.#bytes.readUInt16BE(at + SIGNING_AT);
    const key = this.#keys[number - SIGNINGS.length];
    return {
      log: hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"),
      size: this.#bytes.readDoubleBE(at + SIZE_AT),
      root: this.#bytes.toString("hex", at + ROOT_AT, at + ROOT_END),
      file: this.#files[this.#bytes.readUInt16BE(at + FILE_AT)] as string,
      line: this.#bytes.readUInt32BE(at + LINE_AT),
      signing: key === undefined ? (SIGNINGS[number] ?? null) : { by: "trusted", key },
    };
  }

  #numberOf(signing: Signing | null): number {
    if (signing?.by === "trusted") return SIGNINGS.length + indexIn(this.#keys, signing.key);
    return SIGNINGS.findIndex((known) => known?.by === signing?.by);
  }

  /** Grows; at its bound gives up what stands twice. */
  #hasRoom(): boolean {
    if (this.#count * ENTRY_BYTES < this.#bytes.length && this.#count < this.#maxEntries) return true;
    this.#sort();
    if (this.#count > this.#maxEntries * 0.9) return false;
    if (this.#count * ENTRY_BYTES * 2 > this.#bytes.length) {
      const larger = Buffer.alloc(Math.min(this.#maxEntries * ENTRY_BYTES, this.#bytes.length * 2));
      this.#bytes.copy(larger, 0, 0, this.#count * ENTRY_BYTES);
      this.#bytes = larger;
    }
    return this.#count * ENTRY_BYTES < this.#bytes.length;
  }

  /** By log, size, root, who signed, and place; of equal heads the first is kept. */
  #sort(): void {
    if (this.#sorted) return;
    this.#sorted = true;
    const bytes = this.#bytes;
    const compare = (a: number, b: number, length: number): number =>
      bytes.compare(bytes, b * ENTRY_BYTES, b * ENTRY_BYTES + length, a * ENTRY_BYTES, a * ENTRY_BYTES + length);
    const order = Uint32Array.from({ length: this.#count }, (_, i) => i).sort((a, b) => compare(a, b, ENTRY_BYTES));
    const kept = order.filter((entry, i) => i === 0 || compare(entry, order[i - 1] as number, FILE_AT) !== 0);
    const sorted = Buffer.alloc(bytes.length);
    for (const [i, entry] of kept.entries()) {
      bytes.copy(sorted, i * ENTRY_BYTES, entry * ENTRY_BYTES, (entry + 1) * ENTRY_BYTES);
    }
    this.#bytes = sorted;
    this.#count = kept.length;
  }
}

function indexIn<T>(list: T[], item: T): number {
  const found = list.indexOf(item);
  return found === -1 ? list.push(item) - 1 : found;
}
