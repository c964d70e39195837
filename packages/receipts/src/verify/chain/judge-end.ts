/** How a log ends: closed, open, left by a writer that died, or with lines that nothing vouches for. */

import type { Findings } from "../findings.ts";
import type { HeadWatch } from "../heads/head-watch.ts";

/** What a log's last lines are, for judging its end. */
export interface LogEnd {
  readonly file: string;
  readonly lines: number;
  /** Bytes after the last newline. */
  readonly tail: number;
  /** True when there is a closing line. */
  readonly closed: boolean;
  /** True when a line was found at fault. */
  readonly blamed: boolean;
  /** True when a later log says that its writer died before its first line. */
  readonly wordless: boolean;
  /** True when a later log vouches for all complete lines. */
  readonly recovered: boolean;
  /** True when there is no tail, or a later log describes it. */
  readonly tailKnown: boolean;
  /** Lines beyond the last head that an open log may have; null when it may not be open. */
  readonly allowOpen: number | null;
}

export interface JudgedEnd {
  /** Lines beyond the last head that were accepted. */
  readonly openLines: number;
  /** True when a later log vouches for all that a dead writer left. */
  readonly recovered: boolean;
}

const PLAIN: JudgedEnd = { openLines: 0, recovered: false };

export function judgeEnd(watch: HeadWatch, end: LogEnd, findings: Findings): JudgedEnd {
  if (end.lines === 0) return judgeWordless(end, findings);
  return end.closed ? judgeClosed(watch, end, findings) : judgeUnclosed(watch, end, findings);
}

/** A writer may die between the making of a file and its first line; a later log says so. */
function judgeWordless({ file, wordless, tailKnown }: LogEnd, findings: Findings): JudgedEnd {
  if (wordless && tailKnown)
    findings.add("RECOVERED", file, null, "its writer died before its first line; a later log says so");
  else findings.add("NO_LINES", file, null, "it has no complete line");
  return PLAIN;
}

function judgeClosed(watch: HeadWatch, end: LogEnd, findings: Findings): JudgedEnd {
  const { file, lines, tail } = end;
  if (tail > 0) findings.add("AFTER_CLOSE", file, lines + 1, `${tail} bytes stand after the closing line`);
  const covered = coveredBy(watch);
  if (covered === lines || isExcused(watch, end, covered)) return PLAIN;
  if (end.recovered) return vouched(end, findings);
  tellBeyond(end, covered, findings);
  return PLAIN;
}

function judgeUnclosed(watch: HeadWatch, end: LogEnd, findings: Findings): JudgedEnd {
  const { file, lines, tail, allowOpen } = end;
  if (end.recovered && end.tailKnown) return vouched(end, findings);
  const covered = coveredBy(watch);
  const uncovered = lines - covered;
  if (allowOpen !== null && uncovered <= allowOpen) {
    findings.add("OPEN", file, null, `it is open, ${uncovered} lines lie beyond its last head`);
    return { openLines: uncovered, recovered: false };
  }
  findings.add("UNCLOSED", file, null, "it has no closing line");
  if (tail > 0) findings.add("TORN_TAIL", file, lines + 1, `${tail} bytes without an end`);
  if (uncovered > 0 && watch.torn === null) tellBeyond(end, covered, findings);
  return PLAIN;
}

function coveredBy({ good }: HeadWatch): number {
  return Math.max(good.heads, good.head, good.anchor);
}

/** A missing or wrong head was told already; so was a wrong line. */
function isExcused(watch: HeadWatch, { blamed }: LogEnd, covered: number): boolean {
  return blamed || watch.wrong.some(({ size }) => size > covered);
}

function vouched({ file, lines }: LogEnd, findings: Findings): JudgedEnd {
  findings.add("RECOVERED", file, null, `its writer died; a later log vouches for its ${lines} lines`);
  return { openLines: 0, recovered: true };
}

function tellBeyond({ file, lines }: LogEnd, covered: number, findings: Findings): void {
  const uncovered = lines - covered;
  const message =
    covered === 0 ? "no head covers it" : `the last head covers ${covered} lines, ${uncovered} stand beyond it`;
  findings.add("BEYOND_HEAD", file, covered + 1, message);
}
