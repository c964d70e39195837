// What holds for random values: agreement with a second implementation, round trips, one text per value, one read per property.
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { canonicalFromText, canonicalJson } from "@toolspan/canonical";
import { plainDigest } from "@toolspan/canonical/hash";
import fc from "fast-check";
import stableStringify from "fast-json-stable-stringify";
import { describe, expect, test } from "vitest";
import { iJson, readableJson, reordered, typedOrAlike } from "./arbitraries.ts";

describe("canonical JSON of random values", () => {
  test("equals what fast-json-stable-stringify writes for every I-JSON value", () => {
    fc.assert(
      fc.property(iJson, (value) => canonicalJson(value) === stableStringify(value)),
      { numRuns: 5000 },
    );
  });

  test("is the same for every order of keys", () => {
    fc.assert(fc.property(iJson, (value) => canonicalJson(reordered(value)) === canonicalJson(value)));
  });

  test("reads back as the value it was written from, and writes the same again", () => {
    fc.assert(
      fc.property(readableJson, (value) => {
        const text = canonicalJson(value);
        const back = canonicalFromText(text);
        expect(isDeepStrictEqual(back, value)).toBe(true);
        expect(isDeepStrictEqual(canonicalFromText(new TextEncoder().encode(text)), value)).toBe(true);
        expect(canonicalJson(back)).toBe(text);
      }),
      { numRuns: 2000 },
    );
  });

  test("of a text that JSON.stringify wrote equals that of the value", () => {
    fc.assert(
      fc.property(readableJson, fc.constantFrom(0, 2, "\t"), (value, space) => {
        expect(canonicalJson(canonicalFromText(JSON.stringify(value, null, space)))).toBe(canonicalJson(value));
      }),
    );
  });

  test("is equal for two values exactly when the values are equal, typed and imitating ones included", () => {
    let equal = 0;
    fc.assert(
      fc.property(typedOrAlike, typedOrAlike, (a, b) => {
        const same = isDeepStrictEqual(a, b);
        if (same) equal += 1;
        expect(canonicalJson(a) === canonicalJson(b)).toBe(same);
      }),
      { numRuns: 10_000 },
    );
    // Or the half of the law that speaks of equal values was never asked.
    expect(equal).toBeGreaterThan(50);
  });

  test("never lets the plain object that a typed form reads back as pass for the typed value", () => {
    fc.assert(
      fc.property(typedOrAlike, (value) => {
        const alike: unknown = JSON.parse(canonicalJson(value));
        expect(canonicalJson(alike) === canonicalJson(value)).toBe(isDeepStrictEqual(alike, value));
      }),
      { numRuns: 5000 },
    );
  });

  test("reads every property exactly once, through proxies and getters alike", () => {
    fc.assert(
      fc.property(iJson, (value) => {
        const reads = new Map<string, number>();
        const count = (where: string) => reads.set(where, (reads.get(where) ?? 0) + 1);
        expect(canonicalJson(watched(value, "", count))).toBe(canonicalJson(value));
        expect(Math.max(1, ...reads.values())).toBe(1);
        expect(reads.size).toBe(membersIn(value));
      }),
      { numRuns: 500 },
    );
  });

  test("hashes the same whether in one piece or in many", () => {
    const large = fc.array(iJson, { minLength: 200, maxLength: 400 });
    fc.assert(
      fc.property(large, (value) => {
        const repeated = Array.from({ length: 8 }, () => value);
        expect(plainDigest(repeated)).toBe(`sha256:${sha256(canonicalJson(repeated))}`);
      }),
      { numRuns: 6 },
    );
  });
});

function sha256(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}

/** `value` with every array a proxy and every object made of getters. */
function watched(value: unknown, where: string, count: (where: string) => void): unknown {
  if (typeof value !== "object" || value === null) return value;
  const inner = Object.entries(value).map(
    ([key, member]) => [key, watched(member, `${where}/${key.length}:${key}`, count)] as const,
  );
  if (Array.isArray(value)) {
    return new Proxy(
      inner.map(([, item]) => item),
      {
        get(target, key, receiver) {
          if (typeof key === "string" && key !== "length") count(`${where}/${key.length}:${key}`);
          return Reflect.get(target, key, receiver);
        },
      },
    );
  }
  const object = {};
  for (const [key, member] of inner) {
    Object.defineProperty(object, key, {
      get() {
        count(`${where}/${key.length}:${key}`);
        return member;
      },
      enumerable: true,
    });
  }
  return object;
}

function membersIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce<number>((sum, member) => sum + 1 + membersIn(member), 0);
}
