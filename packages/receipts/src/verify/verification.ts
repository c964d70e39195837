/** One run of the verifier over a log or a folder, step by step. */

import { statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { isCompressed } from "../log/file-name.ts";
import { type CheckLogsOptions, checkLogs } from "./chain/check-logs.ts";
import { type CheckedLog, LogCheck } from "./chain/log-check.ts";
import type { LogRun } from "./chain/log-run.ts";
import type { Checks } from "./checks.ts";
import { Findings } from "./findings.ts";
import { Coverage } from "./folder/coverage.ts";
import { Dispatches } from "./folder/dispatches.ts";
import { judgeDispatches } from "./folder/judge-dispatches.ts";
import { Neighbours } from "./folder/neighbours.ts";
import { type Anchor, AnchorStore } from "./heads/anchor-store.ts";
import { judgeAbsent, judgeForks } from "./heads/judge-anchors.ts";
import { loadAnchors } from "./heads/load-anchors.ts";
import type { SeenRecord } from "./lines/examine-line.ts";
import { DamagedGzip } from "./lines/gunzipped.ts";
import { wordOf } from "./lines/word-of.ts";
import { type Scope, scopeOf } from "./survey/scope.ts";
import { claimsOn, type SurveyedLog } from "./survey/survey.ts";
import { type SurveyedScope, surveyScope } from "./survey/survey-scope.ts";
import { Authors } from "./trust/authors.ts";
import type { Trust } from "./trust/trust.ts";
import type { VerifyOptions } from "./verify-options.ts";
import { toReport, type VerifyReport } from "./verify-report.ts";

export interface VerificationParts {
  readonly checks: Checks;
  readonly trust?: Trust | null;
  /** Files of heads that were kept elsewhere. */
  readonly anchors?: readonly string[];
  /** Bound of the table of dispatches; for tests. */
  readonly maxSlots?: number;
  /** How work is divided; for tests. */
  readonly tuning?: NonNullable<CheckLogsOptions["tuning"]>;
}

/** What the lines of all logs are told to. */
interface Listeners {
  readonly coverage: Coverage;
  readonly neighbours: Neighbours;
  readonly dispatches: Dispatches;
  readonly totalBytes: number;
}

export class Verification {
  readonly #path: string;
  readonly #options: VerifyOptions;
  readonly #parts: VerificationParts;
  readonly #trust: Trust | null;
  readonly #findings = new Findings();
  #anchors: AnchorStore = new AnchorStore(0);
  /** Logs of which no head kept elsewhere covers all that they will ever hold. */
  #open = 0;
  /** Lines that no signed head covers and that were accepted because their log is open. */
  #accepted = 0;
  readonly #counts = {
    logs: 0,
    lines: 0,
    receipts: 0,
    sealed: 0,
    intents: 0,
    late_settlements: 0,
    heads: 0,
    anchors: 0,
    anchored: 0,
    span_claims: 0,
    bytes: 0,
  };

  constructor(path: string, options: VerifyOptions, parts: VerificationParts) {
    this.#path = path;
    this.#options = options;
    this.#parts = parts;
    this.#trust = parts.trust ?? null;
  }

  async run(): Promise<VerifyReport> {
    // A writer may be at work: what was kept elsewhere is read before the logs that it vouches for.
    const { checks, anchors = [] } = this.#parts;
    const facts = { trust: this.#trust, checks, findings: this.#findings };
    if (anchors.length > 0) this.#anchors = await loadAnchors(anchors, facts);
    const scope = scopeOf(this.#path, this.#findings);
    if (scope !== null) await this.#verify(scope);
    return toReport(this.#findings, {
      path: this.#path,
      trusted: this.#trust !== null,
      accepted: this.#accepted,
      strict: this.#options.strict === true,
      folder: scope?.root !== null,
      spans: (scope?.spans.length ?? 0) > 0,
      anchors: anchors.length > 0 ? { open: this.#open } : null,
      counts: this.#counts,
    });
  }

  async #verify(scope: Scope): Promise<void> {
    const findings = this.#findings;
    const surveyed = await surveyScope(scope, findings);
    this.#trust?.report(findings);
    const coverage = new Coverage(surveyed, findings);
    const neighbours = new Neighbours(surveyed, findings);
    const totalBytes = sizeOf(scope);
    const dispatches = new Dispatches(findings, surveyed.logs.length, totalBytes, this.#parts.maxSlots);
    await this.#checkLogs(surveyed, { coverage, neighbours, dispatches, totalBytes });
    if (this.#trust !== null) this.#accepted = coverage.judgeSigned();
    neighbours.judgePrunes(coverage.backed());
    if (scope.root !== null) {
      neighbours.judgeLogs();
      neighbours.judgeHeads();
      const isThere = (log: string): boolean => surveyed.indexes.has(log);
      judgeAbsent(this.#anchors, isThere, (log) => neighbours.prunedLog(log), this.#trust !== null, findings);
    }
    this.#open = coverage.openLogs();
    this.#counts.span_claims = await judgeDispatches({ surveyed, dispatches, neighbours, findings });
  }

  /** Reads all logs, line by line: order, heads, anchors, silences and signatures of each are judged on the way. */
  async #checkLogs(surveyed: SurveyedScope, to: Listeners): Promise<void> {
    const { logs, label } = surveyed;
    const { strict = false, workers = Math.min(2, availableParallelism()) } = this.#options;
    const { checks, tuning } = this.#parts;
    const authors = logs.map(() => (this.#trust === null ? null : new Authors(this.#trust, checks)));
    const runs = logs.map((each, index) => this.#runOf(each, index, authors[index] ?? null, surveyed, to));
    const options = { workers, strict, totalBytes: to.totalBytes, ...(tuning && { tuning }) };
    let index = 0;
    judgeForks(this.#anchorsOf(logs[0]?.log ?? null), this.#findings);
    for await (const result of checkLogs(runs, options)) {
      const { file, log } = logs[index] as SurveyedLog;
      const of = authors[index] ?? null;
      if ("checked" in result) {
        to.coverage.see(label(file), result.checked, of);
        this.#count(result.checked, this.#anchorsOf(log).length, of);
      } else this.#missed(label(file), result.error);
      index++;
      judgeForks(this.#anchorsOf(logs[index]?.log ?? null), this.#findings);
    }
  }

  #runOf(
    { file, log, origins }: SurveyedLog,
    index: number,
    authors: Authors | null,
    { scope: { folder }, survey, logs, label }: SurveyedScope,
    to: Listeners,
  ): LogRun {
    const { strict = false, allowOpen = null } = this.#options;
    const { checks } = this.#parts;
    const claims = claimsOn(survey, file, log);
    const anchors = this.#anchorsOf(log);
    const findings = this.#findings;
    const name = label(file);
    const onRecord = (record: SeenRecord, line: number): void => this.#take(record, index, name, line, to);
    const facts = { folder, file, log, origins, claims, anchors, label, checks, strict, allowOpen, findings };
    return {
      path: join(folder, file),
      log,
      divisible: !isCompressed(file) && claims.every(({ torn }) => torn === null),
      start: () => new LogCheck({ ...facts, authors, onRecord }),
      onBytes: (bytes) => this.#progress(bytes, to.totalBytes, index, logs.length),
    };
  }

  #take(record: SeenRecord, log: number, file: string, line: number, { neighbours, dispatches }: Listeners): void {
    if (record.record === "receipt") this.#counts.receipts++;
    if (record.record === "intent") this.#counts.intents++;
    if (record.record === "late_settlement") this.#counts.late_settlements++;
    neighbours.take(record, file, line);
    dispatches.take(record, log, file, line, 0);
  }

  #anchorsOf(log: string | null): readonly Anchor[] {
    return log === null ? [] : this.#anchors.of(log);
  }

  #progress(bytes: number, totalBytes: number, logs: number, totalLogs: number): void {
    this.#counts.bytes += bytes;
    this.#options.onProgress?.({ bytes: this.#counts.bytes, totalBytes, logs, totalLogs });
  }

  /** A log that was read to its end. */
  #count(checked: CheckedLog, anchors: number, authors: Authors | null): void {
    this.#counts.logs++;
    this.#counts.lines += checked.lines;
    this.#counts.heads += checked.heads;
    this.#counts.anchors += anchors;
    this.#counts.anchored += checked.anchoredReceipts;
    this.#counts.sealed += authors?.sealedReceipts() ?? 0;
  }

  #missed(file: string, error: unknown): void {
    if (error instanceof DamagedGzip) {
      this.#counts.logs++;
      this.#findings.add("GZIP_DAMAGED", file, null, "it cannot be decompressed to its end");
    } else this.#findings.add("UNREADABLE", file, null, wordOf(error));
  }
}

function sizeOf({ folder, files }: Scope): number {
  return files.reduce((bytes, file) => bytes + (statSync(join(folder, file), { throwIfNoEntry: false })?.size ?? 0), 0);
}
