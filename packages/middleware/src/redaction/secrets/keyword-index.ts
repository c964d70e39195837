/** Finds the keywords of all rules in one pass over a text. */

import type { SecretRule } from "./secret-rule.ts";

interface Entry {
  readonly rule: number;
  readonly keyword: string;
  readonly anyCase: boolean;
}

/** Positions of a rule's keywords, by the rule's place in the list; absent where it has none in the text. */
export type KeywordHits = ReadonlyMap<number, readonly number[]>;

const NONE: KeywordHits = new Map();

/** Goes by the first two characters of each keyword; keywords are ASCII and have at least two. */
export class KeywordIndex {
  readonly #mayBegin = new Uint8Array(128 * 128);
  readonly #entries = new Map<number, Entry[]>();

  constructor(rules: readonly SecretRule[]) {
    rules.forEach(({ keywords, anyCase = false }, rule) => {
      for (const keyword of keywords) {
        for (const pair of anyCase ? casesOf(keyword.slice(0, 2)) : [keyword.slice(0, 2)]) {
          this.#add(pairCode(pair, 0), { rule, keyword, anyCase });
        }
      }
    });
  }

  hits(text: string): KeywordHits {
    let hits: Map<number, number[]> | undefined;
    for (let i = 1; i < text.length; i += 1) {
      const code = pairCode(text, i - 1);
      if (code === -1 || this.#mayBegin[code] === 0) continue;
      for (const { rule, keyword, anyCase } of this.#entries.get(code) as readonly Entry[]) {
        if (!startsAt(text, i - 1, keyword, anyCase)) continue;
        hits ??= new Map();
        const positions = hits.get(rule);
        if (positions === undefined) hits.set(rule, [i - 1]);
        else positions.push(i - 1);
      }
    }
    return hits ?? NONE;
  }

  #add(code: number, entry: Entry): void {
    const entries = this.#entries.get(code) ?? [];
    entries.push(entry);
    this.#entries.set(code, entries);
    this.#mayBegin[code] = 1;
  }
}

/** -1 where one of the two characters is not ASCII. */
function pairCode(text: string, at: number): number {
  const first = text.charCodeAt(at);
  const second = text.charCodeAt(at + 1);
  return first < 128 && second < 128 ? first * 128 + second : -1;
}

function startsAt(text: string, at: number, keyword: string, anyCase: boolean): boolean {
  if (!anyCase) return text.startsWith(keyword, at);
  return text.slice(at, at + keyword.length).toLowerCase() === keyword;
}

/** All ways to write two lower-case characters in upper and lower case. */
function casesOf(pair: string): ReadonlySet<string> {
  const [first = "", second = ""] = [...pair];
  return new Set([first, first.toUpperCase()].flatMap((one) => [one + second, one + second.toUpperCase()]));
}
