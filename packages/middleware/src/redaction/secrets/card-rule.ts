/** Payment card numbers: digits in groups, with an issuer's prefix, a brand's length and a right check digit. */

import type { SecretRule, Span } from "./secret-rule.ts";

/** Prefix and lengths of the brands, as ISO/IEC 7812 ranges are published by their issuers. */
const BRANDS: readonly (readonly [prefix: RegExp, lengths: readonly number[]])[] = [
  [/^4/, [16, 19]],
  [/^(?:5[1-5]|2(?:2[2-9]|[3-6]|7[01]|720))/, [16]],
  [/^3[47]/, [15]],
  [/^(?:6011|64[4-9]|65)/, [16, 19]],
  [/^35(?:2[89]|[3-8])/, [16]],
  [/^3(?:0[0-5]|[689])/, [14]],
];

/** Digits with single spaces or hyphens between them, not part of a longer word or number. */
const CANDIDATE = /(?<![A-Za-z0-9.+_-])\d(?:[ -]?\d){13,18}(?![A-Za-z0-9+_-]|\.\d)/g;

/** What a card can begin with. */
const BEGINNINGS = ["22", "23", "24", "25", "26", "27", "30", "34", "35", "36", "37", "38", "39", "60", "64", "65"];

export const cardRule: SecretRule = {
  id: "card_number",
  keywords: [...BEGINNINGS, ...Array.from({ length: 10 }, (_, i) => `4${i}`), "51", "52", "53", "54", "55"],
  find(text) {
    const spans: Span[] = [];
    for (const match of text.matchAll(CANDIDATE)) {
      const [written] = match;
      if (isCard(written.replace(/[ -]/g, ""))) spans.push({ start: match.index, end: match.index + written.length });
    }
    return spans;
  },
};

/** True for the digits of a card. */
export function isCard(digits: string): boolean {
  const fits = BRANDS.some(([prefix, lengths]) => lengths.includes(digits.length) && prefix.test(digits));
  return fits && checkSum(digits) % 10 === 0;
}

/** Luhn, ISO/IEC 7812-1 annex B. */
function checkSum(digits: string): number {
  let sum = 0;
  for (let i = 0; i < digits.length; i += 1) {
    const digit = Number(digits.charAt(digits.length - 1 - i));
    const doubled = i % 2 === 0 ? digit : digit * 2;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum;
}
