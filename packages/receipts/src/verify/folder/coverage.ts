/** How much of each log heads answer for, once all logs of a folder were read. */

import type { CheckedLog } from "../chain/log-check.ts";
import type { Findings } from "../findings.ts";
import { type Claim, claimsOn } from "../survey/survey.ts";
import type { SurveyedScope } from "../survey/survey-scope.ts";
import type { Authors } from "../trust/authors.ts";

/** What was found of a log, and what signed heads cover of it. */
interface SeenLog extends CheckedLog {
  /** Null when nobody asks who signed. */
  readonly signed: {
    readonly covered: number;
    /** True when it was said already why that is less than all. */
    readonly told: boolean;
  } | null;
}

export class Coverage {
  readonly #surveyed: SurveyedScope;
  readonly #findings: Findings;
  /** Each log that could be read, by its name in findings. */
  readonly #seen = new Map<string, SeenLog>();

  constructor(surveyed: SurveyedScope, findings: Findings) {
    this.#surveyed = surveyed;
    this.#findings = findings;
  }

  /** A log that was read to its end. */
  see(file: string, checked: CheckedLog, authors: Authors | null): void {
    const told = authors?.judge(file, this.#findings) === true;
    this.#seen.set(file, { ...checked, signed: authors === null ? null : { covered: authors.covered, told } });
  }

  /** Lines that no signed head answers for; returns how many of them were accepted because their log is open. */
  judgeSigned(): number {
    const { logs, label } = this.#surveyed;
    const answered = this.#answered(({ signed }) => signed?.covered ?? 0);
    let accepted = 0;
    for (const { file } of logs) {
      const seen = this.#seen.get(label(file));
      if (seen === undefined || seen.signed === null || seen.signed.told) continue;
      const lines = answered.get(label(file)) ?? 0;
      if (lines >= seen.lines) continue;
      // What is beyond a signed head may be accepted, a log that has none never: anybody can make one.
      if (lines > 0 && lines >= seen.lines - seen.openLines) {
        accepted += seen.lines - lines;
        continue;
      }
      const { covered } = seen.signed;
      const message =
        covered === 0 ? "no signed head covers it" : `signed heads cover ${covered} of ${seen.lines} lines`;
      this.#findings.add("UNSIGNED_LINES", label(file), covered + 1, message);
    }
    return accepted;
  }

  /** Which lines can be taken at their word: those under a right head, of a trusted key where one asks who signed, in a log that nothing speaks against. */
  backed(): (file: string, line: number) => boolean {
    const answered = this.#answered(({ signed, headed }) => (signed === null ? headed : signed.covered));
    return (file, line) => {
      const seen = this.#seen.get(file);
      if (seen === undefined || seen.blamed || seen.signed?.told === true) return false;
      return (answered.get(file) ?? 0) >= line;
    };
  }

  /** Logs of which no head kept elsewhere covers all that they will ever hold. */
  openLogs(): number {
    const { logs, label } = this.#surveyed;
    const answered = this.#answered(({ anchored }) => anchored);
    return logs.filter(({ file }) => {
      const seen = this.#seen.get(label(file));
      const ended = seen?.closed === true || seen?.recovered === true;
      return !ended || (answered.get(label(file)) ?? 0) < seen.lines;
    }).length;
  }

  /** How many lines of each log heads answer for: those they cover, or all of a dead writer's where one covers the line that vouches for them, or vouches for that line in turn. */
  #answered(coveredOf: (seen: SeenLog) => number): ReadonlyMap<string, number> {
    const { survey, logs, label } = this.#surveyed;
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
}

/** True for the log of a dead writer when the line that vouches for all that it left is covered itself. */
function isVouched(seen: CheckedLog, claims: readonly Claim[], coveredOf: (file: string) => number): boolean {
  const vouched = claims.some(
    ({ torn, lines, file, line }) => torn !== null && lines === seen.lines && coveredOf(file) >= line,
  );
  return seen.recovered && vouched;
}
