/** One run of the verifier over a log or a folder: which files, in which order, in how many passes. */

import { statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { isCompressed, plainName } from "../log/file-name.ts";
import { logOfHeadFile } from "../log/head-files.ts";
import type { LogRecord } from "../records/record.ts";
import type { SegmentClose } from "../records/segment-close.ts";
import { type Anchor, AnchorStore } from "./anchor-store.ts";
import { Authors } from "./authors.ts";
import { type CheckLogsOptions, checkLogs, type LogRun } from "./check-logs.ts";
import type { Checks } from "./checks.ts";
import { Dispatches } from "./dispatches.ts";
import type { SeenRecord } from "./examine-line.ts";
import { Findings } from "./findings.ts";
import { DamagedGzip } from "./gunzipped.ts";
import { haveSameLines } from "./have-same-lines.ts";
import { judgeAbsent, judgeForks, type PrunedLog } from "./judge-anchors.ts";
import { loadAnchors } from "./load-anchors.ts";
import { type CheckedLog, LogCheck } from "./log-check.ts";
import { parseLine } from "./parse-line.ts";
import { readLines } from "./read-lines.ts";
import { readSpanClaims } from "./span-claims.ts";
import { type Claim, claimsOn, type Survey, type SurveyedLog, surveyLogs } from "./survey.ts";
import type { Trust } from "./trust.ts";
import type { VerifyOptions } from "./verify-options.ts";
import { toReport, type VerifyReport } from "./verify-report.ts";
import { type Scope, SPANS_FOLDER, scopeOf, wordOf } from "./verify-scope.ts";

/** What was found of a log, and what signed heads cover of it. */
interface SeenLog extends CheckedLog {
  /** Null when nobody asks who signed. */
  readonly signed: {
    readonly covered: number;
    /** True when it was said already why that is less than all. */
    readonly told: boolean;
  } | null;
}

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

/** A log as the one before it names it. */
type LogName = NonNullable<SegmentClose["next"]>;

export class Verification {
  readonly #path: string;
  readonly #options: VerifyOptions;
  readonly #checks: Checks;
  readonly #trust: Trust | null;
  readonly #parts: VerificationParts;
  #anchors: AnchorStore = new AnchorStore(0);
  /** Each log that could be read, by its name in findings. */
  readonly #seen = new Map<string, SeenLog>();
  readonly #findings = new Findings();
  #dispatches: Dispatches;
  /** Logs of which no head kept elsewhere covers all that they will ever hold. */
  #open = 0;
  /** Index of each log that has lines here. */
  readonly #logs = new Map<string, number>();
  readonly #pruned = new Map<string, PrunedLog>();
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
    this.#checks = parts.checks;
    this.#trust = parts.trust ?? null;
    this.#dispatches = new Dispatches(this.#findings, 0, parts.maxSlots);
  }

  async run(): Promise<VerifyReport> {
    // A writer may be at work: what was kept elsewhere is read before the logs that it vouches for.
    const anchors = this.#parts.anchors ?? [];
    if (anchors.length > 0) {
      const facts = { trust: this.#trust, checks: this.#checks, findings: this.#findings };
      this.#anchors = await loadAnchors(anchors, facts);
    }
    const scope = scopeOf(this.#path, this.#findings);
    if (scope !== null) await this.#verify(scope);
    const { strict } = this.#options;
    return toReport(this.#findings, {
      path: this.#path,
      trusted: this.#trust !== null,
      strict: strict === true,
      folder: scope?.root !== null,
      spans: (scope?.spans.length ?? 0) > 0,
      anchors: anchors.length > 0 ? { open: this.#open } : null,
      counts: this.#counts,
    });
  }

  async #verify(scope: Scope): Promise<void> {
    const label = (file: string): string => scope.prefix + file;
    const survey = await surveyLogs(scope.folder, scope.known, label);
    const logs = await this.#index(
      scope.folder,
      survey.logs.filter(({ file }) => scope.files.includes(file)),
      label,
    );
    this.#trust?.report(this.#findings);
    await this.#checkLogs(scope, survey, logs, label);
    if (this.#trust !== null) this.#checkSigned(survey, logs, label);
    if (scope.root !== null) {
      this.#checkNeighbours(scope, logs, label);
      this.#checkOrphans(scope, label);
      judgeAbsent(
        this.#anchors,
        (log) => this.#logs.has(log),
        (log) => this.#pruned.get(log),
        this.#findings,
      );
    }
    const answered = this.#answered(survey, logs, label, ({ anchored }) => anchored);
    this.#open = logs.filter(({ file }) => {
      const seen = this.#seen.get(label(file));
      const ended = seen?.closed === true || seen?.recovered === true;
      return !ended || (answered.get(label(file)) ?? 0) < seen.lines;
    }).length;
    await this.#checkSpans(scope, 0);
    this.#dispatches.endPass();
    for (let pass = 1; pass < this.#dispatches.passes; pass++) {
      this.#dispatches.begin(pass);
      await this.#rescan(scope, logs, (record, log, line) => this.#dispatches.take(record, log, "", line, pass));
      await this.#checkSpans(scope, pass);
      this.#dispatches.endPass();
    }
    if (!this.#dispatches.hasCopies) return;
    await this.#rescan(scope, logs, (record, log, line) => {
      this.#dispatches.compare(record, label(logs[log]?.file ?? ""), line);
    });
  }

  /** Two files of one log contradict each other, even where one is a copy, but for a log and its compressed form. */
  async #index(
    folder: string,
    logs: readonly SurveyedLog[],
    label: (file: string) => string,
  ): Promise<readonly SurveyedLog[]> {
    const kept: SurveyedLog[] = [];
    for (const each of logs) {
      const { log, file } = each;
      const first = log === null ? undefined : kept[this.#logs.get(log) ?? -1];
      if (first === undefined) {
        if (log !== null) this.#logs.set(log, kept.length);
      } else if (isCompressed(file) !== isCompressed(first.file) && plainName(file) === plainName(first.file)) {
        if (await haveSameLines(join(folder, first.file), join(folder, file))) {
          this.#findings.add("COPY", label(file), null, `it holds the lines of ${label(first.file)}`);
          continue;
        }
        this.#findings.add("CONFLICT", label(file), null, `it does not hold the lines of ${label(first.file)}`);
      } else this.#findings.add("CONFLICT", label(file), null, `it claims to be the log in ${label(first.file)}`);
      kept.push(each);
    }
    return kept;
  }

  async #checkLogs(
    scope: Scope,
    survey: Survey,
    logs: readonly SurveyedLog[],
    label: (file: string) => string,
  ): Promise<void> {
    const { strict = false, allowOpen = null, workers = Math.min(2, availableParallelism()) } = this.#options;
    const totalBytes = sizeOf(scope.folder, scope.files);
    this.#dispatches = new Dispatches(this.#findings, totalBytes, this.#parts.maxSlots);
    const authors = logs.map(() => (this.#trust === null ? null : new Authors(this.#trust, this.#checks)));
    const runs = logs.map(({ file, log, origins }, index): LogRun => {
      const claims = claimsOn(survey, file, log);
      return {
        path: join(scope.folder, file),
        log,
        divisible: !isCompressed(file) && claims.every(({ torn }) => torn === null),
        start: () =>
          new LogCheck({
            folder: scope.folder,
            file,
            log,
            origins,
            claims,
            anchors: this.#anchorsOf(log),
            label,
            checks: this.#checks,
            strict,
            allowOpen,
            findings: this.#findings,
            authors: authors[index] ?? null,
            onRecord: (record, line) => this.#take(record, index, label(file), line),
          }),
        onBytes: (bytes) => this.#progress(bytes, totalBytes, index, logs.length),
      };
    });
    const options = { workers, strict, totalBytes, ...(this.#parts.tuning && { tuning: this.#parts.tuning }) };
    let index = 0;
    judgeForks(this.#anchorsOf(logs[0]?.log ?? null), this.#findings);
    for await (const result of checkLogs(runs, options)) {
      const { file, log } = logs[index] as SurveyedLog;
      if ("checked" in result)
        this.#see(label(file), result.checked, this.#anchorsOf(log).length, authors[index] ?? null);
      else this.#missed(label(file), result.error);
      index++;
      judgeForks(this.#anchorsOf(logs[index]?.log ?? null), this.#findings);
    }
  }

  #anchorsOf(log: string | null): readonly Anchor[] {
    return log === null ? [] : this.#anchors.of(log);
  }

  #progress(bytes: number, totalBytes: number, logs: number, totalLogs: number): void {
    this.#counts.bytes += bytes;
    this.#options.onProgress?.({ bytes: this.#counts.bytes, totalBytes, logs, totalLogs });
  }

  /** A log that was read to its end. */
  #see(file: string, checked: CheckedLog, anchors: number, authors: Authors | null): void {
    this.#counts.logs++;
    this.#counts.lines += checked.lines;
    this.#counts.heads += checked.heads;
    this.#counts.anchors += anchors;
    this.#counts.anchored += checked.anchoredReceipts;
    const told = authors?.judge(file, this.#findings) === true;
    this.#counts.sealed += authors?.sealedReceipts() ?? 0;
    this.#seen.set(file, { ...checked, signed: authors === null ? null : { covered: authors.covered, told } });
  }

  #missed(file: string, error: unknown): void {
    if (error instanceof DamagedGzip) {
      this.#counts.logs++;
      this.#findings.add("GZIP_DAMAGED", file, null, "it cannot be decompressed to its end");
    } else this.#findings.add("UNREADABLE", file, null, wordOf(error));
  }

  /** Lines that no signed head answers for. */
  #checkSigned(survey: Survey, logs: readonly SurveyedLog[], label: (file: string) => string): void {
    const answered = this.#answered(survey, logs, label, ({ signed }) => signed?.covered ?? 0);
    for (const { file } of logs) {
      const seen = this.#seen.get(label(file));
      if (seen === undefined || seen.signed === null || seen.signed.told) continue;
      if ((answered.get(label(file)) ?? 0) >= seen.lines - seen.openLines) continue;
      const { covered } = seen.signed;
      const message =
        covered === 0 ? "no signed head covers it" : `signed heads cover ${covered} of ${seen.lines} lines`;
      this.#findings.add("UNSIGNED_LINES", label(file), covered + 1, message);
    }
  }

  /** How many lines of each log heads answer for: those they cover, or all of a dead writer's where one covers the line that vouches for them, or vouches for that line in turn. */
  #answered(
    survey: Survey,
    logs: readonly SurveyedLog[],
    label: (file: string) => string,
    coveredOf: (seen: SeenLog) => number,
  ): ReadonlyMap<string, number> {
    const answered = new Map<string, number>();
    const answeredOf = (file: string): number => {
      const seen = this.#seen.get(file);
      return answered.get(file) ?? (seen === undefined ? 0 : coveredOf(seen));
    };
    // What vouches for a log is newer than it.
    for (const { file, log } of [...logs].reverse()) {
      const seen = this.#seen.get(label(file));
      if (seen === undefined) continue;
      const vouched = isVouched(seen, claimsOn(survey, file, log), answeredOf);
      answered.set(label(file), vouched ? seen.lines : coveredOf(seen));
    }
    return answered;
  }

  #take(record: SeenRecord, log: number, file: string, line: number): void {
    if (record.record === "receipt") this.#counts.receipts++;
    if (record.record === "intent") this.#counts.intents++;
    if (record.record === "late_settlement") this.#counts.late_settlements++;
    if (record.record === "prune") this.#pruned.set(record.log, record);
    if (record.record === "segment_close" && record.next !== null) this.#nexts.push({ file, line, next: record.next });
    this.#dispatches.take(record, log, file, line, 0);
  }

  readonly #nexts: { readonly file: string; readonly line: number; readonly next: LogName }[] = [];

  /** The logs that a session's logs name as the ones before and after them. */
  #checkNeighbours(scope: Scope, logs: readonly SurveyedLog[], label: (file: string) => string): void {
    const files = new Set(scope.files);
    for (const { file, previous } of logs) {
      if (previous === null) continue;
      const there =
        previous.log === null
          ? files.has(previous.file) || files.has(`${previous.file}.gz`)
          : this.#logs.has(previous.log);
      if (!there) this.#lacks(label(file), 1, previous.log, label(previous.file));
    }
    // Of a log that is there without a line, that is what is said.
    const wordless = new Set(logs.flatMap(({ file, log }) => (log === null ? [file] : [])));
    for (const { file, line, next } of this.#nexts) {
      if (!this.#logs.has(next.log) && !wordless.has(next.file)) this.#lacks(file, line, next.log, next.log);
    }
  }

  #lacks(file: string, line: number, log: string | null, name: string): void {
    if (log !== null && this.#pruned.has(log)) this.#findings.add("PRUNED", name, null, "it was removed on purpose");
    else this.#findings.add("MISSING_SEGMENT", file, line, `it names ${name}, which is not there`);
  }

  /** Heads of logs that are not there. */
  #checkOrphans(scope: Scope, label: (file: string) => string): void {
    const told = new Set<string>();
    for (const name of scope.heads) {
      const found = logOfHeadFile(name);
      if (found === null || found.kind === "next" || this.#logs.has(found.log) || told.has(found.log)) continue;
      told.add(found.log);
      if (this.#pruned.has(found.log))
        this.#findings.add("PRUNED", label(name), null, "its log was removed on purpose");
      else this.#findings.add("LOST_LOG", label(name), null, "the log that it vouches for is not there");
    }
  }

  async #checkSpans(scope: Scope, pass: number): Promise<void> {
    for (const { name, bytes } of scope.spans) {
      const file = `${SPANS_FOLDER}/${name}`;
      try {
        const read = await readSpanClaims(join(scope.root ?? "", file), bytes, ({ dispatchId, log, line }) => {
          if (pass === 0) this.#counts.span_claims++;
          const index = this.#logs.get(log);
          const there =
            index === undefined ? pass > 0 || this.#pruned.has(log) : this.#dispatches.hasReceipt(dispatchId, index);
          if (there !== false) return;
          const message = `its span names a durable receipt of dispatch ${dispatchId} in log ${log}, which is not there`;
          this.#findings.add("MISSING_RECEIPT", file, line, message);
        });
        if (pass > 0) continue;
        for (const line of read.unreadable)
          this.#findings.add("UNREADABLE_SPANS", file, line, "it is no export request");
        if (read.torn !== null) this.#findings.add("TORN_SPAN", file, read.torn, "it was not written to its end");
      } catch (error) {
        if (pass === 0) this.#findings.add("UNREADABLE_SPANS", file, null, wordOf(error));
      }
    }
  }

  /** Reads all logs once more; what is wrong with them was told before. */
  async #rescan(
    { folder }: Scope,
    logs: readonly SurveyedLog[],
    take: (record: LogRecord, log: number, line: number) => void,
  ): Promise<void> {
    for (const [index, { file }] of logs.entries()) {
      try {
        await readLines(join(folder, file), (line, number) => {
          const { record } = parseLine(line, false);
          if (record !== null) take(record, index, number);
        });
      } catch {
        // Told on the first pass.
      }
    }
  }
}

/** True for the log of a dead writer when the line that vouches for all that it left is covered itself. */
function isVouched(seen: CheckedLog, claims: readonly Claim[], coveredOf: (file: string) => number): boolean {
  const vouched = claims.some(
    ({ torn, lines, file, line }) => torn !== null && lines === seen.lines && coveredOf(file) >= line,
  );
  return seen.recovered && vouched;
}

function sizeOf(folder: string, files: readonly string[]): number {
  return files.reduce((bytes, file) => bytes + (statSync(join(folder, file), { throwIfNoEntry: false })?.size ?? 0), 0);
}
