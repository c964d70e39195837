/** Port of `report`: a format takes what was verified, entry by entry, and writes it as it comes. */

import type { UnverifiedLines, VerifyReport } from "@toolspan/receipts";
import type { EvidenceEntry } from "./evidence-entry.ts";

/** Something that the lines do not say, or say is gone. */
export interface EvidenceGap {
  /** A verdict of the verifier, `NOT_SHOWN`, `ERASED` or `CUT`. */
  readonly what: string;
  readonly file: string;
  readonly line: number | null;
  readonly message: string;
}

export interface EvidenceTotals {
  readonly receipts: number;
  readonly ok: number;
  readonly failed: number;
  readonly refused: number;
  readonly replayed: number;
  readonly lines_not_shown: number;
  /** By status. */
  readonly statuses: Readonly<Record<string, number>>;
}

export interface EvidenceEnd {
  readonly refusals: readonly EvidenceEntry[];
  /** Refusals beyond those. */
  readonly more_refusals: number;
  readonly gaps: readonly EvidenceGap[];
  /** Gaps beyond those. */
  readonly more_gaps: number;
  readonly totals: EvidenceTotals;
}

export interface EvidenceWriter {
  begin(report: VerifyReport): void;
  entry(entry: EvidenceEntry): void;
  end(end: EvidenceEnd): void;
}

/** Makes the writer of one format, which hands its text on in pieces. */
export type MakeEvidenceWriter = (write: (text: string) => void) => EvidenceWriter;

export function gapOfUnverified({ file, line, lines, problem }: UnverifiedLines): EvidenceGap {
  const counted = lines === 1 ? "1 line is" : `${lines} lines are`;
  return { what: "NOT_SHOWN", file, line, message: `${counted} not shown: ${problem}` };
}
