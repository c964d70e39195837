// Laws of keyed and committed hashes: what they hide, from whom, and what opens them.
import { createHash, createHmac, hash as oneShot, randomBytes } from "node:crypto";
import { canonicalJson } from "@toolspan/canonical";
import {
  committedHasher,
  type Hasher,
  keyedHasher,
  opensCommitment,
  plainDigest,
  plainHasher,
} from "@toolspan/canonical/hash";
import type { HashDomain as HashDomainPort, Hasher as HasherPort } from "@toolspan/core";
import fc from "fast-check";
import { describe, expect, expectTypeOf, test } from "vitest";
import { iJson } from "./arbitraries.ts";

const key = randomBytes(32);
const keyed = (redact: readonly string[] = []): Hasher => keyedHasher({ key, keyId: "k1", redact });
/** Every four-digit PIN as its arguments. */
const pins = Array.from({ length: 10_000 }, (_, pin) => ({ pin: String(pin).padStart(4, "0") }));

test("all hashers are the one that core asks for", () => {
  expectTypeOf<Hasher>().toEqualTypeOf<HasherPort>();
  expectTypeOf<"args" | "result" | "key">().toEqualTypeOf<HashDomainPort>();
});

describe("a dictionary of all PINs", () => {
  const secret = pins[1234];

  test("finds the arguments behind a plain hash", () => {
    const { hash } = plainHasher().value(secret);
    expect(pins.filter((pin) => plainHasher().value(pin).hash === hash)).toEqual([{ pin: "1234" }]);
  });

  test("finds nothing behind a keyed hash without its key, whatever key is tried instead", () => {
    const { hash } = keyed().value(secret);
    const guesser = keyedHasher({ key: Buffer.alloc(32), keyId: "k1" });
    expect(pins.filter((pin) => guesser.value(pin).hash === hash || hash.endsWith(digits(plainDigest(pin))))).toEqual(
      [],
    );
    expect(pins.filter((pin) => keyed().value(pin).hash === hash)).toEqual([{ pin: "1234" }]);
  });

  test("finds nothing behind a commitment without its opening, and one thing with it", () => {
    const { hash, opening } = committedHasher().value(secret);
    const salt = opening?.salt ?? "";
    const opens = (other: string) =>
      pins.filter((pin) => opensCommitment(hash, { salt: other, text: canonicalJson(pin) }, "args"));
    expect(opens("00".repeat(32))).toEqual([]);
    expect(pins.filter((pin) => committedHasher().value(pin).hash === hash)).toEqual([]);
    expect(opens(salt)).toEqual([{ pin: "1234" }]);
  });
});

test("a million guesses find the arguments behind a plain hash, and nothing behind the others", {
  timeout: 240_000,
}, () => {
  const account = (number: number) => ({ account: String(number).padStart(6, "0") });
  const secret = account(918_273);
  const [plain, mine, committed] = [plainHasher(), keyed(), committedHasher()].map(
    (hasher) => hasher.value(secret).hash,
  );
  const stranger = randomBytes(32);
  const found = { plain: [] as number[], keyed: 0, committed: 0 };
  for (let guess = 0; guess < 1_000_000; guess++) {
    // One hash each, as whoever guesses would: canonical text made by hand, and what he knows of the form.
    const text = `{"account":"${String(guess).padStart(6, "0")}"}`;
    const sha = oneShot("sha256", text);
    if (plain === `sha256:${sha}`) found.plain.push(guess);
    if (digits(mine ?? "") === createHmac("sha256", stranger).update(`toolspan.args/v1\0${text}`).digest("hex"))
      found.keyed++;
    if (digits(mine ?? "") === sha || digits(committed ?? "") === sha) found.committed++;
  }
  expect(found).toEqual({ plain: [918_273], keyed: 0, committed: 0 });
});

describe("keyedHasher", () => {
  test("is HMAC-SHA-256 over label, zero byte and canonical text, and names its key", () => {
    const text = '{"a":[1,"é"]}';
    const expected = createHmac("sha256", key).update(`toolspan.args/v1\0${text}`).digest("hex");
    expect(keyed().value({ a: [1, "é"] })).toEqual({ hash: `hmac-sha256:k1:${expected}`, redacted: [] });
    expect(keyed().text(text).hash).toBe(`hmac-sha256:k1:${expected}`);
    expect(keyed()).toMatchObject({ mode: "hmac-sha256", keyId: "k1" });
  });

  test("gives equal values equal hashes within a domain, and different ones across domains", () => {
    fc.assert(
      fc.property(iJson, (value) => {
        const [args, again, result] = [
          keyed().value(value),
          keyed().value(value, "args"),
          keyed().value(value, "result"),
        ];
        return args.hash === again.hash && args.hash !== result.hash;
      }),
    );
  });

  test("redacts, refuses and compares as the plain hasher does", () => {
    expect(keyed(["token"]).value({ token: 1, a: 2 })).toEqual({ ...keyed().value({ a: 2 }), redacted: ["token"] });
    expect(keyed().value(Number.NaN).hash).toBe("refused:non_finite");
    expect(keyed().text("\ud800").hash).toBe("refused:lone_surrogate");
    expect(keyed().plain({ a: 1 })).toBe(plainDigest({ a: 1 }));
  });

  test("hashes a sequence as its array, small and large", () => {
    const items = [{ a: 1 }, "x".repeat(50_000), []];
    const sequence = keyed().sequence("result");
    for (const item of items) sequence.push(item);
    expect(sequence.end().hash).toBe(keyed().value(items, "result").hash);
  });

  test("refuses a short key and a key id that would break the hash, without telling the key", () => {
    const short = Buffer.from("do not print me");
    expect(() => keyedHasher({ key: short, keyId: "k" })).toThrow(
      /options\.key: expected at least 32 bytes, received 15/,
    );
    expect(() => keyedHasher({ key: short, keyId: "k" })).not.toThrow(/print/);
    for (const keyId of ["", "a:b", "a b", "x".repeat(65)])
      expect(() => keyedHasher({ key, keyId })).toThrow(TypeError);
    expect(() => keyedHasher({ key: "x".repeat(32) as unknown as Uint8Array, keyId: "k" })).toThrow(TypeError);
  });

  test("keeps its own copy of the key, and shows it to nobody", () => {
    const mine = Buffer.from(key);
    const hasher = keyedHasher({ key: mine, keyId: "k1" });
    mine.fill(0);
    expect(hasher.value(1).hash).toBe(keyed().value(1).hash);
    expect(JSON.stringify(hasher)).not.toContain(key.toString("hex"));
  });
});

describe("committedHasher", () => {
  test("is SHA-256 over label, zero byte, salt and canonical text", () => {
    const { hash, opening, redacted } = committedHasher({ redact: ["k"] }).value({ b: 1, k: 2 }, "result");
    expect(opening).toEqual({ salt: expect.stringMatching(/^[0-9a-f]{64}$/), text: '{"b":1}' });
    const bytes = createHash("sha256")
      .update("toolspan.result/v1\0")
      .update(Buffer.from(opening?.salt ?? "", "hex"))
      .update('{"b":1}');
    expect({ hash, redacted }).toEqual({ hash: `commit-sha256:${bytes.digest("hex")}`, redacted: ["k"] });
  });

  test("never gives one value the same hash twice", () => {
    const hashes = Array.from({ length: 1000 }, () => committedHasher().value(1).hash);
    expect(new Set(hashes).size).toBe(1000);
  });

  test("every opening opens its own hash, in its own domain, and nothing else", () => {
    fc.assert(
      fc.property(iJson, iJson, (value, other) => {
        const { hash, opening } = committedHasher().value(value, "args");
        if (opening === undefined) return false;
        const text = canonicalJson(other);
        const opensOther = opensCommitment(hash, { salt: opening.salt, text }, "args");
        return (
          opening.text === canonicalJson(value) &&
          opensCommitment(hash, opening, "args") &&
          !opensCommitment(hash, opening, "result") &&
          opensOther === (text === opening.text)
        );
      }),
    );
  });

  test("what is no commitment or no salt opens nothing", () => {
    const { hash, opening } = committedHasher().value(1);
    const { salt = "", text = "" } = opening ?? {};
    expect(opensCommitment(`sha256:${digits(hash)}`, { salt, text }, "args")).toBe(false);
    expect(opensCommitment(hash, { salt: salt.toUpperCase().slice(1), text }, "args")).toBe(false);
    expect(opensCommitment(hash, { salt: `${salt}00`, text }, "args")).toBe(false);
  });

  test("commits to a sequence as to its array; a refusal has nothing to open", () => {
    const items = [1, "x".repeat(40_000)];
    const sequence = committedHasher().sequence("result");
    for (const item of items) sequence.push(item);
    const { hash, opening } = sequence.end();
    expect(opening?.text).toBe(canonicalJson(items));
    expect(opensCommitment(hash, { salt: opening?.salt ?? "", text: canonicalJson(items) }, "result")).toBe(true);
    expect(committedHasher().value(() => 1)).toEqual({ hash: "refused:function", redacted: [] });
  });
});

describe("a plain hasher that is asked to", () => {
  const told = (values: readonly unknown[], redact: readonly string[] = []): number => {
    let times = 0;
    const hasher = plainHasher({ redact, onGuessable: () => times++ });
    for (const value of values) hasher.value(value);
    return times;
  };

  test("tells once of arguments that can be guessed", () => {
    expect(told([{ pin: "1234" }, { pin: "4321" }, { paid: true }])).toBe(1);
    expect(told([{ code: "EHGLP3" }])).toBe(1);
    expect(told([{ a_very_long_name_of_a_field_that_everybody_knows: false }])).toBe(1);
  });

  test("says nothing of what holds no value, more than can be tried, or what was redacted", () => {
    expect(told([{}, [], null, { a: null, b: {} }])).toBe(0);
    expect(told([{ id: "01900000-0000-7000-8000-00000000000f" }, { note: "x".repeat(40) }, ["y".repeat(2000)]])).toBe(
      0,
    );
    expect(told([{ pin: "1234" }], ["pin"])).toBe(0);
  });

  test("is not disturbed by a listener that throws", () => {
    const hasher = plainHasher({
      onGuessable: () => {
        throw new Error("listener");
      },
    });
    expect(hasher.value({ pin: "1234" })).toEqual(plainHasher().value({ pin: "1234" }));
    expect(hasher.text("1")).toEqual(plainHasher().text("1"));
  });

  test("looks at arguments only, and changes no hash", () => {
    let times = 0;
    const hasher = plainHasher({ onGuessable: () => times++ });
    expect(hasher.value(1, "result")).toEqual(plainHasher().value(1));
    expect(hasher.text("1", "key")).toEqual(plainHasher().text("1"));
    expect(times).toBe(0);
    expect(hasher.value({ a: "x".repeat(40_000), b: 1 })).toEqual(plainHasher().value({ a: "x".repeat(40_000), b: 1 }));
    expect(hasher.text("{1")).toEqual(plainHasher().text("{1"));
    expect(times).toBe(1);
  });
});

function digits(hash: string | null): string {
  return (hash ?? "").slice(-64);
}
