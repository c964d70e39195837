/** Tells arguments whose hash whoever knows the tool can find by trying. */

/** Canonical text longer than this, UTF-16 code units, is taken to hold enough that nobody can guess. */
export const MAX_GUESSABLE_LENGTH = 512;

/** A core tries a million a second [measured]: 2^32 candidates are an hour's work. */
const ENOUGH_BITS = 32;

const BITS_PER_DIGIT = Math.log2(10);
/** Longer strings hold enough whatever they are made of. */
const LONG_STRING = 32;

/**
 * True when the values in `text` leave fewer than 2^32 candidates to somebody who knows its keys.
 *
 * Goes by the characters of each value as if they were random, so words and names are easier to guess than it says. Text that holds no value at all has nothing to guess. One pass, which ends as soon as there is enough.
 *
 * @param text Canonical JSON, at most `MAX_GUESSABLE_LENGTH`; or text that is none, of which every character counts.
 */
export function isGuessable(text: string): boolean {
  let bits = 0;
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfString(text, at + 1);
      if (text.charCodeAt(end + 1) !== COLON) bits += bitsOfString(text, at + 1, end);
      at = end + 1;
    } else if (STRUCTURE.includes(text[at] as string)) {
      at++;
    } else {
      const end = endOfWord(text, at);
      bits += bitsOfWord(text.slice(at, end));
      at = end;
    }
    if (bits >= ENOUGH_BITS) return false;
  }
  return bits > 0;
}

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const STRUCTURE = "{}[],:";

function endOfString(text: string, start: number): number {
  let at = start;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}

function endOfWord(text: string, start: number): number {
  let at = start;
  while (at < text.length && text.charCodeAt(at) !== QUOTE && !STRUCTURE.includes(text[at] as string)) at++;
  return at;
}

function bitsOfWord(word: string): number {
  if (word === "null") return 0;
  return word === "true" || word === "false" ? 1 : word.length * BITS_PER_DIGIT;
}

function bitsOfString(text: string, start: number, end: number): number {
  const length = end - start;
  if (length >= LONG_STRING) return length;
  let [digits, lower, upper, other] = [0, 0, 0, 0];
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0x30 && code <= 0x39) digits = 10;
    else if (code >= 0x61 && code <= 0x7a) lower = 26;
    else if (code >= 0x41 && code <= 0x5a) upper = 26;
    else other = 33;
  }
  return length * Math.log2(Math.max(2, digits + lower + upper + other));
}
