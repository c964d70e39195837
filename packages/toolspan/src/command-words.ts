/** What the descriptions of all commands share: exit codes, examples, and how values are read. */

import { InvalidArgumentError } from "commander";
import type { ExitCode } from "./exit-code.ts";

/** Takes the exit code of the command that ran. */
export type End = (code: ExitCode) => void;

export const JSON_OPTION = "print one JSON object and nothing else";

export const EXIT_CODES = `
Exit codes:
  0   what was asked holds
  1   damage, a contradiction, a bad order of layers, or a run that could not be replayed
  2   cannot say: nothing there, no closing line, a log that is still written
  64  wrong usage
  70  a fault of the command itself`;

export function examples(...lines: readonly string[]): string {
  return ["", "Examples:", ...lines.map((line) => `  ${line}`), EXIT_CODES].join("\n");
}

/** Collects the values of an option that may be given again. */
export function collected(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

export function seconds(text: string): number {
  if (/^\d{1,6}(\.\d{1,3})?$/.test(text) && Number(text) > 0) return Number(text);
  throw new InvalidArgumentError("Expected a number of seconds, such as 30 or 0.5.");
}

export function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Expected a whole number, such as 0 or 100.");
}
