/** Text of a JSON string as RFC 8785, section 3.2.2.2, wants it: the shortest escapes, and no lone surrogates. */
import { Refused } from "./refused.ts";

const SPECIAL = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;

// Below the first length a loop beats the regular expression's call, above the second the native writer beats both.
const LOOP_BELOW = 24;
const SCAN_BELOW = 64;

export function quoteString(text: string): string {
  if (isUnescaped(text)) return `"${text}"`;
  if (!isWellFormed(text)) throw new Refused("lone_surrogate");
  return JSON.stringify(text);
}

/** True when `text` stands for itself between quotes; long texts are left to the native writer. */
function isUnescaped(text: string): boolean {
  const { length } = text;
  if (length >= LOOP_BELOW) return length < SCAN_BELOW && !SPECIAL.test(text);
  for (let i = 0; i < length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x20 || unit === 0x22 || unit === 0x5c || (unit >= 0xd800 && unit <= 0xdfff)) return false;
  }
  return true;
}

/** False for a text with half a surrogate pair: it has no UTF-8 form. */
export function isWellFormed(text: string): boolean {
  // In every engine that we support, not yet in the ES2023 library types.
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}
