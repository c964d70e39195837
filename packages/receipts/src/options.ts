/** Checks of options that more than one factory takes. */

import { kindOf, ToolspanError } from "@toolspan/core";

export function invalidOption(subject: string, option: string, expected: string, received: string): ToolspanError {
  return new ToolspanError("TOOLSPAN_INVALID_OPTION", { subject, option, expected, received });
}

/** One of `words`; the first where nothing is given. */
export function oneOf<T extends string>(
  subject: string,
  option: string,
  words: readonly [T, ...T[]],
  value: T | undefined,
): T {
  if (value === undefined) return words[0];
  if (words.includes(value)) return value;
  const received = typeof value === "string" ? JSON.stringify(String(value).slice(0, 40)) : kindOf(value);
  throw invalidOption(subject, option, words.map((word) => `"${word}"`).join(" or "), received);
}

export function stateDirOf(subject: string, value: string | undefined): string | undefined {
  if (value === undefined || (typeof value === "string" && value !== "")) return value;
  throw invalidOption(subject, "stateDir", "a path", value === "" ? "an empty string" : kindOf(value));
}
