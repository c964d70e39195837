// The table of typed forms: what JSON lacks, written so that it cannot be taken for anything else.
import { runInNewContext } from "node:vm";
import { CanonicalRefusal, canonicalJson } from "@toolspan/canonical";
import { describe, expect, test } from "vitest";

class Money extends Map<string, number> {
  readonly currency = "EUR";
}

class Bytes extends Uint8Array {
  // What a subclass says about itself is not asked.
  override get length(): number {
    return 99;
  }
}

describe("typed forms", () => {
  test.each<[string, unknown, string]>([
    ["undefined", undefined, '{"$toolspan":"undefined"}'],
    ["a BigInt", 12345678901234567890n, '{"$toolspan":"bigint","v":"12345678901234567890"}'],
    ["a negative BigInt", -1n, '{"$toolspan":"bigint","v":"-1"}'],
    ["a Date", new Date(0), '{"$toolspan":"date","v":"1970-01-01T00:00:00.000Z"}'],
    ["a Date far away", new Date(8.64e15), '{"$toolspan":"date","v":"+275760-09-13T00:00:00.000Z"}'],
    ["an invalid Date", new Date(Number.NaN), '{"$toolspan":"date","v":null}'],
    ["a Uint8Array", Uint8Array.of(0, 1, 255), '{"$toolspan":"bytes","v":"AAH/"}'],
    ["a Buffer", Buffer.from("ab"), '{"$toolspan":"bytes","v":"YWI="}'],
    ["an ArrayBuffer", Uint8Array.of(7).buffer, '{"$toolspan":"bytes","v":"Bw=="}'],
    ["a view of a part", new Uint8Array(Uint8Array.of(1, 2, 3).buffer, 1, 1), '{"$toolspan":"bytes","v":"Ag=="}'],
    ["a subclass of bytes", Bytes.of(1), '{"$toolspan":"bytes","v":"AQ=="}'],
    [
      "a Map",
      new Map<unknown, unknown>([
        ["b", 1],
        ["a", [2]],
      ]),
      '{"$toolspan":"map","v":[["a",[2]],["b",1]]}',
    ],
    [
      "a Map with any keys",
      new Map([[1n, new Map()]]),
      '{"$toolspan":"map","v":[[{"$toolspan":"bigint","v":"1"},{"$toolspan":"map","v":[]}]]}',
    ],
    ["a Set", new Set([2, 1, "x"]), '{"$toolspan":"set","v":["x",1,2]}'],
  ])("%s", (_, value, text) => {
    expect(canonicalJson(value)).toBe(text);
    expect(canonicalJson({ in: [value] })).toBe(`{"in":[${text}]}`);
  });

  test("a Map or Set has one text whatever the order of insertion", () => {
    const entries = Array.from({ length: 50 }, (_, i) => [`k${i}`, { z: i, a: new Set([i, "s"]) }] as const);
    expect(canonicalJson(new Map(entries.toReversed()))).toBe(canonicalJson(new Map(entries)));
    expect(canonicalJson(new Set(entries.toReversed()))).toBe(canonicalJson(new Set(entries)));
  });

  test("large bytes have the base64 that Buffer writes", () => {
    const bytes = Buffer.from(Array.from({ length: 100_001 }, (_, i) => (i * 31) % 256));
    expect(canonicalJson(bytes)).toBe(`{"$toolspan":"bytes","v":"${bytes.toString("base64")}"}`);
  });

  test("a key that imitates the mark is escaped by one more dollar sign, and sorted as it is written", () => {
    expect(canonicalJson({ $toolspan: "bigint", v: "1" })).toBe('{"$$toolspan":"bigint","v":"1"}');
    expect(canonicalJson({ $toolspan: 1, $$toolspan: 2, $a: 3, toolspan: 4, $toolspan_: 5 })).toBe(
      '{"$$$toolspan":2,"$$toolspan":1,"$a":3,"$toolspan_":5,"toolspan":4}',
    );
  });

  test("objects of another realm are what they are there", () => {
    const foreign: unknown = runInNewContext("({ b: [1, new Map([[1, 2]])], a: new Date(0), s: new Set() })");
    expect(canonicalJson(foreign)).toBe(
      '{"a":{"$toolspan":"date","v":"1970-01-01T00:00:00.000Z"},"b":[1,{"$toolspan":"map","v":[[1,2]]}],"s":{"$toolspan":"set","v":[]}}',
    );
  });

  test("own properties on a Date, Map or Set have no place in its form, so it is refused", () => {
    for (const value of [
      new Money(),
      Object.assign(new Date(0), { zone: "CET" }),
      Object.assign(new Set(), { a: 1 }),
    ]) {
      expect(() => canonicalJson(value)).toThrow(CanonicalRefusal);
    }
  });

  test("what holds the content decides, not methods that a value brings along", () => {
    class Liar extends Date {
      override getTime(): number {
        return 1;
      }
      override toISOString(): string {
        return "never";
      }
    }
    class Empty extends Map<number, number> {
      override forEach(): void {}
      override *[Symbol.iterator](): MapIterator<[number, number]> {}
    }
    expect(canonicalJson(new Liar(0))).toBe('{"$toolspan":"date","v":"1970-01-01T00:00:00.000Z"}');
    expect(canonicalJson(new Empty([[1, 2]]))).toBe('{"$toolspan":"map","v":[[1,2]]}');
  });
});
