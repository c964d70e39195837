// Laws of the default hasher.
import { createHash } from "node:crypto";
import { canonicalJson } from "@toolspan/canonical";
import { type Hasher, plainDigest, plainHasher, sha256Text } from "@toolspan/canonical/hash";
import type { Hasher as HasherPort } from "@toolspan/core";
import fc from "fast-check";
import { describe, expect, expectTypeOf, test } from "vitest";
import { iJson } from "./arbitraries.ts";

const hashOf = (text: string) => `sha256:${createHash("sha256").update(text, "utf8").digest("hex")}`;

describe("plainHasher", () => {
  test("is the hasher that core asks for", () => {
    expectTypeOf<Hasher>().toEqualTypeOf<HasherPort>();
    expect(plainHasher()).toMatchObject({ mode: "sha256", redact: [] });
  });

  test("hashes the canonical text, a string as a JSON string", () => {
    const hasher = plainHasher();
    expect(hasher.value({ b: 1, a: [] })).toEqual({ hash: hashOf('{"a":[],"b":1}'), redacted: [] });
    expect(hasher.value("é")).toEqual({ hash: hashOf('"é"'), redacted: [] });
    expect(hasher.value(undefined).hash).toBe(hashOf('{"$toolspan":"undefined"}'));
  });

  test("hashes raw text as its bytes stand", () => {
    expect(plainHasher().text('{"a": 1')).toEqual({ hash: hashOf('{"a": 1'), redacted: [] });
    expect(plainHasher().text("\ud800")).toEqual({ hash: "refused:lone_surrogate", redacted: [] });
  });

  test("agrees with SHA-256 of the text for values of any size", () => {
    fc.assert(fc.property(iJson, (value) => plainHasher().value(value).hash === hashOf(canonicalJson(value))));
    for (const length of [16_381, 16_382, 16_383, 16_384, 16_385, 100_000]) {
      const text = "é".repeat(length % 3) + "\u{1f600}".repeat(length / 2);
      expect(plainDigest(text)).toBe(hashOf(canonicalJson(text)));
      expect(plainDigest([text, { text }])).toBe(hashOf(canonicalJson([text, { text }])));
    }
    const mixed = {
      m: new Map([["k", "x".repeat(50_000)]]),
      s: new Set(["y".repeat(50_000)]),
      a: ["z".repeat(50_000)],
    };
    expect(plainDigest(mixed)).toBe(hashOf(canonicalJson(mixed)));
  });

  test("never throws: what cannot be hashed is refused by reason", () => {
    const hasher = plainHasher();
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    expect(hasher.value(cyclic)).toEqual({ hash: "refused:cycle", redacted: [] });
    expect(hasher.value({ f() {} })).toEqual({ hash: "refused:function", redacted: [] });
    expect(hasher.value(Number.NaN).hash).toBe("refused:non_finite");
    expect(hasher.value(["x".repeat(40_000), Symbol("s")]).hash).toBe("refused:symbol");
    expect(hasher.plain(cyclic)).toBeNull();
    expect(plainDigest(() => 1)).toBeNull();
  });

  test("removes the redact keys at any depth, lists those that were there, and does not read them", () => {
    const hasher = plainHasher({ redact: ["token", "password", "absent", "token"] });
    expect(hasher.redact).toEqual(["token", "password", "absent"]);
    const value = {
      user: "u",
      get password(): never {
        throw new Error("read");
      },
      list: [{ token: () => 1, Token: "kept" }],
      map: new Map([
        ["token", 1],
        ["kept", 2],
      ]),
    };
    const rest = { user: "u", list: [{ Token: "kept" }], map: new Map([["kept", 2]]) };
    expect(hasher.value(value)).toEqual({ hash: hashOf(canonicalJson(rest)), redacted: ["token", "password"] });
  });

  test("redacts the first key, every key, and a key that is escaped", () => {
    const hasher = plainHasher({ redact: ["a", "$toolspan"] });
    expect(hasher.value({ a: 1, b: 2 })).toEqual({ hash: hashOf('{"b":2}'), redacted: ["a"] });
    expect(hasher.value({ a: 1 })).toEqual({ hash: hashOf("{}"), redacted: ["a"] });
    expect(hasher.value([{ $toolspan: 1, z: 2 }])).toEqual({ hash: hashOf('[{"z":2}]'), redacted: ["$toolspan"] });
    expect(hasher.value(1n).hash).toBe(hashOf(canonicalJson(1n)));
  });

  test("keeps what one hasher redacts out of the memory of another", () => {
    const value = { secret: 1, open: 2 };
    expect(plainHasher({ redact: ["secret"] }).value(value).hash).toBe(hashOf('{"open":2}'));
    expect(plainHasher({ redact: ["open"] }).value(value).hash).toBe(hashOf('{"secret":1}'));
    expect(plainHasher().value(value).hash).toBe(hashOf('{"open":2,"secret":1}'));
    expect(canonicalJson(value)).toBe('{"open":2,"secret":1}');
  });

  test("compares the whole value, redacted or not, by plain digests", () => {
    const hasher = plainHasher({ redact: ["a"] });
    expect(hasher.plain({ a: 1 })).toBe(hashOf('{"a":1}'));
    expect(hasher.plain({ a: 1 })).toBe(plainDigest({ a: 1 }));
    expect(hasher.plain({ a: 1 })).not.toBe(hasher.plain({ a: 2 }));
  });

  test("tells who makes it with something else than a list of strings", () => {
    expect(() => plainHasher({ redact: [1] as unknown as string[] })).toThrow(TypeError);
    expect(() => plainHasher({ redact: "token" as unknown as string[] })).toThrow(TypeError);
  });
});

describe("a sequence", () => {
  test("hashes as the array of what was pushed", () => {
    fc.assert(
      fc.property(fc.array(iJson, { maxLength: 8 }), (items) => {
        const sequence = plainHasher().sequence();
        for (const item of items) sequence.push(item);
        return sequence.end().hash === plainHasher().value(items).hash;
      }),
    );
  });

  test("reads each item when it is pushed", () => {
    const sequence = plainHasher({ redact: ["k"] }).sequence();
    const item = { a: 1, k: 2 };
    sequence.push(item);
    item.a = 9;
    sequence.push("x".repeat(40_000));
    expect(sequence.end()).toEqual({ hash: hashOf(`[{"a":1},"${"x".repeat(40_000)}"]`), redacted: ["k"] });
  });

  test("ends once: the same digest again, and what comes later is not heard", () => {
    const sequence = plainHasher().sequence();
    const ended = sequence.end();
    sequence.push(1);
    expect(sequence.end()).toBe(ended);
    expect(ended).toEqual({ hash: hashOf("[]"), redacted: [] });
  });

  test("is refused by its first refused item", () => {
    const sequence = plainHasher().sequence();
    for (const item of [1, () => 1, Number.NaN, 2]) sequence.push(item);
    expect(sequence.end()).toEqual({ hash: "refused:function", redacted: [] });
  });

  test("allows its items one level less than a value, as in the array", () => {
    let deep: unknown = 0;
    for (let i = 0; i < 1000; i++) deep = [deep];
    const sequence = plainHasher().sequence();
    sequence.push(deep);
    expect(sequence.end().hash).toBe("refused:depth");
    expect(plainHasher().value([deep]).hash).toBe("refused:depth");
    expect(plainHasher().value(deep).hash).toMatch(/^sha256:/);
  });
});

test("sha256Text is lower-case hex over the UTF-8 bytes", () => {
  expect(sha256Text("")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  expect(sha256Text("é\u{1f600}")).toBe(createHash("sha256").update("é\u{1f600}", "utf8").digest("hex"));
});
