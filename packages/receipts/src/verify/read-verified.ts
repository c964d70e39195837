/** `readVerified` and `readReceipts`: for programs that act on a log, only the lines that were verified. */

import { basename } from "node:path";
import { logOfHeadFile } from "../log/head-files.ts";
import type { LoggedReceipt, LogRecord } from "../records/record.ts";
import { type ReadRecord, readRecords } from "./read-records.ts";
import { VERDICTS, type Verdict } from "./verdicts.ts";
import { verifyLog } from "./verify-log.ts";
import type { VerifyOptions } from "./verify-options.ts";
import type { VerifyReport } from "./verify-report.ts";

/** A verified line, and where it stands. */
export interface VerifiedLine<R extends LogRecord = LogRecord> {
  /** Name of the log in its folder. */
  readonly file: string;
  /** 1-based. */
  readonly line: number;
  readonly record: R;
}

/** Lines that were not given, and why. */
export interface UnverifiedLines {
  readonly file: string;
  /** The first of them, 1-based. */
  readonly line: number;
  readonly lines: number;
  /** One line for people: no content of lines. */
  readonly problem: string;
}

export interface ReadVerifiedOptions extends VerifyOptions {
  /** Told what the verification said, before the first line comes. */
  readonly onReport?: (report: VerifyReport) => void;
  /** Told of lines that are left out. */
  readonly onUnverified?: (lines: UnverifiedLines) => void;
}

/**
 * Verifies a log or a folder of logs, then gives its receipts, oldest log first.
 *
 * @see readVerified for what counts as verified, options and errors.
 */
export async function* readReceipts(
  path: string,
  options: ReadVerifiedOptions = {},
): AsyncGenerator<VerifiedLine<LoggedReceipt>, void, void> {
  for await (const { file, line, record } of readVerified(path, options)) {
    if (record.record === "receipt") yield { file, line, record };
  }
}

/**
 * Verifies a log or a folder of logs, then gives its lines, oldest log first.
 *
 * A line is given when it keeps to its schema and place, the line after it, the latest head or a later log's recovery vouches for it, and its whole log is free of contradictions. Where a contradiction cannot be laid at one log's door (two copies of a record that differ, more findings than are listed), no line is given at all. What `verifyLog` says of authenticity and completeness holds for them too: without a head kept elsewhere, whoever can write the files can write all of them anew.
 * Everything is read twice, in bounded memory; a file that changes in between is held against its chain alone.
 *
 * @param path A log, a state root, or a folder of logs.
 * @throws TOOLSPAN_INVALID_OPTION for a bad path or option; what the system throws for a file that cannot be read.
 */
export async function* readVerified(
  path: string,
  options: ReadVerifiedOptions = {},
): AsyncGenerator<VerifiedLine, void, void> {
  const { onReport, onUnverified, ...asked } = options;
  const report = await verifyLog(path, asked);
  onReport?.(report);
  if (report.counts.logs === 0) return;
  const contradicted = contradictionsIn(report);
  const recovered = recoveredIn(report);
  let out: UnverifiedLines | undefined;
  for await (const read of readRecords(path)) {
    const problem = contradicted(read) ?? (read.record === null ? read.problem : unconfirmed(read, recovered));
    const follows = out !== undefined && out.file === read.file && out.problem === problem;
    if (out !== undefined && !follows) onUnverified?.(out);
    if (problem !== null) {
      const { file, line } = read;
      out = follows && out !== undefined ? { ...out, lines: out.lines + 1 } : { file, line, lines: 1, problem };
      continue;
    }
    out = undefined;
    const { file, line, record } = read;
    if (record !== null) yield { file, line, record };
  }
  if (out !== undefined) onUnverified?.(out);
}

function unconfirmed(
  { file, confirmed }: ReadRecord & { record: LogRecord },
  recovered: ReadonlySet<string>,
): string | null {
  return confirmed || recovered.has(file) ? null : "no later line, no head and no later log vouches for it";
}

/** Logs whose writers died, and of which a later log vouches for every complete line. */
function recoveredIn({ notes }: VerifyReport): ReadonlySet<string> {
  return new Set(notes.flatMap(({ verdict, file }) => (verdict === "RECOVERED" ? [basename(file)] : [])));
}

/** Says of a line's log why none of its lines can be given; null when they can. */
function contradictionsIn(report: VerifyReport): (read: ReadRecord) => string | null {
  const found = report.findings.filter(
    ({ verdict }) => VERDICTS[verdict].exitCode === 1 && VERDICTS[verdict].question === "integrity",
  );
  if (found.length > 0 && report.leftOff > 0) return () => "there are more contradictions than are listed";
  if (found.some(({ verdict }) => verdict === "CONFLICT")) {
    return () => "two copies of a record or log differ, and nothing says which is the right one: CONFLICT";
  }
  const verdicts = new Map<string, Verdict>();
  for (const { file, verdict } of found) verdicts.set(logOfHeadFile(basename(file))?.log ?? basename(file), verdict);
  return ({ file, record }) => {
    const verdict = verdicts.get(file) ?? (record === null ? undefined : verdicts.get(record.chain.log));
    return verdict === undefined ? null : `its log contradicts itself: ${verdict}`;
  };
}
