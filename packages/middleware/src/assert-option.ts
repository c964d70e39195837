/** Checks of options when a layer is made: each throws TOOLSPAN_INVALID_OPTION, naming layer, option and range. */

import { kindOf, ToolspanError } from "@toolspan/core";

/** Longest delay that a timer takes: beyond it, it would fire at once. */
export const MAX_DELAY_MS = 2_147_483_647;

type Options = Readonly<Record<string, unknown>>;

/** The options of one layer, checked one by one. */
export interface OptionChecks {
  /** An integer from `least` to `most`. */
  count(option: string, value: unknown, least: number, most?: number): void;
  text(option: string, value: unknown): void;
  flag(option: string, value: unknown): void;
  oneOf(option: string, value: unknown, words: readonly string[]): void;
  notOneOf(option: string, value: unknown, words: readonly string[]): void;
  names(option: string, value: unknown): void;
  /** An array of words of the list. */
  list(option: string, value: unknown, words: readonly string[]): void;
  map(option: string, value: unknown): void;
  fn(option: string, value: unknown): void;
  /** A map of tool name to such an integer. */
  countPerTool(option: string, value: unknown, least: number, most?: number): void;
}

/** Checks that `options` is an object of known names, and gives the checks of its values; all but `count` skip undefined. */
export function checksFor(subject: string, options: unknown, known: readonly string[]): OptionChecks {
  const refuse = (option: string, expected: string, received: string): never => {
    throw new ToolspanError("TOOLSPAN_INVALID_OPTION", { subject, option, expected, received });
  };
  const check = (option: string, value: unknown, expected: string, fits: boolean): void => {
    if (value !== undefined && !fits) refuse(option, expected, kindOf(value));
  };
  if (!isRecord(options)) return refuse("options", "an object", kindOf(options));
  const stranger = Object.keys(options).find((name) => !known.includes(name));
  if (stranger !== undefined) refuse(stranger, `left out; the options are ${known.join(", ")}`, "an unknown option");

  const count = (option: string, value: unknown, least: number, most = Number.MAX_SAFE_INTEGER): void => {
    if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return;
    const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
    refuse(option, `an integer ${range}`, typeof value === "number" ? String(value) : kindOf(value));
  };
  return {
    count,
    text: (option, value) => check(option, value, "a non-empty string", typeof value === "string" && value !== ""),
    flag: (option, value) => check(option, value, "a boolean", typeof value === "boolean"),
    oneOf: (option, value, words) =>
      check(option, value, `one of ${words.join(", ")}`, words.includes(value as string)),
    notOneOf: (option, value, words) =>
      check(option, value, `none of ${words.join(", ")}`, !words.includes(value as string)),
    names: (option, value) =>
      check(
        option,
        value,
        "an array of tool names",
        Array.isArray(value) && value.every((name) => typeof name === "string"),
      ),
    list: (option, value, words) =>
      check(
        option,
        value,
        `an array of ${words.join(", ")}`,
        Array.isArray(value) && value.every((word) => words.includes(word as string)),
      ),
    map: (option, value) =>
      check(option, value, "a map of tool name to options", isRecord(value) && Object.values(value).every(isRecord)),
    fn: (option, value) => {
      if (typeof value !== "function") refuse(option, "a function", kindOf(value));
    },
    countPerTool(option, value, least, most) {
      check(option, value, "a map of tool name to integer", isRecord(value));
      for (const [tool, entry] of Object.entries((value ?? {}) as Options))
        count(`${option}.${tool}`, entry, least, most);
    },
  };
}

function isRecord(value: unknown): value is Options {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
