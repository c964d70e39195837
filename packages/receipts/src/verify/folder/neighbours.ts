/** What the logs of a folder name that has to be there: the logs before and after them, and the logs of heads. */

import { join } from "node:path";
import { headFiles, logOfHeadFile } from "../../log/head-files.ts";
import type { SegmentClose } from "../../records/segment-close.ts";
import type { Findings } from "../findings.ts";
import { HeadReader } from "../heads/head-reader.ts";
import type { PrunedLog } from "../heads/judge-anchors.ts";
import type { SeenRecord } from "../lines/examine-line.ts";
import type { SurveyedScope } from "../survey/survey-scope.ts";

/** A log is removed once; a prune that was interrupted and done again says it twice. */
const MAX_PRUNES = 64;

/** A closing line that names the log after its own. */
interface Next {
  readonly file: string;
  readonly line: number;
  readonly next: NonNullable<SegmentClose["next"]>;
}

export class Neighbours {
  readonly #surveyed: SurveyedScope;
  readonly #findings: Findings;
  /** What lines say of each log that was removed on purpose; which of them counts is known once all logs were read. */
  readonly #prunes = new Map<string, PrunedLog[]>();
  readonly #pruned = new Map<string, PrunedLog>();
  readonly #nexts: Next[] = [];

  constructor(surveyed: SurveyedScope, findings: Findings) {
    this.#surveyed = surveyed;
    this.#findings = findings;
  }

  take(record: SeenRecord, file: string, line: number): void {
    if (record.record === "prune") this.#takePrune(record.log, { ...record, said: { file, line } });
    if (record.record === "segment_close" && record.next !== null) this.#nexts.push({ file, line, next: record.next });
  }

  /** A line counts where `isBacked` says so; elsewhere anybody can put one. */
  judgePrunes(isBacked: (file: string, line: number) => boolean): void {
    for (const [log, prunes] of this.#prunes) {
      const counts = prunes.find(({ said }) => isBacked(said.file, said.line));
      if (counts !== undefined) this.#pruned.set(log, counts);
    }
  }

  /** What a line that counts says of a log that was removed on purpose. */
  prunedLog(log: string): PrunedLog | undefined {
    return this.#pruned.get(log);
  }

  /** The logs that a session's logs name as the ones before and after them. */
  judgeLogs(): void {
    const { scope, logs, indexes, label } = this.#surveyed;
    const files = new Set(scope.files);
    for (const { file, previous } of logs) {
      if (previous === null) continue;
      const there =
        previous.log === null
          ? files.has(previous.file) || files.has(`${previous.file}.gz`)
          : indexes.has(previous.log);
      if (!there) this.#lacks(label(file), 1, previous.log, label(previous.file));
    }
    // Of a log that is there without a line, that is what is said.
    const wordless = new Set(logs.flatMap(({ file, log }) => (log === null ? [file] : [])));
    for (const { file, line, next } of this.#nexts) {
      if (!indexes.has(next.log) && !wordless.has(next.file)) this.#lacks(file, line, next.log, next.log);
    }
  }

  /** Heads of logs that are not there. */
  judgeHeads(): void {
    const { scope, indexes, label } = this.#surveyed;
    const told = new Set<string>();
    for (const name of scope.heads) {
      const found = logOfHeadFile(name);
      if (found === null || found.kind === "next" || indexes.has(found.log) || told.has(found.log)) continue;
      told.add(found.log);
      const pruned = this.#pruned.get(found.log);
      if (pruned !== undefined) this.#judgePruned(name, found.log, pruned);
      else this.#findings.add("LOST_LOG", label(name), null, "the log that it vouches for is not there");
    }
  }

  #takePrune(log: string, pruned: PrunedLog): void {
    const prunes = this.#prunes.get(log);
    if (prunes === undefined) this.#prunes.set(log, [pruned]);
    else if (prunes.length < MAX_PRUNES) prunes.push(pruned);
  }

  /** The heads of a log that was removed have to agree with what is said of it. */
  #judgePruned(name: string, log: string, { lines, root, said }: PrunedLog): void {
    const { scope, label } = this.#surveyed;
    this.#findings.add("PRUNED", label(name), null, "its log was removed on purpose");
    const head = latestHead(join(scope.folder, headFiles(log).latest), log);
    if (head === null || (head.size <= lines && (head.size < lines || head.root === root))) return;
    const message = `it says that ${lines} lines were removed, the head of log ${log} states ${head.size === lines ? "another root" : head.size}`;
    this.#findings.add("CLAIM_MISMATCH", said.file, said.line, message);
  }

  #lacks(file: string, line: number, log: string | null, name: string): void {
    if (log !== null && this.#pruned.has(log)) this.#findings.add("PRUNED", name, null, "it was removed on purpose");
    else this.#findings.add("MISSING_SEGMENT", file, line, `it names ${name}, which is not there`);
  }
}

function latestHead(path: string, log: string): { readonly size: number; readonly root: string } | null {
  try {
    const reader = new HeadReader(path, log);
    const found = reader.next();
    reader.close();
    return found?.kind === "head" ? found.head : null;
  } catch {
    return null; // a head that is not there or cannot be read says nothing
  }
}
