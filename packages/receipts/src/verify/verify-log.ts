/** `verifyLog`: what can be said about a receipt log, or about a folder of them, offline. */

import { kindOf, ToolspanError } from "@toolspan/core";
import { CHECKS } from "./checks.ts";
import { loadTrust } from "./trust/load-trust.ts";
import { Verification } from "./verification.ts";
import type { VerifyOptions } from "./verify-options.ts";
import type { VerifyReport } from "./verify-report.ts";

const MAX_WORKERS = 64;

/**
 * Checks a receipt log offline, with nothing but its files.
 *
 * A file is checked with its heads. A folder is a state root (`receipts/`, and `spans/` to compare with) or a folder of logs; then what logs say of each other, copies of one record, intents without a receipt, and spans that name a durable receipt are checked too.
 * It answers integrity, authenticity and completeness apart, and lists what it did not check. With `trust` it says whether keys that you name have signed the heads, each in its own time. With `anchors` it says whether the logs are still what heads that were kept elsewhere vouch for. Without `trust` the best answer is "consistent", which whoever can write the files can arrange.
 *
 * @param path A log, a state root, or a folder of logs.
 * @returns A report; `exitCode` follows the table in `docs/trust.md`. Trouble with files is part of the report.
 * @throws TOOLSPAN_INVALID_OPTION for a bad path or option.
 */
export async function verifyLog(path: string, options: VerifyOptions = {}): Promise<VerifyReport> {
  const { allowOpen, strict, trust, anchors, workers } = options;
  if (typeof path !== "string" || path === "") throw invalid("path", "a file or a folder", kindOf(path));
  if (allowOpen !== undefined && !(Number.isSafeInteger(allowOpen) && allowOpen >= 0)) {
    throw invalid(
      "allowOpen",
      "an integer >= 0",
      typeof allowOpen === "number" ? String(allowOpen) : kindOf(allowOpen),
    );
  }
  if (workers !== undefined && !(Number.isInteger(workers) && workers >= 1 && workers <= MAX_WORKERS)) {
    const received = typeof workers === "number" ? String(workers) : kindOf(workers);
    throw invalid("workers", `an integer from 1 to ${MAX_WORKERS}`, received);
  }
  if (strict !== undefined && typeof strict !== "boolean") throw invalid("strict", "true or false", kindOf(strict));
  if (trust !== undefined && (typeof trust !== "string" || trust === "")) {
    throw invalid("trust", "a verifier key or a path", kindOf(trust));
  }
  const paths = anchors === undefined ? [] : pathsOf(anchors);
  const trusted = trust === undefined ? null : loadTrust(trust, CHECKS);
  return new Verification(path, options, { checks: CHECKS, trust: trusted, anchors: paths }).run();
}

function pathsOf(anchors: unknown): readonly string[] {
  const paths: readonly unknown[] = Array.isArray(anchors) ? anchors : [anchors];
  const isPath = (each: unknown): each is string => typeof each === "string" && each !== "";
  if (paths.length > 0 && paths.every(isPath)) return paths;
  throw invalid("anchors", "a path or a list of paths", kindOf(anchors));
}

function invalid(option: string, expected: string, received: string): ToolspanError {
  return new ToolspanError("TOOLSPAN_INVALID_OPTION", { subject: "verifyLog", option, expected, received });
}
