// Laws of the strict reader.
import { CanonicalRefusal, canonicalFromText, canonicalJson } from "@toolspan/canonical";
import { describe, expect, test } from "vitest";
import { PARSER_CASES } from "./vectors.ts";

/** The reason, path and offset of the refusal of `text`; undefined if it is accepted. */
function refusalOf(text: string | Uint8Array, maxDepth?: number) {
  try {
    canonicalFromText(text, maxDepth === undefined ? {} : { maxDepth });
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof CanonicalRefusal)) throw thrown;
    return { reason: thrown.reason, path: thrown.path, offset: thrown.offset };
  }
}

describe("JSONTestSuite", () => {
  const cases = Object.entries(PARSER_CASES).map(([name, base64]) => ({ name, bytes: Buffer.from(base64, "base64") }));
  const named = (prefix: string) => cases.filter(({ name }) => name.startsWith(prefix));
  const accepted = (some: typeof cases) => some.filter(({ bytes }) => refusalOf(bytes) === undefined);

  test("no text outside JSON is accepted", () => {
    expect(named("n_")).toHaveLength(188);
    expect(accepted(named("n_")).map(({ name }) => name)).toEqual([]);
  });

  test("every text of JSON is accepted, except those with duplicate keys", () => {
    const refused = named("y_").filter(({ bytes }) => refusalOf(bytes) !== undefined);
    expect(named("y_")).toHaveLength(95);
    expect(refused.map(({ name }) => name)).toEqual([
      "y_object_duplicated_key.json",
      "y_object_duplicated_key_and_value.json",
    ]);
  });

  test("of the cases left open only moderate nesting is accepted", () => {
    expect(named("i_")).toHaveLength(35);
    expect(accepted(named("i_")).map(({ name }) => name)).toEqual(["i_structure_500_nested_arrays.json"]);
  });

  test("what is accepted is what JSON.parse reads", () => {
    for (const { bytes } of accepted(cases)) {
      expect(canonicalFromText(bytes)).toEqual(JSON.parse(bytes.toString("utf8")));
    }
  });
});

describe("canonicalFromText", () => {
  test.each([
    ['{"a":1,"a":1}', "duplicate_key", "/a", 7],
    ['{"x":[{"b":1,"\\u0062":2}]}', "duplicate_key", "/x/0/b", 13],
    ['{"__proto__":1,"__proto__":2}', "duplicate_key", "/__proto__", 15],
    ['["\\ud800"]', "lone_surrogate", "/0", 1],
    ['{"a":"\\udc00\\ud800"}', "lone_surrogate", "/a", 5],
    ['["\ud800"]', "lone_surrogate", "", 2],
    ["[9007199254740992]", "unsafe_integer", "/0", 1],
    ["-9007199254740993", "unsafe_integer", "", 0],
    ["[1e400]", "non_finite", "/0", 1],
    ["[-1.5e999999]", "non_finite", "/0", 1],
    ["[1e-400]", "number_underflow", "/0", 1],
    ["1 2", "trailing_text", "", 2],
    ["{}\u0000", "trailing_text", "", 2],
    ["\ufeff{}", "byte_order_mark", "", 0],
    ["", "syntax", "", 0],
    ["[1,]", "syntax", "/1", 3],
    ["[01]", "syntax", "", 2],
    ['{"a" 1}', "syntax", "", 5],
    ["[1\u00a0]", "syntax", "", 2],
    ['["\t"]', "syntax", "/0", 2],
    ['["\\x41"]', "syntax", "/0", 2],
    ['["\\u00g0"]', "syntax", "/0", 2],
    ["nul", "syntax", "", 0],
    ["'a'", "syntax", "", 0],
  ])("refuses %j as %s at %j, offset %i", (text, reason, path, offset) => {
    expect(refusalOf(text)).toEqual({ reason, path, offset });
  });

  test.each([
    ["an overlong form", [0x22, 0xc0, 0x80, 0x22]],
    ["an encoded surrogate", [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ["a cut sequence", [0x22, 0xe2, 0x82, 0x22]],
    ["beyond U+10FFFF", [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22]],
  ])("refuses bytes that are no UTF-8: %s", (_, bytes) => {
    expect(refusalOf(Uint8Array.from(bytes))).toEqual({ reason: "bad_utf8", path: "", offset: undefined });
  });

  test("refuses a byte order mark in bytes too", () => {
    expect(refusalOf(Buffer.from("\ufeff1"))?.reason).toBe("byte_order_mark");
  });

  test("accepts the largest integers, fractions and exponents that a double holds", () => {
    expect(canonicalFromText("[9007199254740991,-9007199254740991,1e300,1E+2,0.1,-0,0e5,0e-999]")).toEqual([
      9007199254740991, -9007199254740991, 1e300, 100, 0.1, -0, 0, 0,
    ]);
  });

  test("accepts noncharacters: they have a Unicode form, and RFC 8785 refuses only what has none", () => {
    expect(canonicalFromText('["\\uffff\ufdd0"]')).toEqual(["\uffff\ufdd0"]);
  });

  test("makes every key an own property and touches no prototype", () => {
    const text = '{"__proto__":{"polluted":true},"constructor":1,"toString":2,"hasOwnProperty":3}';
    const value = canonicalFromText(text) as Record<string, unknown>;
    expect(Object.keys(value)).toEqual(["__proto__", "constructor", "toString", "hasOwnProperty"]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect((value as { polluted?: unknown }).polluted).toBeUndefined();
    expect(JSON.stringify(value)).toBe(text);
  });

  test("never runs a setter that Object.prototype has been given", () => {
    let ran = 0;
    Object.defineProperty(Object.prototype, "trap", { set: () => ran++, get: () => "inherited", configurable: true });
    try {
      const value = canonicalFromText('{"trap":1}');
      expect(Object.getOwnPropertyDescriptor(value, "trap")?.value).toBe(1);
      expect(ran).toBe(0);
    } finally {
      delete (Object.prototype as { trap?: unknown }).trap;
    }
  });

  test("bounds depth by option and refuses what is deeper, at any depth", () => {
    const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
    expect(refusalOf(nested(1000))).toBeUndefined();
    expect(refusalOf(nested(1001))).toMatchObject({ reason: "depth", offset: 1000 });
    expect(refusalOf(nested(3), 2)).toEqual({ reason: "depth", path: "/0/0", offset: 2 });
    expect(refusalOf("1", 0)).toBeUndefined();
    expect(refusalOf('{"a":'.repeat(100_000))?.reason).toBe("depth");
    expect(refusalOf(nested(100_000), 1_000_000)?.reason).toBe("depth");
  });

  test("reads typed forms as the plain objects they are written as", () => {
    expect(canonicalFromText(canonicalJson([1n]))).toEqual([{ $toolspan: "bigint", v: "1" }]);
  });

  test("tells a caller who passes something else, or no such depth", () => {
    expect(() => canonicalFromText(new ArrayBuffer(1) as unknown as Uint8Array)).toThrow(TypeError);
    expect(() => canonicalFromText("1", { maxDepth: -1 })).toThrow(TypeError);
    expect(() => canonicalFromText("1", { maxDepth: 1.5 })).toThrow(TypeError);
  });

  test("says nothing of the content in the message", () => {
    const thrown = (() => {
      try {
        return canonicalFromText('{"secret-key":"secret-value","secret-key":1}');
      } catch (error) {
        return error as CanonicalRefusal;
      }
    })();
    expect(thrown).toBeInstanceOf(CanonicalRefusal);
    expect((thrown as CanonicalRefusal).message).not.toMatch(/secret/);
  });
});
