/** The report of a verification: three answers, what was found, what was not checked. */

import type { Answer, Finding, Findings } from "./findings.ts";

export interface VerifyCounts {
  readonly logs: number;
  readonly lines: number;
  readonly receipts: number;
  readonly intents: number;
  readonly late_settlements: number;
  /** Receipts under a head that a trusted key has signed; 0 without `trust`. */
  readonly sealed: number;
  /** Entries in the files of heads. */
  readonly heads: number;
  /** Heads of logs that are here that were kept elsewhere. */
  readonly anchors: number;
  /** Receipts under a right head that was kept elsewhere; 0 without `anchors`. */
  readonly anchored: number;
  /** Spans that name a durable receipt. */
  readonly span_claims: number;
  readonly bytes: number;
}

export interface VerifyReport {
  /** As it was given. */
  readonly path: string;
  /** 0 what was asked holds; 1 something contradicts; 2 it cannot be said. 64 is the command line's own, for bad usage. */
  readonly exitCode: 0 | 1 | 2;
  /** `CONSISTENT` says that lines, links and heads agree; it is not a word about who wrote them. */
  readonly verdict: "CONSISTENT" | "CONTRADICTION" | "CANNOT_SAY";
  /** Were the lines changed since the heads beside them were written? */
  readonly integrity: Answer;
  /** Who wrote them? Asked with `trust` only. */
  readonly authenticity: Answer;
  /** Is everything there? `ok` only where heads kept elsewhere cover each log to its end: of logs that never had one nothing is known. */
  readonly completeness: Answer;
  /** Contradictions first, then what cannot be said; at most 1,000 of each. */
  readonly findings: readonly Finding[];
  /** What is worth knowing and changes nothing. */
  readonly notes: readonly Finding[];
  /** Findings and notes beyond those listed. */
  readonly leftOff: number;
  readonly notChecked: readonly string[];
  readonly counts: VerifyCounts;
}

const VERDICT_WORDS = { 0: "CONSISTENT", 1: "CONTRADICTION", 2: "CANNOT_SAY" } as const;

export interface ReportFacts {
  readonly path: string;
  readonly trusted: boolean;
  /** Lines beyond signed heads that were accepted. */
  readonly accepted: number;
  readonly strict: boolean;
  readonly folder: boolean;
  readonly spans: boolean;
  /** Null without `anchors`; `open` logs are not covered to their end. */
  readonly anchors: { readonly open: number } | null;
  readonly counts: VerifyCounts;
}

export function toReport(
  findings: Findings,
  { path, trusted, accepted, strict, folder, spans, anchors, counts }: ReportFacts,
): VerifyReport {
  const complete = anchors !== null && anchors.open === 0 && counts.logs > 0;
  return {
    path,
    exitCode: findings.exitCode,
    verdict: VERDICT_WORDS[findings.exitCode],
    integrity: findings.answer("integrity"),
    authenticity: authenticityOf(findings, trusted && counts.logs > 0, accepted),
    completeness: complete || findings.answer("completeness") === "bad" ? findings.answer("completeness") : "unknown",
    findings: findings.problems,
    notes: findings.notes,
    leftOff: findings.leftOff,
    notChecked: [
      ...(trusted ? [] : ["who wrote it: whoever can write these files can write all of them anew"]),
      ...(accepted === 0 ? [] : [`who wrote ${accepted} lines beyond the last signed heads: they were accepted`]),
      ...cutsNotSeen(anchors, counts),
      "whether every tool call was recorded, and whether what was recorded is true",
      ...(folder ? [] : ["the logs before and after this one"]),
      spans
        ? "what spans say besides naming a durable receipt: nothing protects it, and a span can be changed unseen"
        : "spans: there are none here to compare with",
      ...(strict ? [] : ["that each line is the canonical form of what it holds: asked with strict"]),
    ],
    counts,
  };
}

/** Lines that were accepted without a signed head leave open who wrote them. */
function authenticityOf(findings: Findings, asked: boolean, accepted: number): Answer {
  if (!asked) return "unknown";
  const answer = findings.answer("authenticity");
  return answer === "ok" && accepted > 0 ? "unknown" : answer;
}

/** What may have been cut unseen. */
function cutsNotSeen(anchors: ReportFacts["anchors"], { logs }: VerifyCounts): readonly string[] {
  if (anchors === null) return ["whether newer lines or whole logs were cut: only a head kept elsewhere can show that"];
  const { open } = anchors;
  return [
    ...(open === 0
      ? []
      : [`whether newer lines were cut from ${open} of ${logs} logs: no head kept elsewhere covers them to their end`]),
    "whether there were logs of which no head was kept elsewhere",
    "whether the heads in the files of anchors were kept where the writer cannot reach them",
  ];
}
