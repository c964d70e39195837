// Laws of the redactor that goes by names, and of redactors put together.
import { composeRedactors, type RedactionOutput, redactKeys } from "@toolspan/middleware";
import { redactSecrets } from "@toolspan/middleware/redact-secrets";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deepFreeze, optionContract } from "../support/layer-contract.ts";

const MASK = "[redacted:key]";
const ask = (keys: readonly string[], result: unknown): RedactionOutput =>
  redactKeys(keys)({ phase: "out", part: "result", toolName: "t", args: undefined, result });

describe("redactKeys", () => {
  it.each(["apiKey", "api_key", "API-KEY", "Api.Key", "api key", "APIKEY"])(
    "knows %s by any of its spellings",
    (name) => {
      expect(ask(["api-key"], { deep: [{ [name]: 1 }] })).toEqual({
        result: { deep: [{ [name]: MASK }] },
        redactedFields: [`/deep/0/${name}`],
        redactionRules: { key: 1 },
      });
    },
  );

  it.each<[string, unknown, unknown]>([
    ["an object under the name", { card: { number: 1 } }, { card: MASK }],
    ["a map", new Map([["card", 1]]), new Map([["card", MASK]])],
    ["a pair", [["card", 1]], [["card", MASK]]],
    ["a name and a value", { name: "card", value: 1 }, { name: "card", value: MASK }],
    ["JSON in a string", { body: '{"a":{"card":1}}' }, { body: `{"a":{"card":"${MASK}"}}` }],
    ["JSON in JSON in a string", JSON.stringify('{"card":1}'), JSON.stringify(`{"card":"${MASK}"}`)],
    ["false, zero and an empty text", { card: false, a: { card: 0 }, b: { card: "" } }, { card: MASK, a: { card: MASK }, b: { card: MASK } }],
  ])("masks %s", (_, value, expected) => {
    expect(ask(["card"], value).result).toEqual(expected);
  }); // biome-ignore format: a table

  it("leaves longer names, null and undefined, texts that are no JSON, and lists of names", () => {
    const value = deepFreeze({ card_id: 1, card: null, a: { card: undefined }, text: "card: 1 {", names: ["a", "card", "b"] }); // biome-ignore format: one line
    expect(ask(["card"], value)).toEqual({ result: value });
    expect(ask(["card"], value).result).toBe(value);
  });

  it("masks the arguments on their way in, and writes to nothing", () => {
    const args = deepFreeze({ card: "1" });
    const answer = redactKeys(["card"])({ phase: "in", part: "args", toolName: "t", args, result: undefined });
    expect(answer).toEqual({ args: { card: MASK }, redactedFields: ["/card"], redactionRules: { key: 1 } });
    expect(args).toEqual({ card: "1" });
  });

  it("masks every value under a name, whatever the value around it", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string({ minLength: 30, maxLength: 40 }), (value, secret) => {
        const hidden = { a: [value, { card: { inner: secret } }], card: secret };
        expect(JSON.stringify(ask(["card"], hidden).result)).not.toContain(JSON.stringify(secret).slice(1, -1));
      }),
    );
  });

  it("throws for what cannot be read, so that nothing leaves", () => {
    const hostile = Object.defineProperty({}, "a", { enumerable: true, get: () => fail() });
    expect(() => ask(["card"], hostile)).toThrow("hostile");
  });
});

describe("composeRedactors", () => {
  it("applies all, and adds up what they say", () => {
    const redactor = composeRedactors(redactKeys(["note"]), redactSecrets());
    const result = { note: "ghp_", a: "4111 1111 1111 1111" };
    expect(redactor({ phase: "out", part: "result", toolName: "t", args: undefined, result })).toEqual({
      result: { note: MASK, a: "[redacted:card_number]" },
      redactedFields: ["/note", "/a"],
      redactionRules: { key: 1, card_number: 1 },
    });
  });

  it("gives the same object where none finds anything", () => {
    const result = { a: [1] };
    const redactor = composeRedactors(redactKeys(["note"]), redactSecrets());
    expect(redactor({ phase: "out", part: "result", toolName: "t", args: undefined, result })).toEqual({ result });
    expect(redactor({ phase: "out", part: "result", toolName: "t", args: undefined, result }).result).toBe(result);
  });
});

optionContract("redactKeys", [
  ["keys", () => redactKeys([])],
  ["keys", () => redactKeys("card" as never)],
  ["keys", () => redactKeys([" - "])],
  ["keys", () => redactKeys([1] as never)],
]);

function fail(): never {
  throw new Error("hostile");
}
