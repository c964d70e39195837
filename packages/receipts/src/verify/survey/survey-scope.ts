/** The logs that a verification is about: each once, in the order in which they were written. */

import { join } from "node:path";
import { isCompressed, plainName } from "../../log/file-name.ts";
import type { Findings } from "../findings.ts";
import { compareForms } from "./compare-forms.ts";
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
  const asked = new Set(scope.files);
  const there = new Map(survey.logs.map((each) => [each.file, each]));
  for (const each of survey.logs) {
    const { log, file } = each;
    if (!asked.has(file)) continue;
    const beside = isCompressed(file) && asked.has(plainName(file)) ? there.get(plainName(file)) : undefined;
    if (beside !== undefined && (log === null || beside.log === null || beside.log === log)) {
      if (await isCopy(scope.folder, beside.file, file, label, findings)) continue;
    } else if (log !== null && indexes.has(log)) {
      const first = logs[indexes.get(log) as number] as SurveyedLog;
      findings.add("CONFLICT", label(file), null, `it claims to be the log in ${label(first.file)}`);
    }
    if (log !== null && !indexes.has(log)) indexes.set(log, logs.length);
    logs.push(each);
  }
  return { scope, survey, logs, indexes, label };
}

/** True for a compressed form that the plain log makes needless: while `gzip` runs, and where it was interrupted, it is not whole. */
async function isCopy(
  folder: string,
  plain: string,
  compressed: string,
  label: (file: string) => string,
  findings: Findings,
): Promise<boolean> {
  const forms = await compareForms(join(folder, plain), join(folder, compressed));
  const name = label(plain);
  if (forms === "other") findings.add("CONFLICT", label(compressed), null, `it does not hold the lines of ${name}`);
  else {
    const held = forms === "same" ? `it holds the lines of ${name}` : `it is no whole gzip file, ${name} is there`;
    findings.add("COPY", label(compressed), null, held);
  }
  return forms !== "other";
}
