/** Checks one log, line by line: what each line is, where it stands, and that all of them are under a head. */

import { MerkleTree, sha256Hex } from "../../log/merkle.ts";
import type { Checks } from "../checks.ts";
import type { Findings } from "../findings.ts";
import type { Anchor } from "../heads/anchor-store.ts";
import { HeadWatch } from "../heads/head-watch.ts";
import { judgeHeads } from "../heads/judge-heads.ts";
import { type ExaminedLine, examineLine, type SeenRecord } from "../lines/examine-line.ts";
import type { Line } from "../lines/line-buffer.ts";
import type { Claim } from "../survey/survey.ts";
import type { Authors } from "../trust/authors.ts";
import type { Verdict } from "../verdicts.ts";
import { Blames } from "./blames.ts";
import { ChainOrder } from "./chain-order.ts";
import { judgeEnd, type LogEnd } from "./judge-end.ts";
import { Silences } from "./silences.ts";

export interface LogCheckOptions {
  readonly folder: string;
  readonly file: string;
  /** Null when no line says which log it is. */
  readonly log: string | null;
  /** Origins of its heads; null when they are not known. */
  readonly origins: readonly string[] | null;
  readonly claims: readonly Claim[];
  /** Heads of it that were kept elsewhere, smallest first. */
  readonly anchors: readonly Anchor[];
  readonly label: (file: string) => string;
  readonly checks: Checks;
  readonly strict: boolean;
  /** Lines beyond the last head that an open log may have; null when it may not be open. */
  readonly allowOpen: number | null;
  readonly findings: Findings;
  /** Judges who signed; null when nobody asks. */
  readonly authors: Authors | null;
  /** Told of each line that is what its schema says. */
  readonly onRecord: (record: SeenRecord, line: number) => void;
}

export interface CheckedLog {
  readonly lines: number;
  readonly heads: number;
  /** Lines beyond the last head that were accepted. */
  readonly openLines: number;
  /** True when a later log vouches for all that a dead writer left. */
  readonly recovered: boolean;
  readonly closed: boolean;
  /** True when a line, or what vouches for lines, was found at fault. */
  readonly blamed: boolean;
  /** Lines under a right head beside it. */
  readonly headed: number;
  /** Lines under a right head that was kept elsewhere, and receipts among them. */
  readonly anchored: number;
  readonly anchoredReceipts: number;
}

/** Takes the lines of one log and reports into `findings`. */
export class LogCheck {
  readonly #options: LogCheckOptions;
  readonly #file: string;
  readonly #watch: HeadWatch;
  readonly #blames: Blames;
  readonly #order: ChainOrder;
  readonly #silences: Silences;
  readonly #tree = new MerkleTree();
  #lines = 0;
  /** The last leaf, which the tree does not have yet, so that it can be taken back. */
  #last: string | null = null;
  #closedAt: number | null = null;
  #tornClaimed = false;
  #receipts = 0;
  #anchoredReceipts = 0;

  constructor(options: LogCheckOptions) {
    this.#options = options;
    this.#file = options.label(options.file);
    const { folder, label, log, origins, claims, anchors, checks, findings, authors } = options;
    this.#watch = new HeadWatch({ folder, label, log: log ?? "", origins, claims, anchors, checks, authors });
    this.#blames = new Blames(findings, this.#file);
    this.#order = new ChainOrder(log, checks, this.#blames);
    this.#silences = new Silences(findings, this.#file);
  }

  take(line: Line, number: number): void {
    this.#checkTorn(line.bytes, number - 1, true);
    this.place(examineLine(line, this.#options.strict), number);
  }

  /** Takes a line of a log of which no `recovery` line says anything. */
  place({ leaf, chain, problem, record }: ExaminedLine, number: number): void {
    this.#lines = number;
    if (this.#closedAt !== null) this.#blames.add("AFTER_CLOSE", number, `line ${this.#closedAt} has closed the log`);
    if (problem !== null) this.#report(problem.verdict, number, problem.message);
    this.#order.place(chain, leaf, number, { leaf: this.#last, tree: this.#tree });
    if (record !== null) {
      this.#options.authors?.sees(record, number);
      this.#silences.sees(record, number);
    }
    if (record?.record === "receipt") this.#receipts++;
    this.#add(leaf);
    if (record === null) return;
    if (number === 1 && record.record !== "segment_open" && this.#blames.first === null) {
      this.#blames.add("MISSING", 1, "the line that opens a log is not there");
    }
    if (record.record === "segment_close") this.#closedAt = number;
    this.#options.onRecord(record, number);
  }

  #add(leaf: string): void {
    if (this.#last !== null) this.#tree.add(this.#last);
    this.#last = leaf;
    if (this.#watch.nextSize <= this.#lines) this.#watch.reached(this.#lines, () => this.#root());
    if (this.#watch.good.anchor === this.#lines) this.#anchoredReceipts = this.#receipts;
  }

  #root(): string {
    const tree = this.#tree.copy();
    if (this.#last !== null) tree.add(this.#last);
    return tree.root();
  }

  end(tail: Buffer): CheckedLog {
    const { findings } = this.#options;
    this.#decideLastLink();
    this.#checkTorn(tail, this.#lines, false);
    this.#watch.end();
    // A writer may die between its closing line and the head over it; then a later log vouches for the line.
    const closed = this.#closedAt !== null && !this.#recovered();
    judgeHeads(this.#watch, { file: this.#file, lines: this.#lines, closed, blamed: this.#blames.first }, findings);
    const { openLines, recovered } = judgeEnd(this.#watch, this.#endOf(tail), findings);
    return {
      lines: this.#lines,
      heads: this.#watch.entries,
      openLines,
      recovered,
      closed,
      blamed: this.#blames.first !== null || this.#watch.wrong.length > 0,
      headed: Math.max(this.#watch.good.heads, this.#watch.good.head),
      anchored: this.#watch.good.anchor,
      anchoredReceipts: this.#anchoredReceipts,
    };
  }

  #endOf(tail: Buffer): LogEnd {
    const { allowOpen, claims } = this.#options;
    return {
      file: this.#file,
      lines: this.#lines,
      tail: tail.length,
      closed: this.#closedAt !== null,
      blamed: this.#blames.first !== null,
      wordless: claims.some(({ torn, lines }) => torn !== null && lines === 0),
      recovered: this.#recovered(),
      tailKnown: tail.length === 0 || this.#tornClaimed,
      allowOpen,
    };
  }

  /** The last two lines disagree: a head over both tells which, if there is one. */
  #decideLastLink(): void {
    const suspicion = this.#order.takeSuspicion();
    if (suspicion === null) return;
    const { before, named, tree } = suspicion;
    tree.add(named);
    tree.add(this.#last as string);
    const asNamed = tree.root();
    const vouched = this.#watch.wrong.some(
      ({ size, root }) => size === this.#lines && this.#options.checks.root(root, asNamed),
    );
    const headed = this.#watch.wrong.some(({ size }) => size === this.#lines);
    const isSecond = headed && !vouched && before + 1 === this.#lines;
    this.#blames.add("MODIFIED", isSecond ? before + 1 : before, "it and its neighbour name different lines");
  }

  #recovered(): boolean {
    return (
      this.#options.claims.some(({ torn, lines }) => torn !== null && lines === this.#lines) &&
      this.#watch.good.claim === this.#lines
    );
  }

  /** What a `recovery` line says of the bytes after the lines it counts. */
  #checkTorn(bytes: Buffer, lines: number, complete: boolean): void {
    for (const { torn, lines: claimed, file } of this.#options.claims) {
      if (torn === null || claimed !== lines) continue;
      if (torn.bytes > bytes.length + (complete ? 1 : 0)) {
        this.#blames.add("TRUNCATED", lines + 1, `${file} found ${torn.bytes} bytes here, there are ${bytes.length}`);
      } else if (torn.bytes > 0 && `sha256:${sha256Hex(bytes.subarray(0, torn.bytes))}` !== torn.hash) {
        this.#blames.add("CLAIM_MISMATCH", lines + 1, `${file} found other bytes here`);
      } else this.#tornClaimed = !complete && torn.bytes === bytes.length;
    }
  }

  /** What cannot be said is no blame: its place in the chain is checked all the same. */
  #report(verdict: Verdict, line: number, message: string): void {
    if (verdict === "UNKNOWN_RECORD") this.#options.findings.add(verdict, this.#file, line, message);
    else this.#blames.add(verdict, line, message);
  }
}
