/** `canonicalJson`: the canonical text of a value. */

import { type CanonicalOptions, maxDepthOf } from "./canonical-options.ts";
import { CanonicalWriter } from "./canonical-writer.ts";
import { KeyShapes } from "./key-shapes.ts";
import { orRefusal } from "./refused.ts";

const shapes = new KeyShapes();

/**
 * Writes `value` as canonical JSON, so that equal values have equal texts wherever they were made.
 *
 * JSON values give exactly RFC 8785 (keys by UTF-16 code units, ECMAScript numbers, shortest escapes). Date, BigInt, bytes (Uint8Array, Buffer, ArrayBuffer), Map, Set and undefined give typed forms such as `{"$toolspan":"bigint","v":"1"}`; a key `$toolspan` of the value itself is written `$$toolspan`.
 * Own enumerable string keys count, each is read exactly once, `toJSON` is never called. Time grows with the text.
 *
 * @param options.maxDepth Containers within one another, integer >= 0; 1000 if not given.
 * @returns Text in which `JSON.parse` finds the same data, with well-formed strings only.
 * @throws CanonicalRefusal for anything else: cycles, functions, symbols, NaN, class instances, holes, throwing getters, …
 * @throws TypeError when `maxDepth` is not such an integer.
 */
export function canonicalJson(value: unknown, options?: CanonicalOptions): string {
  const writer = new CanonicalWriter(shapes, maxDepthOf(options));
  return orRefusal(() => {
    writer.write(value);
    return writer.text;
  });
}
