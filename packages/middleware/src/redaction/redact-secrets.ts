/** The redactor that masks credentials, wherever in a value they hide. */

import { kindOf, ToolspanError } from "@toolspan/core";
import { RE2JS } from "re2js";
import { checksFor } from "../assert-option.ts";
import { maskValue } from "./mask-value.ts";
import type { RedactionOutput, Redactor } from "./redactor.ts";
import { SecretFinder } from "./secrets/find-secrets.ts";
import { Budget, SecretMasker } from "./secrets/secret-masker.ts";
import type { SecretPattern, SecretRule } from "./secrets/secret-rule.ts";
import { rulesOf, secretRules } from "./secrets/secret-rules.ts";

export type { SecretPattern } from "./secrets/secret-rule.ts";

export interface RedactSecretsOptions {
  /** Further patterns, in RE2 syntax. */
  readonly patterns?: readonly SecretPattern[];
  /** Ids of rules that are left out. */
  readonly without?: readonly string[];
  /** Longest time for one part of a call, milliseconds, integer >= 1. Default 2,000. */
  readonly maxMs?: number;
}

/** Ids of the rules that come with it. */
export const SECRET_RULE_IDS: readonly string[] = Object.freeze([...new Set(secretRules.map(({ id }) => id))].sort());

const SUBJECT = "redactSecrets";
const OPTIONS = ["patterns", "without", "maxMs"] as const;
const KEYWORD = /^[ -~]{2,}$/;
const RULE_ID = /^[a-z][a-z0-9_]{0,47}$/;

/**
 * Masks credentials: cloud keys, tokens, private keys, passwords in URLs, card numbers, and what stands under such a name.
 *
 * It looks into values, keys, JSON in strings, base64, percent-encoding, header lists, error texts and bytes, at any depth.
 * A mask is `[redacted:<rule id>]`; a value in which nothing is masked stays the same object. Patterns run on a
 * linear-time engine, and only where one of their keywords stands.
 *
 * @returns A redactor; it throws, so that redaction fails closed, for hostile values: getters that throw, more than a
 * million parts, text wrapped in text more than eight times, more time than `maxMs`.
 * @throws TOOLSPAN_INVALID_OPTION when made, for a pattern that is not RE2 or has no keyword, and for an unknown rule id.
 */
export function redactSecrets(options: RedactSecretsOptions = {}): Redactor {
  const { patterns = [], without = [], maxMs = 2000 } = options;
  checksFor(SUBJECT, options, OPTIONS).count("maxMs", maxMs, 1);
  assertPatterns(patterns);
  assertIds(without);
  const rules: readonly SecretRule[] = [...secretRules, ...rulesOf(patterns)].filter(({ id }) => !without.includes(id));
  const finder = new SecretFinder(rules);
  return ({ phase, args, result }) => {
    const part = phase === "in" ? args : result;
    const { value, fields, rules: counts } = maskValue(part, new SecretMasker(finder, new Budget(maxMs)));
    const found: RedactionOutput = fields.length === 0 ? {} : { redactedFields: fields, redactionRules: counts };
    return phase === "in" ? { args: value, ...found } : { result: value, ...found };
  };
}

function assertPatterns(patterns: unknown): asserts patterns is readonly SecretPattern[] {
  if (!Array.isArray(patterns)) throw invalid("patterns", "a list of patterns", kindOf(patterns));
  for (const given of patterns as readonly Partial<SecretPattern>[]) {
    const { id, pattern, keywords } = given ?? {};
    if (typeof id !== "string" || !RULE_ID.test(id)) throw invalid("patterns.id", "snake_case", kindOf(id));
    const fits = Array.isArray(keywords) && keywords.length > 0 && keywords.every((word) => typeof word === "string" && KEYWORD.test(word)); // biome-ignore format: one line
    if (!fits) throw invalid("patterns.keywords", "a list of ASCII texts of at least two characters", kindOf(keywords));
    if (typeof pattern !== "string" || !compiles(pattern)) {
      throw invalid("patterns.pattern", "an expression in RE2 syntax", typeof pattern === "string" ? `that of ${id}` : kindOf(pattern)); // biome-ignore format: one line
    }
  }
}

function compiles(pattern: string): boolean {
  try {
    RE2JS.compile(pattern);
    return true;
  } catch {
    return false; // the error that is thrown for it says which
  }
}

function assertIds(without: unknown): asserts without is readonly string[] {
  if (!Array.isArray(without)) throw invalid("without", "a list of rule ids", kindOf(without));
  const stranger: unknown = without.find((id) => !SECRET_RULE_IDS.includes(id as string));
  if (stranger !== undefined) {
    throw invalid("without", `ids of ${SECRET_RULE_IDS.join(", ")}`, typeof stranger === "string" ? JSON.stringify(stranger.slice(0, 40)) : kindOf(stranger)); // biome-ignore format: one line
  }
}

function invalid(option: string, expected: string, received: string): ToolspanError {
  return new ToolspanError("TOOLSPAN_INVALID_OPTION", { subject: SUBJECT, option, expected, received });
}
