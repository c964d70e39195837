// Laws of what a model reads: always a text, whatever the result is made of.
import { jsonText, renderResult } from "@toolspan/agent";
import type { ToolResult } from "@toolspan/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

const ok = { ok: true, status: "ok", toolName: "work" } as const;
const denied = { ok: false, status: "consent_denied", toolName: "work" } as const;

describe("renderResult", () => {
  test.each<[string, ToolResult, string]>([
    ["the rendered text before all else", { ...ok, renderedResult: "short", result: { long: true } }, "short"],
    ["a string as it is", { ...ok, result: 'say "hi"' }, 'say "hi"'],
    ["anything else as JSON", { ...ok, result: { a: [1, null] } }, '{"a":[1,null]}'],
    ["no result as null", { ...ok, result: undefined }, "null"],
    [
      "the observation where there is no result",
      { ...denied, observation: "denied by the user" },
      "denied by the user",
    ],
    [
      "a failed tool's own words",
      { ...denied, status: "error", result: "Error: no seat", error: "x" },
      "Error: no seat",
    ],
    ["the error where there is nothing else", { ...denied, error: "no consent" }, "no consent"],
    ["the status where there is nothing at all", denied, "the tool call failed: consent_denied"],
  ])("gives %s", (_, result, text) => {
    expect(renderResult(result)).toBe(text);
  });
});

describe("jsonText", () => {
  const cycle: Record<string, unknown> = { name: "a" };
  cycle.self = cycle;
  const deep = Array.from({ length: 100_000 }).reduce<unknown>((inner) => [inner], 1);
  const withGetter = {
    good: 1,
    get bad(): never {
      throw new Error("no");
    },
  };

  test.each<[string, unknown, string]>([
    ["big integers as digits", { n: 2n ** 64n }, '{"n":"18446744073709551616"}'],
    ["bytes as base64", { b: new Uint8Array([1, 2, 3]), c: Buffer.from("hi") }, '{"b":"AQID","c":"aGk="}'],
    ["maps and sets as arrays", [new Map([["a", 1]]), new Set([2])], '[[["a",1]],[2]]'],
    ["dates as text", new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ["functions, symbols and undefined as null", () => {}, "null"],
    ["a cycle as a word", cycle, '{"name":"a","self":"[circular]"}'],
    ["a getter that throws as a word, beside what is readable", withGetter, '{"good":1,"bad":"[unreadable]"}'],
    ["a null prototype like any object", Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
  ])("writes %s", (_, value, text) => {
    expect(jsonText(value)).toBe(text);
  });

  test("survives depth beyond the stack, toJSON that throws and proxies that refuse", () => {
    expect(jsonText(deep)).toContain("[too deep]");
    const throwing = {
      toJSON() {
        throw new Error("no");
      },
    };
    expect(() => JSON.parse(jsonText({ throwing }))).not.toThrow();
    const refusing = new Proxy(
      {},
      {
        ownKeys() {
          throw new Error("no");
        },
      },
    );
    expect(jsonText({ refusing })).toBe('{"refusing":"[unreadable]"}');
  });

  test("equals JSON.stringify wherever that is lossless", () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => jsonText(value) === JSON.stringify(value)));
  });

  test("is JSON for every value", () => {
    const anything = fc.anything({
      withBigInt: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withDate: true,
    });
    fc.assert(fc.property(anything, (value) => typeof JSON.parse(jsonText(value)) !== "undefined"));
  });
});
