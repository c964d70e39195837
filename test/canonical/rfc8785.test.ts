// The writer against what others published about RFC 8785, and the check itself against encoders that are wrong.
import { createHash } from "node:crypto";
import { canonicalJson } from "@toolspan/canonical";
import { describe, expect, test } from "vitest";
import { hexOf, numberSequence, PUBLISHED_CHECKSUMS } from "./number-sequence.ts";
import { FILE_VECTORS, failedVectors, NUMBER_EDGES } from "./vectors.ts";

describe("RFC 8785", () => {
  test("the writer reproduces every published vector", () => {
    expect(Object.keys(FILE_VECTORS)).toHaveLength(6);
    expect(failedVectors((value) => canonicalJson(value))).toEqual([]);
  });

  test("the texts of the first million numbers of the published sequence have the published checksums", {
    timeout: 240_000,
  }, () => {
    const hash = createHash("sha256");
    const found = new Map<number, string>();
    let lines = 0;
    let block = "";
    for (const double of numberSequence(NUMBER_EDGES)) {
      block += `${hexOf(double)},${canonicalJson(double)}\n`;
      lines += 1;
      if (lines % 1000 > 0) continue;
      hash.update(block);
      block = "";
      if (PUBLISHED_CHECKSUMS.has(lines)) found.set(lines, hash.copy().digest("hex"));
      if (lines === 1_000_000) break;
    }
    expect(found).toEqual(PUBLISHED_CHECKSUMS);
  });

  test("numbers that other languages print otherwise have ECMAScript's text", () => {
    expect(canonicalJson([1e-7, 1e21, -0, 5e-324, 0.1 + 0.2, 1.0, 0.000001])).toBe(
      "[1e-7,1e+21,0,5e-324,0.30000000000000004,1,0.000001]",
    );
  });
});

test("keys beyond the basic plane come before those at its end, as UTF-16 units do and code points do not", () => {
  expect(canonicalJson({ "\uffff": 2, "\u{1f600}": 1, "\ufb33": 3, "\ue000": 4 })).toBe(
    '{"\u{1f600}":1,"\ue000":4,"\ufb33":3,"\uffff":2}',
  );
});

interface Choices {
  readonly compare?: (a: string, b: string) => number;
  readonly number?: (value: number) => string;
  readonly nonFinite?: () => string;
}

/** A plain second encoder, right as long as no choice is replaced. */
function encoderWith({ compare, number = String, nonFinite }: Choices): (value: unknown) => string {
  const text = (value: string) => {
    if (/[\ud800-\udfff]/u.test(value)) throw new Error("lone surrogate");
    return JSON.stringify(value);
  };
  return function encode(value: unknown): string {
    if (typeof value === "string") return text(value);
    if (typeof value === "number") {
      if (Number.isFinite(value)) return value === 0 ? "0" : number(value);
      if (nonFinite === undefined) throw new Error("not finite");
      return nonFinite();
    }
    if (Array.isArray(value)) return `[${value.map(encode).join(",")}]`;
    if (typeof value !== "object" || value === null) return JSON.stringify(value);
    const keys = Object.keys(value).sort(compare);
    return `{${keys.map((key) => `${text(key)}:${encode((value as Record<string, unknown>)[key])}`).join(",")}}`;
  };
}

describe("the vector check", () => {
  test("passes a second encoder that is right", () => {
    expect(failedVectors(encoderWith({}))).toEqual([]);
  });

  test("fails an encoder that sorts keys by code points", () => {
    const compare = (a: string, b: string) => {
      const [x, y] = [Array.from(a), Array.from(b)];
      const at = x.findIndex((character, i) => character !== y[i]);
      return at < 0 ? x.length - y.length : (x[at]?.codePointAt(0) ?? 0) - (y[at]?.codePointAt(0) ?? -1);
    };
    expect(failedVectors(encoderWith({ compare }))).toEqual(["file weird"]);
  });

  test("fails an encoder that prints numbers as %.17g does", () => {
    const number = (value: number) =>
      value
        .toPrecision(17)
        .replace(/(\.\d*?)0+(e|$)/, "$1$2")
        .replace(/\.(e|$)/, "$1");
    const failed = failedVectors(encoderWith({ number }));
    expect(failed).toContain("file values");
    expect(failed).toContain("number 44b52d02c7e14af6");
  });

  test("fails an encoder that prints NaN and infinity as null", () => {
    expect(failedVectors(encoderWith({ nonFinite: () => "null" }))).toEqual([
      "number 7fffffffffffffff",
      "number 7ff0000000000000",
    ]);
  });
});
