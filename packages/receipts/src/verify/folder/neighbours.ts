/** What the logs of a folder name that has to be there: the logs before and after them, and the logs of heads. */

import { logOfHeadFile } from "../../log/head-files.ts";
import type { SegmentClose } from "../../records/segment-close.ts";
import type { Findings } from "../findings.ts";
import type { PrunedLog } from "../heads/judge-anchors.ts";
import type { SeenRecord } from "../lines/examine-line.ts";
import type { SurveyedScope } from "../survey/survey-scope.ts";

/** A closing line that names the log after its own. */
interface Next {
  readonly file: string;
  readonly line: number;
  readonly next: NonNullable<SegmentClose["next"]>;
}

export class Neighbours {
  readonly #surveyed: SurveyedScope;
  readonly #findings: Findings;
  readonly #pruned = new Map<string, PrunedLog>();
  readonly #nexts: Next[] = [];

  constructor(surveyed: SurveyedScope, findings: Findings) {
    this.#surveyed = surveyed;
    this.#findings = findings;
  }

  take(record: SeenRecord, file: string, line: number): void {
    if (record.record === "prune") this.#pruned.set(record.log, record);
    if (record.record === "segment_close" && record.next !== null) this.#nexts.push({ file, line, next: record.next });
  }

  /** What a line says of a log that was removed on purpose. */
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
      if (this.#pruned.has(found.log))
        this.#findings.add("PRUNED", label(name), null, "its log was removed on purpose");
      else this.#findings.add("LOST_LOG", label(name), null, "the log that it vouches for is not there");
    }
  }

  #lacks(file: string, line: number, log: string | null, name: string): void {
    if (log !== null && this.#pruned.has(log)) this.#findings.add("PRUNED", name, null, "it was removed on purpose");
    else this.#findings.add("MISSING_SEGMENT", file, line, `it names ${name}, which is not there`);
  }
}
