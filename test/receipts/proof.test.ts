// Laws of proofs: one receipt shows that it stands in a signed log, to somebody who has nothing else.
import { join } from "node:path";
import { opensCommitment } from "@toolspan/canonical/hash";
import {
  eraseSubject,
  fileSigner,
  type OpeningLine,
  proveDispatch,
  type ReceiptProof,
  verifyLog,
  verifyProof,
} from "@toolspan/receipts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { inclusionProof, isIncluded, leafHash, MerkleTree } from "../../packages/receipts/src/log/merkle.ts";
import { checkProof } from "../../packages/receipts/src/prove/verify-proof.ts";
import { CHECKS } from "../../packages/receipts/src/verify/checks.ts";
import { closedLog, logsIn, recording, recordsOf } from "./parts.ts";
import { edit, newKey, signedBy, signedLog } from "./signing.ts";

const dispatchesIn = (receipts: string): readonly string[] =>
  logsIn(receipts).flatMap((file) =>
    recordsOf(join(receipts, file)).flatMap((record) => (record.record === "receipt" ? [record.dispatch_id] : [])),
  );

async function proved(count = 5): Promise<{ proof: ReceiptProof; trust: string; key: ReturnType<typeof newKey> }> {
  const key = newKey();
  const { root, receipts } = await signedLog(count, key);
  const found = await proveDispatch(dispatchesIn(receipts)[2] as string, root);
  if (found.made === null) throw new Error(found.reason);
  return { proof: found.made, trust: key.verifierKey, key };
}

const judge = (proof: object, trust?: string) =>
  verifyProof(JSON.stringify(proof), trust === undefined ? {} : { trust });

test("a proof of every leaf of every size leads to the root of the tree", () => {
  for (let size = 1; size <= 70; size++) {
    const leaves = Array.from({ length: size }, (_, i) => leafHash(Buffer.from(String(i))));
    const tree = new MerkleTree();
    for (const leaf of leaves) tree.add(leaf);
    for (let index = 0; index < size; index++) {
      const proof = inclusionProof(index, size, (place) => leaves[place] as string);
      expect(proof.length).toBeLessThanOrEqual(Math.ceil(Math.log2(size)));
      expect(isIncluded(index, size, leaves[index] as string, proof, tree.root())).toBe(true);
    }
  }
});

describe("a proof", () => {
  test("of every receipt of a log holds with the key, and gives back the receipt", async () => {
    const key = newKey();
    const { root, receipts } = await signedLog(9, key);
    for (const dispatch of dispatchesIn(receipts)) {
      const { made } = await proveDispatch(dispatch, root);
      const report = judge(made as object, key.verifierKey);
      expect(report).toMatchObject({ exitCode: 0, verdict: "PROVED", integrity: "ok", authenticity: "ok" });
      expect(report.receipt?.dispatch_id).toBe(dispatch);
    }
  });

  test("without a key exits 2: anybody can make one", async () => {
    const { proof } = await proved();
    expect(judge(proof)).toMatchObject({ exitCode: 2, integrity: "ok", authenticity: "unknown" });
    expect(judge(proof).findings.map(({ verdict }) => verdict)).toEqual(["NO_TRUST"]);
  });

  test("of another key, or of an unsigned log, exits 2", async () => {
    const { proof } = await proved();
    expect(judge(proof, newKey().verifierKey)).toMatchObject({ exitCode: 2, findings: [{ verdict: "UNKNOWN_KEY" }] });
    const { root, receipts } = await closedLog(3);
    const { made } = await proveDispatch(dispatchesIn(receipts)[0] as string, root);
    expect(judge(made as object, newKey().verifierKey)).toMatchObject({
      exitCode: 2,
      findings: [{ verdict: "UNSIGNED_HEAD" }],
    });
  });

  test("of which any one character was changed is never proved", { timeout: 60_000 }, async () => {
    const { proof, trust } = await proved();
    const text = JSON.stringify(proof);
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.constantFrom("0", "A", "z", "/", "+", " ", '"', "\\"), (at, other) => {
        fc.pre(text[at] !== other);
        const report = verifyProof(text.slice(0, at) + other + text.slice(at + 1), { trust });
        expect(report.exitCode, `${at} ${other}`).not.toBe(0);
      }),
      { numRuns: 3000 },
    );
  });

  test("with a hash too many, too few, cut or swapped, or another index, is refused", async () => {
    const { proof, trust } = await proved();
    const lines = proof.proof.split("\n");
    const spoiled: readonly (readonly string[])[] = [
      lines.toSpliced(2, 1),
      lines.toSpliced(2, 0, lines[2] as string),
      lines.toSpliced(2, 2, lines[3] as string, lines[2] as string),
      lines.toSpliced(2, 1, Buffer.alloc(31).toString("base64")),
      ...["index 4", "index 03", "index 99", "index -1", "index 3.0", "index 9007199254740993"].map((index) =>
        lines.with(1, index),
      ),
      lines.with(0, "c2sp.org/tlog-proof@v2"),
    ];
    for (const text of spoiled) {
      expect(judge({ ...proof, proof: text.join("\n") }, trust).exitCode, text.slice(0, 3).join()).toBe(1);
    }
  });

  test("of another line than the one under the head is refused, also with a forged signature", async () => {
    const { proof, trust } = await proved();
    const line = proof.line.replace('"attempts":1', '"attempts":2');
    expect(judge({ ...proof, line }, trust).findings[0]?.verdict).toBe("PROOF_MISMATCH");
    const root = Buffer.from(leafHash(Buffer.from(line)), "hex").toString("base64");
    const [, , , ...note] = proof.proof.split("\n").slice(-5);
    expect(note.length).toBeGreaterThan(0);
    const body = `${proof.proof.split("\n\n")[1]?.split("\n")[0]}\n1\n${root}\n`;
    const own = proof.proof.match(/— .*\n/)?.[0] as string;
    const forged = { ...proof, line, proof: `c2sp.org/tlog-proof@v1\nindex 0\n\n${body}\n${own}` };
    const report = judge(forged, trust);
    expect(report.exitCode).toBe(1);
    expect(report.findings.map(({ verdict }) => verdict)).toContain("BAD_SIGNATURE");
    const blind = checkProof(JSON.stringify(forged), trust, { ...CHECKS, signature: () => true });
    expect(blind.findings.map(({ verdict }) => verdict)).not.toContain("BAD_SIGNATURE");
  });

  test("of a line that says it stands elsewhere is refused, although the tree holds it", async () => {
    const { proof, trust, key } = await proved();
    const root = Buffer.from(leafHash(Buffer.from(proof.line)), "hex").toString("base64");
    const log = JSON.parse(proof.line).chain.log;
    const body = `${key.keyName}/${log}\n1\n${root}\n`;
    const alone = { ...proof, proof: `c2sp.org/tlog-proof@v1\nindex 0\n\n${body}\n${signedBy(key.path, body)}\n` };
    expect(judge(alone, trust)).toMatchObject({
      exitCode: 1,
      receipt: null,
      findings: [{ verdict: "PROOF_MISMATCH" }],
    });
  });

  test("that is none is malformed", async () => {
    const { proof, trust } = await proved();
    const none = [
      "",
      "{}",
      "null",
      "[]",
      JSON.stringify({ ...proof, more: 1 }),
      JSON.stringify({ ...proof, proof: "" }),
      `{"line":"{}",${JSON.stringify(proof).slice(1)}`,
    ];
    for (const text of [...none, JSON.stringify({ ...proof, openings: [{}] })]) {
      expect(verifyProof(text, { trust })).toMatchObject({
        exitCode: 1,
        findings: [{ verdict: "MALFORMED" }],
        receipt: null,
      });
    }
  });
});

describe("openings", () => {
  const disclosed = async (openings: "salt" | "text", ask: boolean) => {
    const key = newKey();
    const recorded = recording({ signer: fileSigner(key.path), hash: "commit-sha256", openings });
    await recorded.call("add", "one");
    await recorded.call("add", "two");
    await recorded.close();
    const dispatch = dispatchesIn(recorded.receipts)[1] as string;
    const { made } = await proveDispatch(dispatch, recorded.root, { openings: ask });
    return { proof: made as ReceiptProof, trust: key.verifierKey, root: recorded.root };
  };

  test("are disclosed only when asked for", async () => {
    expect((await disclosed("text", false)).proof.openings).toEqual([]);
    const { proof, trust, root } = await disclosed("text", true);
    expect(proof.openings.map(({ field, text }) => [field, text])).toEqual([
      ["args_hash", '{"count":2}'],
      ["result_hash", '{"count":2}'],
    ]);
    expect(judge(proof, trust)).toMatchObject({ exitCode: 0, opened: ["args_hash", "result_hash"] });
    await eraseSubject("two", { stateDir: root });
    const { made } = await proveDispatch(JSON.parse(proof.line).dispatch_id, root, { openings: true });
    expect(made?.openings).toEqual([]);
  });

  test("without a text open nothing by themselves, and the report says so", async () => {
    const { proof, trust } = await disclosed("salt", true);
    const report = judge(proof, trust);
    expect(report).toMatchObject({ exitCode: 0, opened: [] });
    expect(report.notChecked).toContain("what the hashes stand for whose opening holds a salt and no text");
    const [{ hash, salt }] = proof.openings as readonly [OpeningLine];
    expect(opensCommitment(hash, { salt, text: '{"count":2}' }, "args")).toBe(true);
  });

  test("that are of another text, salt, field, dispatch or hash contradict", async () => {
    const { proof, trust } = await disclosed("text", true);
    const [args, result] = proof.openings as readonly [OpeningLine, OpeningLine];
    const spoiled: readonly OpeningLine[] = [
      { ...args, text: '{"count":3}' },
      { ...args, salt: result.salt },
      { ...args, field: "result_hash" },
      { ...args, hash: result.hash, salt: result.salt },
      { ...args, text: null, hash: result.hash },
      { ...args, dispatch_id: "01900000-0000-7000-8000-000000000000" },
    ];
    for (const opening of spoiled) {
      const report = judge({ ...proof, openings: [opening] }, trust);
      expect(report, JSON.stringify(opening)).toMatchObject({ exitCode: 1, opened: [] });
      expect(report.findings.map(({ verdict }) => verdict)).toEqual(["OPENING_MISMATCH"]);
    }
    for (const none of [[args, args], [{ ...args, more: 1 }], [null]]) {
      expect(judge({ ...proof, openings: none }, trust).findings[0]?.verdict).toBe("MALFORMED");
    }
  });
});

describe("nothing is proved", () => {
  test("of a dispatch that is not there, of a receipt that no head covers yet, of a log that was changed", async () => {
    const recorded = recording({ signer: fileSigner(newKey().path) });
    await recorded.call();
    const [dispatch = ""] = dispatchesIn(recorded.receipts);
    expect(await proveDispatch(dispatch, recorded.root)).toEqual({ made: null, reason: "no_head" });
    expect(await proveDispatch("nobody", recorded.root)).toEqual({ made: null, reason: "not_found" });
    await recorded.close();
    expect((await proveDispatch(dispatch, recorded.root)).made).not.toBeNull();
    edit(recorded.receipts, logsIn(recorded.receipts)[0] as string, (text) => text.replace('"end"', '"evicted"'));
    expect(await proveDispatch(dispatch, recorded.root)).toEqual({ made: null, reason: "damaged" });
    expect((await verifyLog(recorded.root)).exitCode).toBe(1);
  });
});
