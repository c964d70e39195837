/** The logs that a verification is about: each once, in the order in which they were written. */

import { join } from "node:path";
import { isCompressed, plainName } from "../../log/file-name.ts";
import type { Findings } from "../findings.ts";
import { haveSameLines } from "./have-same-lines.ts";
import type { Scope } from "./scope.ts";
import { type Survey, type SurveyedLog, surveyLogs } from "./survey.ts";

/** A scope and what a first look at its logs says. */
export interface SurveyedScope {
  readonly scope: Scope;
  readonly survey: Survey;
  /** The logs that are verified. */
  readonly logs: readonly SurveyedLog[];
  /** Index in `logs` of each log that has lines here. */
  readonly indexes: ReadonlyMap<string, number>;
  /** A file's name as findings give it. */
  readonly label: (file: string) => string;
}

/** Two files of one log contradict each other, even where one is a copy, but for a log and its compressed form. */
export async function surveyScope(scope: Scope, findings: Findings): Promise<SurveyedScope> {
  const label = (file: string): string => scope.prefix + file;
  const survey = await surveyLogs(scope.folder, scope.known, label);
  const logs: SurveyedLog[] = [];
  const indexes = new Map<string, number>();
  for (const each of survey.logs) {
    const { log, file } = each;
    if (!scope.files.includes(file)) continue;
    const first = log === null ? undefined : logs[indexes.get(log) ?? -1];
    if (first === undefined) {
      if (log !== null) indexes.set(log, logs.length);
    } else if (isCompressed(file) !== isCompressed(first.file) && plainName(file) === plainName(first.file)) {
      if (await haveSameLines(join(scope.folder, first.file), join(scope.folder, file))) {
        findings.add("COPY", label(file), null, `it holds the lines of ${label(first.file)}`);
        continue;
      }
      findings.add("CONFLICT", label(file), null, `it does not hold the lines of ${label(first.file)}`);
    } else findings.add("CONFLICT", label(file), null, `it claims to be the log in ${label(first.file)}`);
    logs.push(each);
  }
  return { scope, survey, logs, indexes, label };
}
