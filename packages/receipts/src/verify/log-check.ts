/** Checks one log, line by line: what each line is, where it stands, and that all of them are under a head. */

import { MerkleTree, sha256Hex } from "../log/merkle.ts";
import type { Anchor } from "./anchor-store.ts";
import type { Authors } from "./authors.ts";
import { Blames } from "./blames.ts";
import { ChainOrder } from "./chain-order.ts";
import type { Checks } from "./checks.ts";
import { type ExaminedLine, examineLine, type SeenRecord } from "./examine-line.ts";
import type { Findings } from "./findings.ts";
import { HeadWatch } from "./head-watch.ts";
import { judgeHeads } from "./judge-heads.ts";
import type { Line } from "./read-lines.ts";
import { Silences } from "./silences.ts";
import type { Claim } from "./survey.ts";
import type { Verdict } from "./verdicts.ts";

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
  #vouched = false;
  #openLines = 0;
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
    const { findings, allowOpen } = this.#options;
    this.#decideLastLink();
    this.#checkTorn(tail, this.#lines, false);
    this.#watch.end();
    // A writer may die between its closing line and the head over it; then a later log vouches for the line.
    const closed = this.#closedAt !== null && !this.#recovered();
    judgeHeads(this.#watch, { file: this.#file, lines: this.#lines, closed, blamed: this.#blames.first }, findings);
    if (this.#lines === 0) this.#judgeWordless(tail);
    else this.#judgeEnd(tail, allowOpen);
    return {
      lines: this.#lines,
      heads: this.#watch.entries,
      openLines: this.#openLines,
      recovered: this.#vouched,
      closed,
      anchored: this.#watch.good.anchor,
      anchoredReceipts: this.#anchoredReceipts,
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

  /** A writer may die between the making of a file and its first line; a later log says so. */
  #judgeWordless(tail: Buffer): void {
    const { claims, findings } = this.#options;
    const vouched = claims.some(({ torn, lines }) => torn !== null && lines === 0);
    if (vouched && (tail.length === 0 || this.#tornClaimed)) {
      findings.add("RECOVERED", this.#file, null, "its writer died before its first line; a later log says so");
    } else findings.add("NO_LINES", this.#file, null, "it has no complete line");
  }

  #judgeEnd(tail: Buffer, allowOpen: number | null): void {
    const { findings } = this.#options;
    const { good, torn } = this.#watch;
    const covered = Math.max(good.heads, good.head, good.anchor);
    const uncovered = this.#lines - covered;
    if (this.#closedAt !== null) {
      if (tail.length > 0)
        findings.add("AFTER_CLOSE", this.#file, this.#lines + 1, `${tail.length} bytes stand after the closing line`);
      if (uncovered === 0 || this.#excused(covered)) return;
      if (this.#recovered()) this.#nowVouched();
      else this.#beyond(covered, uncovered);
      return;
    }
    if (this.#recovered() && (tail.length === 0 || this.#tornClaimed)) {
      this.#nowVouched();
      return;
    }
    if (allowOpen !== null && uncovered <= allowOpen) {
      this.#openLines = uncovered;
      findings.add("OPEN", this.#file, null, `it is open, ${uncovered} lines lie beyond its last head`);
      return;
    }
    findings.add("UNCLOSED", this.#file, null, "it has no closing line");
    if (tail.length > 0) findings.add("TORN_TAIL", this.#file, this.#lines + 1, `${tail.length} bytes without an end`);
    if (uncovered > 0 && torn === null) this.#beyond(covered, uncovered);
  }

  #nowVouched(): void {
    this.#vouched = true;
    const message = `its writer died; a later log vouches for its ${this.#lines} lines`;
    this.#options.findings.add("RECOVERED", this.#file, null, message);
  }

  #beyond(covered: number, uncovered: number): void {
    const message =
      covered === 0 ? "no head covers it" : `the last head covers ${covered} lines, ${uncovered} stand beyond it`;
    this.#options.findings.add("BEYOND_HEAD", this.#file, covered + 1, message);
  }

  /** A missing or wrong head was told already; so was a wrong line. */
  #excused(covered: number): boolean {
    return this.#blames.first !== null || this.#watch.wrong.some(({ size }) => size > covered);
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
