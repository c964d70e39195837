/** Secrets in running text that are known by the name before them: assignments, headers, flags and query parameters. */

import { isPassName, isSecretUnder, looksRandom } from "./secret-names.ts";
import type { SecretRule, Span } from "./secret-rule.ts";

/** Ends of names, in lower case. */
const WORDS = [
  "password",
  "passwd",
  "pwd",
  "passphrase",
  "pass",
  "secret",
  "token",
  "api_key",
  "apikey",
  "api-key",
  "access_key",
  "accesskey",
  "access-key",
  "private_key",
  "secret_key",
  "secretkey",
  "credential",
  "sig",
] as const;
const PASSWORDS: ReadonlySet<string> = new Set(["password", "passwd", "pwd", "passphrase", "pass"]);
const MAX_NAME = 32;
const MAX_VALUE = 4096;

/** A value that stands after its name, whatever stands between the two: `=`, `:`, `=>`, quotes, also escaped ones. */
export const namedSecretRule: SecretRule = {
  id: "secret_by_name",
  keywords: WORDS,
  anyCase: true,
  find(text, at, tick) {
    const spans: Span[] = [];
    let previous = -1;
    for (const position of at) {
      tick();
      if (position === previous) continue; // one word that begins another: `pass`, `password`
      previous = position;
      const lower = text.slice(position, position + 16).toLowerCase();
      const word = WORDS.find((known) => lower.startsWith(known));
      if (word !== undefined && !isWordPart(text, position, word)) addValue(spans, text, position + word.length, word);
    }
    return spans;
  },
};

/** `sig` is the end of a name only where one begins, `pass` where one of the name's words does and the name ends. */
function isWordPart(text: string, position: number, word: string): boolean {
  if (word === "pass") {
    return NAME.test(text.charAt(position + 4)) || !isPassName(text.slice(Math.max(0, position - 1), position + 4));
  }
  return word === "sig" && /[A-Za-z0-9]/.test(text.charAt(position - 1));
}

function addValue(spans: Span[], text: string, nameEnd: number, word: string): void {
  const last = spans.at(-1);
  if (last !== undefined && nameEnd <= last.end) return;
  let start = skip(text, nameEnd, NAME, MAX_NAME);
  const afterName = start;
  start = skip(text, start, QUOTE, 8);
  const afterQuote = start;
  start = skip(text, start, SPACE, 8);
  const separator = start;
  start = skip(text, start, SEPARATOR, 2);
  // A flag's value may follow after a space alone: `--password hunter2`.
  const isFlag = start === separator && start > afterQuote && isAfterDashes(text, nameEnd - word.length);
  if (start === separator && !isFlag) return;
  start = skip(text, start, SPACE, 8);
  const quoteStart = start;
  start = skip(text, start, QUOTE, 8);
  const isQuoted = start > quoteStart;
  const end = skip(text, start, isQuoted ? QUOTED : BARE, MAX_VALUE);
  const isTight = isQuoted || isFlag || quoteStart === separator + 1;
  const value = text.slice(start, end);
  const isJson = isQuoted && afterQuote > afterName && afterName === nameEnd && PASSWORDS.has(word);
  const nameRest = afterName - nameEnd;
  const isLoose = !isTight && text.charAt(separator) === ":" && quoteStart > separator + 1;
  if (isJson && word !== "pass") {
    if (value.length >= 4 && !isPlaceholder(value)) spans.push({ start, end });
  } else if (
    isTight ? isSecret(value, word, nameRest) : isLoose && isLooseSecret(text, { start, end }, word, afterName)
  ) {
    spans.push({ start, end });
  }
}

/** `name: value` without quotes, as in YAML and logs; also as in prose and in the types of code, so that more is asked of it. */
function isLooseSecret(text: string, { start, end }: Span, word: string, nameEnd: number): boolean {
  const value = text.slice(start, end);
  if (isPlaceholder(value)) return false;
  const nameStart = startOfName(text, nameEnd);
  const name = text.slice(nameStart, nameEnd);
  if (!PASSWORDS.has(word)) return looksRandom(value, 12) && isSecretUnder(name, value);
  if (!name.toLowerCase().endsWith(word)) return false;
  if (isSecret(value.replace(/[.!?:]+$/, ""), word, 0)) return true;
  // A word like any other: a password only as the whole of a line, which code and prose have more on.
  const isLine = /(?:^|[\r\n])[ \t-]*$/.test(text.slice(Math.max(0, nameStart - MAX_NAME), nameStart));
  const isEnd = end === text.length || /^[ \t]*[\r\n]/.test(text.slice(end, end + MAX_NAME));
  return word !== "pass" && isLine && isEnd && value.length >= 8 && !STATES.test(value);
}

function isSecret(value: string, word: string, nameRest: number): boolean {
  if (isPlaceholder(value)) return false;
  if (!PASSWORDS.has(word)) return looksRandom(value, 12);
  // `pass` is also what tests do: `pass: 120/121`.
  if (word === "pass" && !/[A-Za-z]/.test(value)) return false;
  return nameRest === 0 ? value.length >= 6 && /[\d!@#$%^&*?+~]/.test(value) : looksRandom(value, 8);
}

/** A variable, a template or a mask stands in the secret's place. */
function isPlaceholder(value: string): boolean {
  return /^[$%<{([]|^\*+$|^(?:process|env|os|config|options|this|self)[.[]|\(|=>/.test(value);
}

function isAfterDashes(text: string, nameStart: number): boolean {
  return text.startsWith("--", startOfName(text, nameStart));
}

/** Where the name begins that `end` stands in or behind. */
function startOfName(text: string, end: number): number {
  let start = end;
  while (start > 0 && end - start < MAX_NAME && NAME.test(text.charAt(start - 1))) start -= 1;
  return start;
}

/** What is said of passwords in place of them. */
const STATES =
  /^(?:required|optional|undefined|disabled|unchanged|incorrect|forbidden|forgotten|encrypted|protected|\[redacted)/i;

const NAME = /[A-Za-z0-9_-]/;
const QUOTE = /["'`\\]/;
const SPACE = /[ \t]/;
const SEPARATOR = /[:=>]/;
const QUOTED = /[^"'`\\\r\n]/;
const BARE = /[^\s"'`\\,;&<>)\]}]/;

/** The first position from `start` whose character is not of the class; at most `most` further. */
function skip(text: string, start: number, characters: RegExp, most: number): number {
  let end = start;
  while (end < text.length && end - start < most && characters.test(text.charAt(end))) end += 1;
  return end;
}
