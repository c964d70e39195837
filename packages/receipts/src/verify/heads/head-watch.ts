/** What vouches for a log's lines, its heads and the claims of later logs, each compared when its size is reached. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { headFiles } from "../../log/head-files.ts";
import { EMPTY_ROOT } from "../../log/merkle.ts";
import type { Checks } from "../checks.ts";
import type { Claim } from "../survey/survey.ts";
import type { Authors } from "../trust/authors.ts";
import type { Anchor } from "./anchor-store.ts";
import { type Head, HeadReader } from "./head-reader.ts";
import { type Fork, type HeadDamage, isFork, type Voucher } from "./voucher.ts";

export interface HeadWatchOptions {
  readonly folder: string;
  /** A file's name as findings give it. */
  readonly label: (file: string) => string;
  readonly log: string;
  /** Origins of its heads, as its first line says; null when that is not there. */
  readonly origins: readonly string[] | null;
  readonly claims: readonly Claim[];
  /** Heads of it that were kept elsewhere, smallest first. */
  readonly anchors: readonly Anchor[];
  readonly checks: Checks;
  /** Judges who signed; null when nobody asks. */
  readonly authors: Authors | null;
}

const MAX_KEPT = 64;

export class HeadWatch {
  readonly allName: string;
  readonly latestName: string;
  readonly hasAll: boolean;
  readonly hasLatest: boolean;
  /** Vouchers whose root is not that of the lines. */
  readonly wrong: Voucher[] = [];
  /** Vouchers for more lines than were reached. */
  readonly beyond: Voucher[] = [];
  readonly damaged: HeadDamage[] = [];
  /** Largest size that a right root was stated for. */
  readonly good: Record<Voucher["source"], number> = { heads: 0, head: 0, claim: 0, anchor: 0 };
  /** As `good`, for heads beside the log that trusted keys have signed. */
  goodSigned = 0;
  /** Line of an entry that was not written to its end. */
  torn: number | null = null;
  entries = 0;
  readonly forks: Fork[] = [];
  /** Text of the latest head, and of the last entry that it could equal. */
  latest: string | null = null;
  latestListed = false;
  lastEntry: string | null = null;
  /** Size at which `reached` has something to do. */
  nextSize: number = Number.POSITIVE_INFINITY;
  readonly #checks: Checks;
  readonly #authors: Authors | null;
  readonly #reader: HeadReader | null;
  /** Claims, the latest head and anchors, smallest first. */
  readonly #single: Voucher[];
  /** How many of them were compared. */
  #compared = 0;
  #entry: Voucher | null = null;

  constructor({ folder, label, log, origins, claims, anchors, checks, authors }: HeadWatchOptions) {
    const { all, latest } = headFiles(log);
    this.allName = label(all);
    this.latestName = label(latest);
    // A writer may be at work: what it writes first is looked at last, so that a latest head is among all of them.
    this.hasLatest = existsSync(join(folder, latest));
    this.#checks = checks;
    this.#authors = authors;
    this.#single = claims.map(({ file, line, lines, root }) => ({
      source: "claim",
      file,
      line,
      size: lines,
      root,
      signed: false,
    }));
    for (const anchor of anchors) this.#takeAnchor(anchor);
    if (this.hasLatest) this.#readLatest(join(folder, latest), log);
    this.#single.sort((a, b) => a.size - b.size);
    this.hasAll = existsSync(join(folder, all));
    this.#reader = this.hasAll ? this.#openAll(join(folder, all), log, origins) : null;
    this.#advance();
    // A log may have been seen before its first line was there.
    this.reached(0, () => EMPTY_ROOT);
  }

  /** Compares what vouches for exactly `size` lines. */
  reached(size: number, rootOf: () => string): void {
    const root = rootOf();
    while (this.#entry?.size === size) {
      this.#judge(this.#entry, root);
      this.#advance();
    }
    for (; this.#single[this.#compared]?.size === size; this.#compared++) {
      this.#judge(this.#single[this.#compared] as Voucher, root);
    }
    this.#plan();
  }

  /** After the last line: whatever is left vouches for more. */
  end(): void {
    this.beyond.push(...this.#single.slice(this.#compared));
    for (; this.#entry !== null; this.#advance()) this.#keep(this.beyond, this.#entry);
    this.#reader?.close();
  }

  #judge(voucher: Voucher, root: string): void {
    if (!this.#checks.root(voucher.root, root)) this.#keep(this.wrong, voucher);
    else {
      this.good[voucher.source] = Math.max(this.good[voucher.source], voucher.size);
      if (!voucher.signed) return;
      if (voucher.source !== "anchor") this.goodSigned = Math.max(this.goodSigned, voucher.size);
      this.#authors?.covers(voucher.size);
    }
  }

  /** Reads on in the file of all heads. */
  #advance(): void {
    const last = this.#entry;
    this.#entry = null;
    for (let found = this.#reader?.next() ?? null; found !== null; found = this.#reader?.next() ?? null) {
      if (found.kind === "torn") this.torn = found.line;
      if (found.kind === "damaged") this.#damage(this.allName, found.line, "it is not an entry of this log");
      if (found.kind !== "head") continue;
      this.entries++;
      const voucher = this.#voucherOf("heads", this.allName, found);
      this.lastEntry = found.text;
      if (found.text === this.latest) this.latestListed = true;
      if (found.head.size <= (last?.size ?? 0)) {
        if (isFork(last, voucher)) this.forks.push(voucher);
        else this.#damage(this.allName, found.line, "its entry is not larger than the one before");
        continue;
      }
      this.#entry = voucher;
      break;
    }
    this.#plan();
  }

  #plan(): void {
    this.nextSize = Math.min(this.#entry?.size ?? Infinity, this.#single[this.#compared]?.size ?? Infinity);
  }

  #openAll(path: string, log: string, origins: readonly string[] | null): HeadReader | null {
    try {
      return new HeadReader(path, log, origins);
    } catch {
      this.#damage(this.allName, 1, "it cannot be read");
      return null;
    }
  }

  /** Of a head with a bad signature nothing counts. */
  #takeAnchor({ file, line, size, root, signing }: Anchor): void {
    const signed = signing !== null && this.#authors?.note({ file, line, size }, signing) === true;
    if (signing?.by !== "bad") this.#single.push({ source: "anchor", file, line, size, root, signed });
  }

  #readLatest(path: string, log: string): void {
    try {
      const reader = new HeadReader(path, log);
      const first = reader.next();
      const more = reader.next();
      reader.close();
      if (first?.kind === "head" && more === null) {
        this.latest = first.text;
        this.#single.push(this.#voucherOf("head", this.latestName, first));
        return;
      }
      this.#damage(
        this.latestName,
        more === null || first?.kind !== "head" ? 1 : more.line,
        "it is not one head of this log",
      );
    } catch {
      this.#damage(this.latestName, 1, "it cannot be read");
    }
  }

  #voucherOf(source: "heads" | "head", file: string, entry: Head): Voucher {
    const { size, root } = entry.head;
    return { source, file, line: entry.line, size, root, signed: this.#authors?.take(file, entry) === true };
  }

  #damage(file: string, line: number, message: string): void {
    if (this.damaged.length < MAX_KEPT) this.damaged.push({ file, line, message });
  }

  #keep(list: Voucher[], voucher: Voucher): void {
    if (list.length < MAX_KEPT) list.push(voucher);
  }
}
