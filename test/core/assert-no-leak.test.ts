// Laws of the leak kit: it finds what was planted wherever it hides, and never says it.
import { Buffer } from "node:buffer";
import { assertNoLeak, LeakError } from "@toolspan/core/testing";
import { expect, it } from "vitest";

const secret = "tok-4f9aQ81zLm0Xw7Bn2Kc5";
const canaries = [{ kind: "token", secret }];
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const percent = (text: string): string => [...Buffer.from(text)].map((byte) => `%${byte.toString(16)}`).join("");
const escaped = (text: string): string => [...Buffer.from(text)].map((byte) => `\\u00${byte.toString(16)}`).join("");

function leaksOf(content: unknown): LeakError["leaks"] {
  try {
    assertNoLeak(canaries, { sink: content });
  } catch (thrown) {
    if (thrown instanceof LeakError) return thrown.leaks;
    throw thrown;
  }
  return [];
}

const cyclic: Record<string, unknown> = { note: secret };
cyclic.self = cyclic;

it.each<[string, unknown, string, string]>([
  ["a text", `see ${secret}.`, "", "plain"],
  ["a member", { a: [{ b: secret }] }, "a.0.b", "plain"],
  ["a key", { a: { [secret]: 1 } }, "a.(key)", "plain"],
  ["a map's key", new Map([[secret, 1]]), "key", "plain"],
  ["a set", new Set([secret]), "0", "plain"],
  ["bytes", { body: Buffer.from(secret) }, "body.bytes", "plain"],
  ["an error's message", new Error(secret), "message", "plain"],
  ["an error's cause", new Error("x", { cause: { note: secret } }), "cause.note", "plain"],
  ["a symbol property", { [Symbol("cause")]: secret }, "Symbol(cause)", "plain"],
  ["a hidden property", Object.defineProperty({}, "hidden", { value: secret }), "hidden", "plain"],
  ["what toJSON gives", { toJSON: () => secret }, "toJSON()", "plain"],
  ["what a getter throws", Object.defineProperty({ a: 1 }, "b", { get() { throw new Error(secret); } }), "b.message", "plain"], // biome-ignore format: one line
  ["a cycle", cyclic, "note", "plain"],
  ["base64", base64(`user:${secret}`), "", "base64"],
  ["base64 behind a path", `/files/x/${base64(secret)}`, "", "base64"],
  ["base64url", Buffer.from(`>>>?${secret}`).toString("base64url"), "", "base64"],
  ["percent-encoding", `https://a/?q=${percent(secret)}`, "", "percent-encoding"],
  ["JSON escapes", `{"a":"${escaped(secret)}"}`, "", "escapes"],
  ["base64 in JSON in base64", base64(JSON.stringify({ a: base64(secret) })), "", "base64 > base64"],
])("finds a secret in %s", (_, content, path, form) => {
  expect(leaksOf(content)).toContainEqual(
    expect.objectContaining({ kind: "token", place: "sink", path, form, isWhole: true }),
  );
});

it("finds 16 characters in a row of a longer secret, and says that it is a part", () => {
  expect(leaksOf(`cut: ${secret.slice(3, 19)}…`)).toMatchObject([{ isWhole: false, length: secret.length }]);
  expect(leaksOf(`cut: ${secret.slice(3, 18)}…`)).toEqual([]);
});

it("finds a number that is the secret", () => {
  expect(() => assertNoLeak(["4111111111111111"], { sink: { card: 4111111111111111 } })).toThrow(LeakError);
});

it("names place, path, form and kind, and never the secret", () => {
  const leak = (): void => assertNoLeak(canaries, { spans: [{ clean: true }], receipts: { [secret]: base64(secret) } });
  expect(leak).toThrow("2 leaks of planted secrets:");
  expect(leak).toThrow("receipts at [a planted secret]: token (24 characters), as base64");
  try {
    leak();
  } catch (thrown) {
    expect(() => assertNoLeak(canaries, { error: thrown })).not.toThrow();
  }
});

it("passes what is clean, however much it is", () => {
  const clean = Array.from({ length: 2000 }, (_, i) => ({ id: `span-${i}`, hash: base64(`${i}`.repeat(40)) }));
  expect(() => assertNoLeak(canaries, { clean, words: "token tok-4f9a", none: [0] })).not.toThrow();
});

it("refuses to call clean what nobody looked at, and canaries that other text may hold by chance", () => {
  expect(() => assertNoLeak(canaries, { spans: [] })).toThrow("spans holds no text");
  expect(() => assertNoLeak(["short"], { spans: "x" })).toThrow("at least 8 characters");
  expect(() => assertNoLeak([], { spans: "x" })).toThrow("received none");
});
