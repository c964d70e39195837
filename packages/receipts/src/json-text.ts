/** JSON text of strings within a size, so that no single field can outgrow a line. */

const SPECIAL = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;

/** Most bytes a string field takes in a line, quotes included. */
export const MAX_FIELD_BYTES = 2048;

/** The JSON string of `value`, RFC 8785 form; half surrogate pairs become U+FFFD, which UTF-8 can carry. */
export function jsonText(value: string): string {
  return SPECIAL.test(value) ? JSON.stringify(toWellFormed(value)) : `"${value}"`;
}

const MAX_WORDS = 1024;
const MAX_WORD_LENGTH = 64;

/** Writes text around a word of which there are few, as layer names and statuses: around each of them once. */
export function remembered(before: string, after: string): (word: string) => string {
  const texts = new Map<string, string>();
  return (word) => {
    const known = texts.get(word);
    if (known !== undefined) return known;
    if (texts.size >= MAX_WORDS) texts.clear();
    // Joined, not added up: a sum stays in pieces, which every line would put together again.
    const text = [before, jsonText(word), after].join("");
    if (word.length <= MAX_WORD_LENGTH) texts.set(word, text);
    return text;
  };
}

/** The JSON string of such a word. */
export const wordText: (word: string) => string = remembered("", "");

export function wordTextOrNull(word: string | null): string {
  return word === null ? "null" : wordText(word);
}

/** The same for what needs no escape by its kind: hashes, ids in hex, words of a closed list. */
export function plainTextOrNull(value: string | null): string {
  return value === null ? "null" : `"${value}"`;
}

export function jsonTextOrNull(value: string | null): string {
  return value === null ? "null" : jsonText(value);
}

/** `value` well-formed, or its longest beginning whose JSON string has at most `maxBytes` bytes. */
export function fitText(value: string, maxBytes: number = MAX_FIELD_BYTES): string {
  // No UTF-16 code unit takes more than six bytes ("\u0000").
  if (value.length * 6 + 2 <= maxBytes) return toWellFormed(value);
  const whole = toWellFormed(value.length > maxBytes ? value.slice(0, maxBytes) : value);
  if (whole.length === value.length && encodedBytes(whole) <= maxBytes) return whole;
  let low = 0;
  let high = whole.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (encodedBytes(whole.slice(0, middle)) <= maxBytes) low = middle;
    else high = middle - 1;
  }
  return beforeHalf(whole.slice(0, low));
}

function encodedBytes(value: string): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Leaves off a first half of a surrogate pair at the end. */
function beforeHalf(value: string): string {
  const last = value.charCodeAt(value.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? value.slice(0, -1) : value;
}

function toWellFormed(value: string): string {
  // In every engine that we support, not yet in the ES2023 library types.
  return (value as string & { toWellFormed(): string }).toWellFormed();
}
