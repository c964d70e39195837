/** Checks options when something is made: wrong ones are refused by name, with what was expected. */

import { kindOf, ToolspanError } from "@toolspan/core";

export type Check = (value: unknown) => string | undefined;

/** What an option must be, in words; undefined when it is. */
export const text: Check = (value) => (typeof value === "string" ? undefined : "a string");
export const flag: Check = (value) => (typeof value === "boolean" ? undefined : "true or false");
export const callback: Check = (value) => (typeof value === "function" ? undefined : "a function");
export const anObject: Check = (value) => (typeof value === "object" && value !== null ? undefined : "an object");
export const texts: Check = (value) =>
  Array.isArray(value) && value.every((item) => typeof item === "string") ? undefined : "a list of strings";
export const scalars: Check = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value) && Object.values(value).every(isScalar)
    ? undefined
    : "an object of strings, finite numbers and booleans";

export function atLeast(least: number, unit: string): Check {
  return (value) =>
    typeof value === "number" && Number.isFinite(value) && value >= least
      ? undefined
      : `a number of ${unit} of at least ${least}`;
}

export function oneOf(...words: readonly string[]): Check {
  return (value) =>
    typeof value === "string" && words.includes(value) ? undefined : words.map((word) => `"${word}"`).join(", ");
}

/** @throws TOOLSPAN_INVALID_OPTION for the first unknown or wrong option; undefined counts as not given. */
export function checkOptions(subject: string, options: object, checks: Readonly<Record<string, Check>>): void {
  for (const [option, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const check = Object.hasOwn(checks, option) ? checks[option] : undefined;
    if (check === undefined)
      throw invalid(subject, option, `one of ${Object.keys(checks).join(", ")}`, "an unknown option");
    const expected = check(value);
    if (expected !== undefined) throw invalid(subject, option, expected, describe(value));
  }
}

export function invalid(subject: string, option: string, expected: string, received: string): ToolspanError {
  return new ToolspanError("TOOLSPAN_INVALID_OPTION", { subject, option, expected, received });
}

function isScalar(value: unknown): boolean {
  return typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
}

/** The kind of a value; of a word or a number, itself, as options are not content. */
export function describe(value: unknown): string {
  return typeof value === "string" || typeof value === "number"
    ? JSON.stringify(String(value).slice(0, 64))
    : kindOf(value);
}
