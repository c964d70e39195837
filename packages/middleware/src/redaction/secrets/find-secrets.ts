/** Finds secrets in one text as it stands: keywords first, rules only where one of theirs stands. */

import { KeywordIndex } from "./keyword-index.ts";
import type { SecretRule, Span } from "./secret-rule.ts";

/** A secret and the rule that knows it. */
export interface FoundSecret extends Span {
  readonly rule: string;
}

const NONE: readonly FoundSecret[] = [];

/** A list of rules, and what there is to know of it before the first text. */
export class SecretFinder {
  readonly ids: ReadonlySet<string>;
  readonly #rules: readonly SecretRule[];
  readonly #keywords: KeywordIndex;

  constructor(rules: readonly SecretRule[]) {
    this.ids = new Set(rules.map(({ id }) => id));
    this.#rules = rules;
    this.#keywords = new KeywordIndex(rules);
  }

  /** What the rules find in `text`, in order, none within another. */
  find(text: string, tick: () => void): readonly FoundSecret[] {
    const hits = this.#keywords.hits(text);
    if (hits.size === 0) return NONE;
    const found: FoundSecret[] = [];
    for (const [position, at] of hits) {
      const rule = this.#rules[position] as SecretRule;
      for (const { start, end } of rule.find(text, at, tick)) found.push({ start, end, rule: rule.id });
    }
    return apart(found);
  }
}

/** In order, overlapping ones as one, under the rule of the first. */
export function apart(found: readonly FoundSecret[]): readonly FoundSecret[] {
  if (found.length < 2) return found;
  const merged: FoundSecret[] = [];
  for (const secret of [...found].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = merged.at(-1);
    if (last === undefined || secret.start >= last.end) merged.push(secret);
    else if (secret.end > last.end) merged[merged.length - 1] = { ...last, end: secret.end };
  }
  return merged;
}
