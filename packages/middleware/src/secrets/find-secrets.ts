/** Finds secrets in one text as it stands: keywords first, rules only where one of theirs stands. */

import type { SecretRule, Span } from "./secret-rule.ts";

/** A secret and the rule that knows it. */
export interface FoundSecret extends Span {
  readonly rule: string;
}

/** Below this no rule matches. */
const SHORTEST = 8;

/** What the rules find in `text`, in order, none within another. */
export function findSecrets(rules: readonly SecretRule[], text: string, tick: () => void): readonly FoundSecret[] {
  if (text.length < SHORTEST) return [];
  const found: FoundSecret[] = [];
  let lower: string | undefined;
  for (const rule of rules) {
    if (rule.anyCase === true) lower ??= lowerCase(text);
    const searched = rule.anyCase === true ? (lower as string) : text;
    if (!rule.keywords.some((keyword) => searched.includes(keyword))) continue;
    const spans = rule.find(text, () => positionsOf(rule.keywords, searched), tick);
    for (const { start, end } of spans) found.push({ start, end, rule: rule.id });
  }
  return apart(found);
}

/** Lower case of the same length: some letters have a longer lower case. */
function lowerCase(text: string): string {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function positionsOf(keywords: readonly string[], text: string): readonly number[] {
  const positions: number[] = [];
  for (const keyword of keywords) {
    for (let at = text.indexOf(keyword); at !== -1; at = text.indexOf(keyword, at + 1)) positions.push(at);
  }
  return keywords.length === 1 ? positions : positions.sort((a, b) => a - b);
}

/** In order, overlapping ones as one, under the rule of the first. */
export function apart(found: readonly FoundSecret[]): readonly FoundSecret[] {
  const merged: FoundSecret[] = [];
  for (const secret of [...found].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = merged.at(-1);
    if (last === undefined || secret.start >= last.end) merged.push(secret);
    else if (secret.end > last.end) merged[merged.length - 1] = { ...last, end: secret.end };
  }
  return merged;
}
