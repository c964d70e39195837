/** Keeps what comes from models and layers small enough for names and labels. */

import { OTHER } from "./semconv.ts";

const WORD = /^[A-Za-z0-9_.:$-]{1,64}$/;
const MAX_SEEN = 1000;
const MAX_ID_LENGTH = 256;

const seen = new Set<string>();

/** `value` if it is a low-cardinality word, else `_OTHER`: a label must not carry a sentence. */
export function toWord(value: string): string {
  if (seen.has(value)) return value;
  if (!WORD.test(value)) return OTHER;
  if (seen.size < MAX_SEEN) seen.add(value);
  return value;
}

/** An id or a name, cut to 256 characters without parting a surrogate pair. */
export function toId(value: string): string {
  if (value.length <= MAX_ID_LENGTH) return value;
  const cut = value.slice(0, MAX_ID_LENGTH);
  return /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut;
}

const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$.]{0,63}$/;

/** The `name` of something thrown if it is an identifier, else `_OTHER`: the rule of `error.type`. Never throws. */
export function errorTypeOfThrown(thrown: unknown): string {
  try {
    const { name } = Object(thrown) as { readonly name?: unknown };
    return typeof name === "string" && IDENTIFIER.test(name) ? name : OTHER;
  } catch {
    return OTHER; // a getter that throws has no name
  }
}
