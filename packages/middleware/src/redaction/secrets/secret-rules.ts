/** All rules: secretlint's patterns, tokens known by their form, and scanners for what is known by its place. */

import { cardRule } from "./card-rule.ts";
import { headerRule } from "./header-rule.ts";
import { namedSecretRule } from "./named-secret-rule.ts";
import { patternRule } from "./pattern-rule.ts";
import type { SecretPattern, SecretRule } from "./secret-rule.ts";
import { secretlintPatterns } from "./secretlint-patterns.ts";
import { tokenPatterns } from "./token-patterns.ts";
import { urlPasswordRule } from "./url-password-rule.ts";

/** One rule per pattern; those of one id count as one. */
export const secretRules: readonly SecretRule[] = [
  ...rulesOf([...secretlintPatterns, ...tokenPatterns]),
  headerRule,
  urlPasswordRule,
  namedSecretRule,
  cardRule,
];

export function rulesOf(patterns: readonly SecretPattern[]): readonly SecretRule[] {
  return patterns.map((pattern) => patternRule(pattern.id, [pattern]));
}
