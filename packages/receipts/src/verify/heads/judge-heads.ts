/** Once all lines are read: what the heads of a log say of it, and who is at fault where they disagree. */

import type { Findings } from "../findings.ts";
import type { HeadWatch } from "./head-watch.ts";
import type { Voucher } from "./voucher.ts";

/** What the lines themselves have shown. */
export interface LineFacts {
  readonly file: string;
  readonly lines: number;
  readonly closed: boolean;
  /** First line that is known to be at fault; what vouches for it and lines after it is explained by that. */
  readonly blamed: number | null;
}

export function judgeHeads(watch: HeadWatch, facts: LineFacts, findings: Findings): void {
  for (const { file, line, message } of watch.damaged) findings.add("HEAD_DAMAGED", file, line, message);
  for (const { file, line, size } of watch.forks) {
    findings.add("FORKED", file, line, `it states another root for ${size} lines than the entry before, both signed`);
  }
  for (const voucher of watch.wrong) judgeWrong(watch, voucher, facts, findings);
  judgeAnchors(watch, facts, findings);
  judgeBeyond(watch, facts, findings);
  judgeFiles(watch, facts, findings);
}

function judgeWrong(watch: HeadWatch, voucher: Voucher, facts: LineFacts, findings: Findings): void {
  const { source, file, line, size } = voucher;
  if (source === "anchor" || (facts.blamed !== null && facts.blamed <= size)) return;
  if (source === "claim") {
    const message = `${file} found other lines here when it vouched for the first ${size}`;
    findings.add("CLAIM_MISMATCH", facts.file, size, message);
  } else if (Math.max(watch.good.heads, watch.good.head, watch.good.anchor) >= size) {
    // A key does not sign by accident what is not there: with its signature it is another history.
    findings.add(
      voucher.signed ? "FORKED" : "HEAD_DAMAGED",
      file,
      line,
      `its root for ${size} lines is wrong, and another head vouches for them`,
    );
  } else {
    findings.add("ROOT_MISMATCH", facts.file, size, `the first ${size} lines do not have the root that ${file} states`);
  }
}

/** Of heads that were kept elsewhere one finding is enough: the one over the fewest lines. */
function judgeAnchors(watch: HeadWatch, facts: LineFacts, findings: Findings): void {
  const [first] = watch.wrong.filter(({ source }) => source === "anchor");
  if (first === undefined || (facts.blamed !== null && facts.blamed <= first.size)) return;
  const place = `line ${first.line} of ${first.file}`;
  const right = watch.good.anchor < first.size ? watch.good.anchor : 0;
  const since = right === 0 ? "" : `; the first ${right} are as another one states`;
  if (first.signed && watch.goodSigned >= first.size) {
    const message = `a head beside it and ${place} state different roots for ${first.size} lines, both signed${since}`;
    findings.add("FORKED", facts.file, first.size, message);
  } else {
    const message = `the first ${first.size} lines do not have the root that ${place} states${since}`;
    findings.add("ANCHOR_MISMATCH", facts.file, first.size, message);
  }
}

/** One finding is enough: the voucher for most lines. */
function judgeBeyond(watch: HeadWatch, facts: LineFacts, findings: Findings): void {
  const [most] = [...watch.beyond].sort((a, b) => b.size - a.size);
  if (most === undefined || facts.blamed !== null) return;
  const covered = Math.max(watch.good.heads, watch.good.head);
  const kept = watch.beyond.every(({ source }) => source === "anchor");
  if (kept) judgeShort(watch, most, facts, findings);
  else if (most.source !== "claim" && most.source !== "anchor" && facts.closed && covered === facts.lines) {
    const message = `it states ${most.size} lines, another head vouches for the ${facts.lines} that there are`;
    findings.add(most.signed ? "FORKED" : "HEAD_DAMAGED", most.file, most.line, message);
  } else findings.add("TRUNCATED", facts.file, facts.lines + 1, shortOf(most, facts));
}

/** Only what was kept elsewhere vouches for more: the heads beside the log are of its present length, or are not there. */
function judgeShort(watch: HeadWatch, most: Voucher, facts: LineFacts, findings: Findings): void {
  const covered = Math.max(watch.good.heads, watch.good.head);
  if (facts.closed && most.signed && watch.goodSigned === facts.lines) {
    const message = `it is closed after ${facts.lines} lines, ${most.size} stand under line ${most.line} of ${most.file}, both signed`;
    findings.add("FORKED", facts.file, facts.lines, message);
  } else if (!facts.closed && covered > 0) {
    const message = `its ${facts.lines} lines and its heads agree, line ${most.line} of ${most.file} states ${most.size} lines`;
    findings.add("ROLLED_BACK", facts.file, facts.lines + 1, message);
  } else findings.add("TRUNCATED", facts.file, facts.lines + 1, shortOf(most, facts));
}

function shortOf({ source, file, line, size }: Voucher, { lines }: LineFacts): string {
  const place = source === "anchor" ? `line ${line} of ${file}` : file;
  return `${place} vouches for ${size} lines, there are ${lines}`;
}

function judgeFiles(watch: HeadWatch, { closed }: LineFacts, findings: Findings): void {
  const { hasAll, hasLatest, allName, latestName } = watch;
  if (watch.torn !== null) findings.add("TORN_HEAD", allName, watch.torn, "its last entry was not written to its end");
  if (!hasAll && (hasLatest || closed)) findings.add("HEAD_MISSING", allName, null, "it is not there");
  // A writer may die between its first entry and the first latest head.
  if (!hasLatest && (closed || watch.entries > 1)) findings.add("HEAD_MISSING", latestName, null, "it is not there");
  if (!hasAll || watch.latest === null) return;
  if (!watch.latestListed) {
    const known = [...watch.wrong, ...watch.beyond, ...watch.damaged, ...watch.forks].some(
      ({ file }) => file === latestName || file === allName,
    );
    if (!known) findings.add("HEAD_DAMAGED", allName, null, `${latestName} is none of its entries`);
  } else if (watch.latest !== watch.lastEntry) {
    findings.add("HEAD_BEHIND", latestName, null, `it is an earlier entry of ${allName}`);
  }
}
