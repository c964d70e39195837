/** For how long receipts are kept: a number and a unit, from an option, and never less than the environment says. */

import { kindOf } from "@toolspan/core";
import { invalidOption } from "../options.ts";

const UNITS: ReadonlyMap<string, number> = new Map([
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
]);
const VARIABLE = "TOOLSPAN_RETENTION";
const EXPECTED = 'a number and a unit (ms, s, m, h, d), such as "180d"';

/**
 * Milliseconds.
 *
 * @throws TOOLSPAN_INVALID_OPTION where neither says it, for what is no such time, and for less than `TOOLSPAN_RETENTION`.
 */
export function retentionMs(subject: string, option: string | undefined): number {
  const variable = process.env[VARIABLE];
  const least = variable === undefined || variable === "" ? null : millisecondsIn(variable);
  if (least === undefined) throw invalidOption(subject, VARIABLE, EXPECTED, "another text");
  if (option === undefined) {
    if (least !== null) return least;
    throw invalidOption(subject, "olderThan", `${EXPECTED}, here or in ${VARIABLE}`, "none");
  }
  const asked = typeof option === "string" ? millisecondsIn(option) : undefined;
  if (asked === undefined) {
    throw invalidOption(subject, "olderThan", EXPECTED, typeof option === "string" ? "another text" : kindOf(option));
  }
  if (least !== null && asked < least) {
    throw invalidOption(subject, "olderThan", `at least what ${VARIABLE} says`, "less");
  }
  return asked;
}

/** Undefined for what is no time. */
function millisecondsIn(text: string): number | undefined {
  const [, number, unit] = /^([1-9]\d{0,8})(ms|s|m|h|d)$/.exec(text) ?? [];
  return number === undefined ? undefined : Number(number) * (UNITS.get(unit ?? "") ?? Number.NaN);
}
