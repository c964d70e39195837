// Laws of tampering: whatever is changed in a closed log or its heads is found, at its place; what is honest passes.
import { readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileSigner, verifyLog } from "@toolspan/receipts";
import { describe, expect, test } from "vitest";
import { CHECKS, type Checks } from "../../packages/receipts/src/verify/checks.ts";
import { loadTrust } from "../../packages/receipts/src/verify/trust/load-trust.ts";
import { Verification } from "../../packages/receipts/src/verify/verification.ts";
import { bitFlips, headsOf, lineEdits, type Mutation, missedBy, type Verify } from "./mutations.ts";
import { closedLog, copyOf, logsIn, type Recorded, recording } from "./parts.ts";
import { newKey, signedLog } from "./signing.ts";

/** Set it to try every bit of every byte: some minutes. */
const every = process.env.TOOLSPAN_TEST_EVERY_BIT !== undefined;
const timeout = every ? 1_800_000 : 120_000;

const verify: Verify = (folder) => verifyLog(folder);
const without =
  (checks: Partial<Checks>): Verify =>
  (folder) =>
    new Verification(folder, {}, { checks: { ...CHECKS, ...checks } }).run();

/** Asks who wrote the logs, too. */
const trusting =
  (trust: string, checks: Partial<Checks> = {}): Verify =>
  (folder) => {
    const used = { ...CHECKS, ...checks };
    return new Verification(folder, {}, { checks: used, trust: loadTrust(trust, used) }).run();
  };

/** A closed log with four signed heads, and the key that signed them. */
async function signedSubject(): Promise<{ readonly recorded: Recorded; readonly trust: string; readonly all: string }> {
  const key = newKey();
  const recorded = recording({ signer: fileSigner(key.path) });
  for (let i = 0; i < 3; i++) {
    await recorded.call();
    await recorded.dispatch.flush();
  }
  await recorded.close();
  const all = headsOf(recorded.receipts).find((name) => name.endsWith(".heads")) as string;
  return { recorded, trust: key.verifierKey, all };
}

/** Bits of every entry but the last: the last one can also be told by the file of the latest head. */
function earlierFlips(receipts: string, file: string, every: number): readonly Mutation[] {
  const last = readFileSync(join(receipts, file), "latin1").lastIndexOf("host-1/toolspan/");
  const flips = bitFlips(receipts, file, (at, bit) => at < last && at % every === 0 && bit === at % 8);
  return [...flips].map((flip) => ({ ...flip, exitCode: null, line: null }));
}

/** A small closed log with one head. */
async function subject(): Promise<{ readonly root: string; readonly log: string; readonly heads: readonly string[] }> {
  const { root, receipts } = await closedLog(3);
  return { root, log: logsIn(receipts)[0] as string, heads: headsOf(receipts).map(String) };
}

describe("a closed log", () => {
  test("passes as it is, and the report says what that does not prove", async () => {
    const { root } = await subject();
    const report = await verify(root);
    expect(report).toMatchObject({
      exitCode: 0,
      verdict: "CONSISTENT",
      integrity: "ok",
      authenticity: "unknown",
      completeness: "unknown",
    });
    expect(report.findings).toEqual([]);
    expect(report.notChecked).toContainEqual(expect.stringContaining("who wrote it"));
    expect(report.notChecked).toContainEqual(expect.stringContaining("newer lines or whole logs"));
  });

  test("a bit of every byte, all bits of newlines and of the last line, are found at their line", {
    timeout,
  }, async () => {
    const { root, log } = await subject();
    const counted = { count: 0 };
    const flips = bitFlips(join(root, "receipts"), log, (at, bit, bytes) => {
      const last = at > bytes.lastIndexOf(0x0a, bytes.length - 2);
      return every || last || bytes[at] === 0x0a || bit === at % 8;
    });
    expect(await missedBy(verify, root, flips, counted)).toEqual([]);
    expect(counted.count).toBeGreaterThan(readFileSync(join(root, "receipts", log)).length);
  });

  test("any single bit of either file of heads is found in that file", { timeout }, async () => {
    const { root, heads } = await subject();
    expect(heads).toHaveLength(2);
    for (const file of heads) {
      const flips = [...bitFlips(join(root, "receipts"), file)].map((flip) => ({ ...flip, line: null }));
      expect(await missedBy(verify, root, flips)).toEqual([]);
    }
  });

  test("a deleted, swapped, duplicated or inserted line is found at its place", async () => {
    const { root, receipts } = await closedLog(6);
    const log = logsIn(receipts)[0] as string;
    expect(await missedBy(verify, root, lineEdits(receipts, log))).toEqual([]);
  });

  test("with several heads: any bit of any entry is found", { timeout }, async () => {
    const recorded = recording();
    for (let i = 0; i < 4; i++) {
      await recorded.call();
      await recorded.dispatch.flush();
    }
    await recorded.close();
    const [all] = headsOf(recorded.receipts).filter((name) => name.endsWith(".heads"));
    const flips = [...bitFlips(recorded.receipts, all as string, (at, bit) => every || bit === at % 8)].map((flip) => ({
      ...flip,
      line: null,
    }));
    expect(await missedBy(verify, recorded.root, flips)).toEqual([]);
  });

  test("a cut anywhere in the log is found: shorter than its head says", async () => {
    const { root, log } = await subject();
    const { length } = readFileSync(join(root, "receipts", log));
    for (const keep of [0, 1, 100, length >> 1, length - 300, length - 1]) {
      const copy = copyOf(root);
      truncateSync(join(copy, "receipts", log), keep);
      expect((await verify(copy)).exitCode, `${keep} bytes kept`).toBe(1);
    }
  });
});

describe("a signed log, asked with its key", () => {
  test("passes, and says who wrote it", async () => {
    const { recorded, trust } = await signedSubject();
    const report = await trusting(trust)(recorded.root);
    expect(report).toMatchObject({ exitCode: 0, integrity: "ok", authenticity: "ok", findings: [] });
    expect(report.counts).toMatchObject({ heads: 4, receipts: 3, sealed: 3 });
  });

  test("any bit of either file of heads is found", { timeout }, async () => {
    const { recorded, trust } = await signedSubject();
    for (const file of headsOf(recorded.receipts)) {
      const flips = [...bitFlips(recorded.receipts, file, (at, bit) => every || bit === at % 8)];
      const asked = flips.map((flip) => ({ ...flip, exitCode: null, line: null }));
      expect(await missedBy(trusting(trust), recorded.root, asked)).toEqual([]);
    }
  });

  test("a bit of every third byte of its lines, and every edit of its lines, are found at their place", {
    timeout,
  }, async () => {
    const key = newKey();
    const { root, receipts } = await signedLog(3, key);
    const log = logsIn(receipts)[0] as string;
    const flips = bitFlips(receipts, log, (at, bit) => at % 3 === 0 && bit === at % 8);
    expect(await missedBy(trusting(key.verifierKey), root, flips)).toEqual([]);
    expect(await missedBy(trusting(key.verifierKey), root, lineEdits(receipts, log))).toEqual([]);
  });
});

describe("a verifier with a check taken out fails these laws", () => {
  test("without the signature", async () => {
    const { recorded, trust, all } = await signedSubject();
    const flips = earlierFlips(recorded.receipts, all, 5);
    expect(flips.length).toBeGreaterThan(50);
    expect(await missedBy(trusting(trust), recorded.root, flips)).toEqual([]);
    expect(await missedBy(trusting(trust, { signature: () => true }), recorded.root, flips)).not.toEqual([]);
  });

  test("without the links between lines", async () => {
    const { root, log } = await subject();
    const receipts = join(root, "receipts");
    for (const file of headsOf(receipts)) rmSync(join(receipts, file));
    const flips = [...bitFlips(receipts, log, (at, bit) => at % 31 === 0 && bit === at % 8)];
    const inChain = flips.filter(({ line }) => (line ?? 0) < 5);
    expect(await missedBy(verify, root, inChain)).toEqual([]);
    expect(await missedBy(without({ link: () => true }), root, inChain)).not.toEqual([]);
  });

  test("without the root", async () => {
    const { root, log } = await subject();
    const flips = [...bitFlips(join(root, "receipts"), log, (at, bit) => at % 7 === 0 && bit === at % 8)].filter(
      ({ line }) => line === 5,
    );
    expect(await missedBy(verify, root, flips)).toEqual([]);
    expect(await missedBy(without({ root: () => true }), root, flips)).not.toEqual([]);
  });
});

describe("what cannot be said is never passed", () => {
  test("a deleted head, of either kind or both", async () => {
    const { root, heads } = await subject();
    for (const gone of [[heads[0]], [heads[1]], heads]) {
      const copy = copyOf(root);
      for (const file of gone) rmSync(join(copy, "receipts", file as string));
      const report = await verify(copy);
      expect(report).toMatchObject({ exitCode: 2, verdict: "CANNOT_SAY", integrity: "unknown" });
      expect(report.findings.map(({ verdict }) => verdict)).toContain("HEAD_MISSING");
    }
  });

  test("a cut tail whose heads were cut as well", async () => {
    const recorded = recording();
    await recorded.call();
    await recorded.dispatch.flush();
    const early = copyOf(recorded.root);
    await recorded.call();
    await recorded.close();
    const report = await verify(early);
    expect(report.exitCode).toBe(2);
    expect(report.findings.map(({ verdict }) => verdict)).toEqual(["UNCLOSED"]);
  });

  test("a live log", async () => {
    const recorded = recording();
    await recorded.call();
    const report = await verify(recorded.root);
    expect(report.exitCode).toBe(2);
    expect(report.findings.map(({ verdict }) => verdict)).toEqual(["UNCLOSED", "BEYOND_HEAD"]);
    expect((await verifyLog(recorded.root, { allowOpen: 2 })).exitCode).toBe(0);
    expect((await verifyLog(recorded.root, { allowOpen: 1 })).exitCode).toBe(2);
    await recorded.close();
  });

  test("an empty folder, a folder that is not there, an empty log", async () => {
    const { root, log, heads } = await subject();
    for (const file of [log, ...heads]) rmSync(join(root, "receipts", file));
    expect(await verify(root)).toMatchObject({ exitCode: 2, findings: [{ verdict: "EMPTY" }] });
    rmSync(join(root, "receipts"), { recursive: true });
    expect(await verify(root)).toMatchObject({ exitCode: 2, findings: [{ verdict: "EMPTY" }] });
    expect(await verify(join(root, "nowhere"))).toMatchObject({ exitCode: 2, findings: [{ verdict: "UNREADABLE" }] });
    writeFileSync(join(root, "empty.jsonl"), "");
    expect(await verify(root)).toMatchObject({ exitCode: 2, findings: [{ verdict: "NO_LINES" }] });
  });

  test("a log that is gone while its heads are there is a contradiction", async () => {
    const { root, log } = await subject();
    rmSync(join(root, "receipts", log));
    expect((await verify(root)).exitCode).toBe(1);
  });

  test("with trust: heads that nobody signed", async () => {
    const { root } = await subject();
    const report = await verifyLog(root, { trust: newKey().verifierKey });
    expect(report).toMatchObject({ exitCode: 2, integrity: "ok", authenticity: "unknown" });
    expect(report.findings.map(({ verdict }) => verdict)).toEqual(["UNSIGNED_HEAD"]);
  });
});
