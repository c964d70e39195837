/** Parts of a text that say something else when decoded: base64, percent-encoding, escapes of JSON and JavaScript. */

import type { Span } from "./secret-rule.ts";

/** A stretch of the text, and what it says. */
export interface EncodedPart extends Span {
  readonly decoded: string;
}

const BASE64 = /[A-Za-z0-9+/_-]{20,}={0,2}/g;
/** In lines of 60 to 100 characters, as mail and PEM files have it. */
const BASE64_LINES = /(?:[A-Za-z0-9+/]{60,100}\r?\n)+[A-Za-z0-9+/]{1,100}={0,2}/g;
/** A stretch of text; random bytes have none. */
const TEXT = /[\t\n\r\x20-\x7e]{14}/;
const WORD = /[^\s"'<>]+/g;
const ESCAPED = /%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\\//;
const ESCAPES = new RegExp(ESCAPED.source, "g");

export function* encodedParts(text: string): Iterable<EncodedPart> {
  if (text.length < 20) return;
  for (const { 0: run, index } of text.matchAll(BASE64)) yield* decodings(run, index, run);
  if (text.includes("\n")) {
    for (const { 0: lines, index } of text.matchAll(BASE64_LINES))
      yield* decodings(lines, index, lines.replace(/\s/g, ""));
  }
  if (!ESCAPED.test(text)) return;
  for (const { 0: word, index } of text.matchAll(WORD)) {
    if (ESCAPED.test(word)) yield { start: index, end: index + word.length, decoded: word.replace(ESCAPES, unescaped) };
  }
}

/** The run may begin with what is not part of it, such as a path: one of four beginnings is right. */
function* decodings(written: string, start: number, run: string): Iterable<EncodedPart> {
  for (let skipped = 0; skipped < 4; skipped += 1) {
    const decoded = fromBase64(run.slice(skipped));
    if (TEXT.test(decoded)) yield { start, end: start + written.length, decoded };
  }
}

/** Bytes as characters of the same codes; both alphabets, padded or not. */
function fromBase64(run: string): string {
  const standard = run.replace(/=+$/, "").replaceAll("-", "+").replaceAll("_", "/");
  return atob(standard.length % 4 === 1 ? standard.slice(0, -1) : standard);
}

function unescaped(written: string): string {
  return written === "\\/" ? "/" : String.fromCharCode(Number.parseInt(written.replace(/^%|^\\[ux]/, ""), 16));
}
