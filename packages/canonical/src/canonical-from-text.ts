/** `canonicalFromText`: the strict reader of JSON texts. */
import { type CanonicalOptions, maxDepthOf } from "./canonical-options.ts";
import { isWellFormed } from "./quote-string.ts";
import { orRefusal, Refused } from "./refused.ts";
import { TextReader } from "./text-reader.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const BYTE_ORDER_MARK = 0xfeff;

/**
 * Reads a JSON text that means the same to every reader, and refuses one that does not.
 *
 * Beyond JSON's grammar it refuses duplicate keys, bad UTF-8, a byte order mark, lone surrogates (raw or escaped), integers beyond 2^53-1 (they must travel as strings) and numbers that overflow to infinity or vanish to zero. Typed forms come back as the plain objects they are written as.
 *
 * @param bytes The text as UTF-8 bytes, or already decoded.
 * @param options.maxDepth Containers within one another, integer >= 0; 1000 if not given.
 * @returns Plain data: every key, `__proto__` too, an own property.
 * @throws CanonicalRefusal with `reason`, `path` and `offset` (none for bad UTF-8).
 * @throws TypeError when an argument is of the wrong kind.
 */
export function canonicalFromText(bytes: Uint8Array | string, options?: CanonicalOptions): unknown {
  const maxDepth = maxDepthOf(options);
  return orRefusal(() => {
    const text = typeof bytes === "string" ? wellFormed(bytes) : decoded(bytes);
    if (text.charCodeAt(0) === BYTE_ORDER_MARK) throw new Refused("byte_order_mark", 0);
    return new TextReader(text, maxDepth).document();
  });
}

function wellFormed(text: string): string {
  if (!isWellFormed(text)) throw new Refused("lone_surrogate", text.search(/[\ud800-\udfff]/u));
  return text;
}

function decoded(bytes: Uint8Array): string {
  if (!(bytes instanceof Uint8Array)) throw new TypeError("bytes: expected a Uint8Array or a string");
  try {
    return utf8.decode(bytes);
  } catch (thrown) {
    // A fatal decoder throws a TypeError for bad bytes; anything else is a text longer than a string may be.
    throw new Refused(thrown instanceof TypeError ? "bad_utf8" : "too_large");
  }
}
