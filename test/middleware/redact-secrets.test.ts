// Laws of the secret redactor: what it sees, what it says of it, what it leaves alone, and that it ends.
import { Buffer } from "node:buffer";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { RedactionOutput } from "@toolspan/middleware";
import { type RedactSecretsOptions, redactSecrets, SECRET_RULE_IDS } from "@toolspan/middleware/redact-secrets";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deepFreeze, optionContract } from "../support/layer-contract.ts";
import { plantedSecrets, secretKinds } from "../support/planted-secrets.ts";
import { root } from "../support/workspace.ts";

const token = plantedSecrets(1).find(({ rule }) => rule === "github_token")?.text ?? "";
const MASK = "[redacted:github_token]";
const base64 = (text: string): string => Buffer.from(text).toString("base64");

function ask(result: unknown, options: RedactSecretsOptions = {}): RedactionOutput {
  return redactSecrets(options)({ phase: "out", part: "result", toolName: "t", args: undefined, result });
}

function nested(depth: number, inmost: unknown): unknown {
  let value = inmost;
  for (let i = 0; i < depth; i += 1) value = i % 2 === 0 ? { a: value } : [value];
  return value;
}

describe("what it sees", () => {
  it.each(plantedSecrets(1).map((planted) => [planted.kind, planted] as const))("a %s in a sentence", (_, planted) => {
    const { result, redactionRules } = ask(`see ${planted.text} for it`);
    expect(result).toContain(`[redacted:${planted.rule}]`);
    expect(result).not.toContain(planted.secret);
    expect(redactionRules).toEqual({ [planted.rule]: 1 });
  });

  it.each<[string, unknown, unknown]>([
    ["a value", { note: token }, { note: MASK }],
    ["a key", { [token]: 1 }, { [MASK]: 1 }],
    ["two keys", { [token]: 1, [`x ${token}`]: 2 }, { [MASK]: 1, [`x ${MASK}`]: 2 }],
    ["a map, key and value", new Map([[token, token]]), new Map([[MASK, MASK]])],
    ["a set", new Set([token, "b"]), new Set([MASK, "b"])],
    ["JSON in a string", { body: JSON.stringify({ a: [token] }) }, { body: `{"a":["${MASK}"]}` }],
    ["JSON in JSON in a string", JSON.stringify(JSON.stringify([token])), JSON.stringify(JSON.stringify([MASK]))],
    ["JSON with escapes", `{"a":"\\u0067${token.slice(1)}"}`, `{"a":"${MASK}"}`],
    ["escapes outside of JSON", `got \\u0067${token.slice(1)} there`, `got ${MASK} there`],
    ["a doubled key of JSON", `{"a":"${token}","a":"b"}`, `{"a":"${MASK}","a":"b"}`],
    ["base64", base64(`user ${token}`), MASK],
    ["base64 behind a path", `/files/${base64(token)}`, MASK],
    ["base64url without padding", Buffer.from(`>>>?${token}`).toString("base64url"), MASK],
    ["base64 in lines of 76", (base64("x".repeat(40) + token + "y".repeat(30)).match(/.{1,76}/g) ?? []).join("\r\n"), MASK],
    ["JSON in the middle of a text", 'failed: {"password": "letmein"} again', 'failed: {"password": "[redacted:secret_by_name]"} again'],
    ["base64 in base64", base64(base64(token)), MASK],
    ["percent-encoding", `a=${[...token].map((c) => `%${c.charCodeAt(0).toString(16)}`).join("")} b`, `${MASK} b`],
    ["bytes", Buffer.from(`x ${token}`), MASK],
    ["an array buffer", new TextEncoder().encode(token).buffer, MASK],
    ["a string object", new String(token), MASK],
    ["a URL", { url: new URL("https://user:secret9@example.net/x") }, { url: "https://[redacted:url_user_info]@example.net/x" }],
    ["a number that is a card's", { card: 4111111111111111 }, { card: "[redacted:card_number]" }],
    ["a card in groups", "4111 1111-1111 1111", "[redacted:card_number]"],
    ["user info with an @ in it", "ftp://me:p@ss@host/x", "ftp://[redacted:url_user_info]@host/x"],
    ["a database URL", "postgres://app:s3cr?et@db/x", "postgres://app:[redacted:url_user_info]@db/x"],
    ["a key that has lost its end", `-----BEGIN EC PRIVATE KEY-----\n${"MHcCAQEE".repeat(6)}`, "[redacted:private_key]"],
    ["the key's name of a password", { db_password: "x" }, { db_password: "[redacted:secret_by_name]" }],
    ["a number under such a name", { pin: 1234 }, { pin: "[redacted:secret_by_name]" }],
    ["a name and value pair", { env: [{ name: "API_KEY", value: "x" }] }, { env: [{ name: "API_KEY", value: "[redacted:secret_by_name]" }] }],
    ["raw headers", ["Host", "a", "Authorization", "Basic eHg="], ["Host", "a", "Authorization", "[redacted:authorization]"]],
    ["a header pair", [["Cookie", "a=b"]], [["Cookie", "[redacted:authorization]"]]],
    ["an assignment", 'API_KEY="k9f8a7s6d5f4"', 'API_KEY="[redacted:secret_by_name]"'],
    ["an assignment in escaped JSON", '{\\"password\\": \\"hunter2!\\"} x', '{\\"password\\": \\"[redacted:secret_by_name]\\"} x'],
    ["YAML without quotes", "user: ada\npassword: hunter2-s3cret\nport: 1", "user: ada\npassword: [redacted:secret_by_name]\nport: 1"],
    ["a line of YAML whose password is a word", "db:\n  db_password: correcthorse\n", "db:\n  db_password: [redacted:secret_by_name]\n"],
    ["a line of a log", "login with password: hunter2-s3cret failed", "login with password: [redacted:secret_by_name] failed"],
    ["a key in YAML", "api_key: k9f8a7s6d5f4\n", "api_key: [redacted:secret_by_name]\n"],
    ["a shell variable", "export DB_PASS=hunter2x; run", "export DB_PASS=[redacted:secret_by_name]; run"],
    ["a pass in a text", "smtp { user: ada, pass: hunter2x }", "smtp { user: ada, pass: [redacted:secret_by_name] }"],
    ["the names pass and passwd", { pass: "x", dbPass: "y", passwd: "z" }, { pass: "[redacted:secret_by_name]", dbPass: "[redacted:secret_by_name]", passwd: "[redacted:secret_by_name]" }],
    ["a name and value pair in capitals", [{ Name: "password", Value: "x" }, { KEY: "DB_PASS", VALUE: "y" }], [{ Name: "password", Value: "[redacted:secret_by_name]" }, { KEY: "DB_PASS", VALUE: "[redacted:secret_by_name]" }]],
    ["a flag", "login --password hunter22 --verbose", "login --password [redacted:secret_by_name] --verbose"],
    ["a query parameter", "/x?access_token=4f9aQ81zLm0X&page=2", "/x?access_token=[redacted:secret_by_name]&page=2"],
    ["an error text and stack", `Error: ${token}\n    at f (a.js:1:2)`, `Error: ${MASK}\n    at f (a.js:1:2)`],
    ["a symbol property", { [Symbol.for("s")]: token }, { [Symbol.for("s")]: MASK }],
    ["what toJSON gives", { toJSON: () => ({ a: token }) }, { a: MASK }],
  ])("%s", (_, value, expected) => {
    const answer = ask(value);
    expect(answer.result).toEqual(expected);
    expect(Object.values(answer.redactionRules ?? {})[0]).toBeGreaterThan(0);
  }); // biome-ignore format: a table

  it("headers and search parameters, as what they are", () => {
    const headers = ask(new Headers({ authorization: "Basic eHg=", host: "a" })).result as Headers;
    expect([...headers]).toEqual([["authorization", "[redacted:secret_by_name]"], ["host", "a"]]); // biome-ignore format: one line
    expect(ask(new URLSearchParams({ q: token })).result).toEqual(new URLSearchParams({ q: MASK }));
  });

  it("an error's message, stack and cause, in a copy of its kind", () => {
    const error = new TypeError(token, { cause: new Error(token) });
    const masked = ask({ error }).result as { readonly error: TypeError };
    expect(masked.error).toBeInstanceOf(TypeError);
    expect(masked.error.message).toBe(MASK);
    expect(`${masked.error.stack}${String(masked.error.cause)}`).not.toContain(token);
    expect(error.message).toBe(token);
  });

  it("a secret at depth 50, 5,000 and 100,000, and as a key there", { timeout: 60_000 }, () => {
    for (const depth of [50, 5000, 100_000]) {
      let masked: unknown = ask(nested(depth, { [token]: token }), { maxMs: 60_000 }).result;
      for (let i = depth; i > 0; i -= 1) masked = Array.isArray(masked) ? masked[0] : (masked as { a: unknown }).a;
      expect(masked, String(depth)).toEqual({ [MASK]: MASK });
    }
  });

  it("patterns of one's own, and not the rules that are left out", () => {
    const options = { patterns: [{ id: "badge", pattern: "\\bBDG-(?P<secret>[0-9]{6})\\b", keywords: ["BDG-"] }] };
    expect(ask("my BDG-123456", options).result).toBe("my BDG-[redacted:badge]");
    expect(ask(`${token} 4111111111111111`, { without: ["github_token"] }).result).toBe(
      `${token} [redacted:card_number]`,
    );
  });
});

describe("what it says", () => {
  it("names fields as JSON Pointers and counts by rule, and never says what was there", () => {
    const { redactedFields, redactionRules } = ask({ a: [{ "b/c": `${token} ${token}` }], [token]: { password: "x" } });
    expect(redactedFields).toEqual([`/${MASK}`, `/${MASK}/password`, "/a/0/b~1c"]);
    expect(redactionRules).toEqual({ github_token: 3, secret_by_name: 1 });
  });

  it("says nothing where it finds nothing", () => {
    expect(ask({ a: "b" })).toEqual({ result: { a: "b" } });
  });

  it("answers for arguments on the way in", () => {
    const redactor = redactSecrets();
    const input = { phase: "in", part: "args", toolName: "t", args: { q: token }, result: undefined } as const;
    expect(redactor(input)).toEqual({ args: { q: MASK }, redactedFields: ["/q"], redactionRules: { github_token: 1 } });
  });

  it("lists its rules, those of the package among them", () => {
    expect(SECRET_RULE_IDS).toEqual([...new Set(SECRET_RULE_IDS)].sort());
    expect(SECRET_RULE_IDS).toEqual(expect.arrayContaining(secretKinds.map(({ rule }) => rule)));
    const packaged = ["aws_secret_key", "linear_key", "npm_token", "onepassword_token", "sendgrid_key", "shopify_token", "slack_token"]; // biome-ignore format: one line
    expect(SECRET_RULE_IDS).toEqual(expect.arrayContaining(packaged));
  });
});

describe("what it leaves alone", () => {
  it("is the same object, however it is made", () => {
    const cyclic: Record<string, unknown> = { date: new Date(), re: /x/, map: new Map([[{}, [1n]]]), fn: () => 1 };
    cyclic.self = cyclic;
    for (const value of [
      cyclic,
      Object.freeze([Object.freeze({ a: 1 })]),
      new Error("plain"),
      Buffer.from("abc"),
      "text",
      1,
      null,
      undefined,
    ]) {
      // biome-ignore format: one line
      expect(ask(value).result).toBe(value);
    }
  });

  it("keeps what has no secret in it, cycles and prototypes, and writes to nothing", () => {
    class Row {
      readonly note: string = token;
    }
    const clean = { a: [1] };
    const value: Record<string, unknown> = { row: new Row(), clean };
    value.self = value;
    const masked = ask(deepFreeze(value)).result as typeof value;
    expect(masked.self).toBe(masked);
    expect(masked.clean).toBe(clean);
    expect(masked.row).toBeInstanceOf(Row);
    expect(masked.row).toEqual(expect.objectContaining({ note: MASK }));
    expect((value.row as Row).note).toBe(token);
  });

  it("takes no own property for a prototype", () => {
    const masked = ask(JSON.parse(`{"__proto__":{"a":"${token}"}}`)).result as object;
    expect(Object.getPrototypeOf(masked)).toBe(Object.prototype);
    expect(JSON.stringify(masked)).toBe(`{"__proto__":{"a":"${MASK}"}}`);
  });

  it.each<[string, unknown]>([
    ["a count of tokens", { max_tokens: 4096, total_tokens: "1200" }],
    ["a cursor", { nextPageToken: "CAUQAA4f9aQ81zLm0X" }],
    ["a schema that has a password", { properties: { password: { type: "string" } }, required: ["password", "username"] }],
    ["a flag under such a name", { secret: true, token: null, password: "" }],
    ["a variable in its place", "password: process.env.PASSWORD, token=$TOKEN, secret: <your-secret-1>"],
    ["code that handles secrets", 'const password = await readPassword("prompt 1");'],
    ["prose about passwords", "the password: a short story\nPassword: required\nHis secret: something unspoken"],
    ["types of passwords", "  readonly password: PasswordInput;\n  password: string,\n  token: Uint8Array,\n"],
    ["what passes", { pass: true, bypass: "always-on-1", compass: "north-42", text: "tests pass: 120/121, bypass=always1" }],
    ["a verdict", { results: [{ name: "a", pass: "yes" }, { pass: 12 }] }],
    ["a cursor in YAML", "next_page_token: CAUQAA4f9aQ81zLm0X"],
    ["a URL with a port and an @", "https://example.net:8080/@scope/name@1.2.3"],
    ["a number that is no card's", "4111111111111112 1700000000123456789 3.4111111111111111"],
    ["a hash and a UUID", "sha512-9f/+4f9aQ81zLm0Xw7Bn2Kc5== 0192f0c1-7a3b-7c4d-8e5f-6a7b8c9d0e1f"],
    ["a mask", "[redacted:github_token] https://[redacted:url_user_info]@host password=[redacted:secret_by_name]"],
  ])("%s", (_, value) => {
    expect(ask(value)).toEqual({ result: value });
  }); // biome-ignore format: a table

  it.each(readdirSync(join(root, "test/fixtures/benign")))(
    "the benign corpus, less than 1 % of its lines: %s",
    (file) => {
      const text = readFileSync(join(root, "test/fixtures/benign", file), "utf8");
      const lines = text.split("\n");
      const oneByOne = ask(lines, { maxMs: 60_000 }).result as readonly string[];
      const asWhole = (ask(text, { maxMs: 60_000 }).result as string).split("\n");
      expect(asWhole).toHaveLength(lines.length);
      for (const masked of [oneByOne, asWhole]) {
        expect(lines.filter((line, i) => line !== masked[i]).length / lines.length).toBeLessThan(0.01);
      }
      // The measure can fail: the same lines with a secret in each fiftieth of them.
      const planted = lines.map((line, i) => (i % 50 === 0 ? `${line} ${token}` : line));
      const seen = ask(planted, { maxMs: 60_000 }).result as readonly string[];
      expect(planted.filter((line, i) => line !== seen[i])).toHaveLength(Math.ceil(lines.length / 50));
    },
    60_000,
  );

  it("what it has masked: masking again changes nothing", () => {
    const texts = plantedSecrets(1).map(({ text }) => text);
    fc.assert(
      fc.property(fc.jsonValue(), fc.shuffledSubarray(texts), fc.string(), (value, some, glue) => {
        const once = ask({ value, note: some.join(` ${glue} `) }).result;
        expect(ask(once).result).toBe(once);
      }),
    );
  });
});

describe("that it ends", () => {
  const mega = (text: string): string => text.repeat(Math.ceil(1_000_000 / text.length)).slice(0, 1_000_000);

  it.each([
    ...["xoxb-", "ghp_", "eyJhbGciOi.", "sk-ant-api03-", "-----BEGIN PRIVATE KEY-----\n", "://a:", "password=", "password: 'a1", "--token ", "Bearer 1", "Authorization: ", "4111 ", "4", "%41", "\\u0041", '{"a":', "[", '"', "AKIA", "SK0", "lin_api_", "Cookie: a=", "/api/webhooks/1", "-us1"], // biome-ignore format: one line
    base64("password=hunter2!"),
    base64(base64("ghp_")),
  ])("within its time for a megabyte of %j", { timeout: 60_000 }, (text) => {
    const started = performance.now();
    for (const value of [mega(text), { [mega(text)]: [mega(text)] }]) {
      try {
        ask(value, { maxMs: 500 });
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(RangeError);
      }
    }
    // Two redactions of half a second, and the longest single step of each, on a machine that has other things to do.
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  it.each<[string, () => unknown]>([
    ["a getter that throws", () => ({ get a() { throw new Error(token); } })],
    ["a proxy that throws", () => new Proxy({}, { ownKeys: () => { throw new Error(token); } })],
    ["a toJSON that throws", () => ({ toJSON() { throw new Error(token); } })],
    ["a revoked proxy", () => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; }],
    ["a toJSON that gives itself anew, for ever", () => { const more = (): object => ({ toJSON: more }); return more(); }],
    ["text wrapped ten times", () => Array.from({ length: 10 }).reduce<string>((text) => base64(text), token)],
    ["more than a million parts", () => Array.from({ length: 1_000_001 }, () => ({}))],
  ])("with a throw, so that nothing leaves, for %s", { timeout: 60_000 }, (_, make) => {
    expect(() => ask(make())).toThrow();
  }); // biome-ignore format: a table

  it("reads what a getter gives once: what was looked at is what leaves", () => {
    let reads = 0;
    const value = { get note() { reads += 1; return reads === 1 ? "innocent" : token; } }; // biome-ignore format: one line
    expect(ask(value).result).toEqual({ note: "innocent" });
  });
});

optionContract("redactSecrets", [
  ["patterns", () => redactSecrets({ patterns: {} as never })],
  ["patterns.id", () => redactSecrets({ patterns: [{ id: "Not Snake", pattern: "a", keywords: ["aa"] }] })],
  ["patterns.keywords", () => redactSecrets({ patterns: [{ id: "a", pattern: "a", keywords: ["a"] }] })],
  ["patterns.pattern", () => redactSecrets({ patterns: [{ id: "a", pattern: "(?=a)", keywords: ["aa"] }] })],
  ["without", () => redactSecrets({ without: ["no_such_rule"] })],
  ["maxMs", () => redactSecrets({ maxMs: 0 })],
  ["rules", () => redactSecrets({ rules: [] } as never)],
]);
