/** Random values for the properties of canonical JSON. */
import fc from "fast-check";

/** Well-formed text: ASCII, control characters, the whole of Unicode, and texts that look like other things. */
const text: fc.Arbitrary<string> = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.string({ unit: "binary", minLength: 20, maxLength: 90 }),
  fc.constantFrom("", "0", "10", "9", "-1", "1e3", "null", "$toolspan", "bigint", '"', "\\u0041", "\u2028", "\uffff"),
);

const key: fc.Arbitrary<string> = fc.oneof(
  { weight: 8, arbitrary: text.filter((name) => !/^\$+toolspan$/.test(name)) },
  { weight: 1, arbitrary: fc.constantFrom("__proto__", "constructor", "toJSON", "length", "\ufb33", "\u{1f600}") },
);

const double = fc.double({ noNaN: true, noDefaultInfinity: true });

/** Anything that JSON can say and RFC 8785 accepts; numbers over the whole range of doubles. */
export const iJson: fc.Arbitrary<unknown> = iJsonOver(fc.oneof(fc.integer(), fc.maxSafeInteger(), double));

/** The same with numbers that a JSON text can carry back: no integers beyond 2^53-1, -0 as 0. */
export const readableJson: fc.Arbitrary<unknown> = iJsonOver(
  fc
    .oneof(fc.integer(), fc.maxSafeInteger(), double)
    .filter((number) => !Number.isInteger(number) || Number.isSafeInteger(number))
    .map((number) => (number === 0 ? 0 : number)),
);

function iJsonOver(number: fc.Arbitrary<number>): fc.Arbitrary<unknown> {
  return fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 5 }, tie("scalar"), tie("array"), tie("object")),
    scalar: fc.oneof(number, text, fc.boolean(), fc.constant(null)),
    array: fc.array(tie("value"), { maxLength: 6 }),
    object: fc.uniqueArray(fc.tuple(key, tie("value")), { selector: ([name]) => name, maxLength: 8 }).map(objectOf),
  })).value;
}

/** An object with these members in this order, all its own. */
export function objectOf(members: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const [name, value] of members) {
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
  }
  return object;
}

/** Values with typed forms and values that imitate them, from so few words that equal ones come up often. */
export const typedOrAlike: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, tie("scalar"), tie("array"), tie("object"), tie("map"), tie("set")),
  scalar: fc.oneof(
    fc.constantFrom(null, true, 0, 1, undefined, 0n, 1n, -1n),
    fc.constantFrom("", "1", "AA==", "bigint", "undefined", "map", "set", "date", "1970-01-01T00:00:00.000Z"),
    fc.constantFrom(0, 1).map((time) => new Date(time)),
    fc.constantFrom([], [0], [1, 2]).map((bytes) => Uint8Array.from(bytes)),
  ),
  array: fc.array(tie("value"), { maxLength: 2 }),
  object: fc
    .uniqueArray(fc.tuple(fc.constantFrom("$toolspan", "$$toolspan", "$toolspa", "v", ""), tie("value")), {
      selector: ([name]) => name,
      maxLength: 2,
    })
    .map(objectOf),
  map: fc.array(fc.tuple(tie("value"), tie("value")), { maxLength: 2 }).map((entries) => new Map(entries)),
  set: fc.array(tie("value"), { maxLength: 2 }).map((items) => new Set(items)),
})).value;

/** The same value with the members of every object in another order. */
export function reordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reordered);
  if (typeof value !== "object" || value === null) return value;
  return objectOf(
    Object.entries(value)
      .map(([name, member]) => [name, reordered(member)] as const)
      .reverse(),
  );
}
