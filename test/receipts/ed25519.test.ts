// The signature check against published hostile cases, and the words that keys and signatures are written in.
import { createPublicKey } from "node:crypto";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { isSignatureOf, parseSignatureLine, signatureLine } from "../../packages/receipts/src/keys/signature-line.ts";
import { parseVerifierKey, verifierKeyOf } from "../../packages/receipts/src/keys/verifier-key.ts";

interface Group {
  readonly publicKey: { readonly pk: string };
  readonly tests: readonly {
    readonly tcId: number;
    readonly comment: string;
    readonly msg: string;
    readonly sig: string;
    readonly result: "valid" | "invalid";
  }[];
}

const vectors = JSON.parse(
  readFileSync(new URL("../fixtures/vectors/wycheproof-ed25519.json", import.meta.url), "utf8"),
) as { readonly numberOfTests: number; readonly testGroups: readonly Group[] };

function keyOf(hex: string) {
  const jwk = { kty: "OKP", crv: "Ed25519", x: Buffer.from(hex, "hex").toString("base64url") };
  return verifierKeyOf("host/toolspan", createPublicKey({ key: jwk, format: "jwk" }));
}

test("all 151 Wycheproof cases of Ed25519 have the published outcome", () => {
  let count = 0;
  for (const { publicKey, tests } of vectors.testGroups) {
    const key = keyOf(publicKey.pk);
    for (const { tcId, comment, msg, sig, result } of tests) {
      const found = isSignatureOf(key, Buffer.from(msg, "hex"), Buffer.from(sig, "hex"));
      expect(found, `${tcId} ${comment}`).toBe(result === "valid");
      count++;
    }
  }
  expect(count).toBe(vectors.numberOfTests);
});

test("a verifier key of another implementation is read, and written the same", () => {
  // The example of golang.org/x/mod/sumdb/note.
  const text = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
  const key = parseVerifierKey(text);
  expect(key).toMatchObject({ name: "PeterNeumann", id: "c74f20a3", text });
  expect(verifierKeyOf("PeterNeumann", (key as NonNullable<typeof key>).key).text).toBe(text);
  const note = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
  const line =
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=";
  const signature = parseSignatureLine(line);
  expect(isSignatureOf(key as NonNullable<typeof key>, note, signature?.signature ?? Buffer.of())).toBe(true);
  expect(isSignatureOf(key as NonNullable<typeof key>, `${note} `, signature?.signature ?? Buffer.of())).toBe(false);
});

test("no changed character of a verifier key is taken for another key of that name", () => {
  const text = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
  for (let at = 0; at < text.length; at++) {
    for (const other of ["A", "b", "+", " ", "0", "="]) {
      if (text[at] === other) continue;
      expect(parseVerifierKey(text.slice(0, at) + other + text.slice(at + 1)), `${at} ${other}`).toBeNull();
    }
  }
});

test("a signature line is read as it was written, and nothing else is one", () => {
  const key = keyOf(vectors.testGroups[0]?.publicKey.pk as string);
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 80 }), (bytes) => {
      const read = parseSignatureLine(signatureLine(key, bytes));
      expect(read).toMatchObject({ name: key.name, id: key.id });
      expect(Buffer.from(read?.signature ?? [])).toEqual(Buffer.from(bytes));
    }),
  );
  for (const line of [
    "",
    "— ",
    "— a",
    "— a AAAA",
    "- a AAAAAAAA",
    "— a b AAAAAAAA",
    "— a+b AAAAAAAA",
    "— a AAAAAAA==",
  ]) {
    expect(parseSignatureLine(line), line).toBeNull();
  }
});
