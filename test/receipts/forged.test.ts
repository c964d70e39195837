// Laws of what whoever can write the folder puts there: no line of theirs stands for a signature, and none excuses a log that is gone.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { canonicalJson } from "@toolspan/canonical";
import { fileSigner, pruneReceipts, type SigningKeyFacts, type VerifyReport, verifyLog } from "@toolspan/receipts";
import { describe, expect, test, vi } from "vitest";
import { leafHash, MerkleTree } from "../../packages/receipts/src/log/merkle.ts";
import { headsOf } from "./mutations.ts";
import { copyOf, linesOf, type Recorded, recording, recordsOf, temporaryFolder } from "./parts.ts";
import { newKey, signedLog } from "./signing.ts";

const FORGED_LOG = "01a22dc3-0000-7000-8000-000000000001";

const verdictsOf = ({ findings }: VerifyReport): readonly string[] => findings.map(({ verdict }) => verdict);
const notesOf = ({ notes }: VerifyReport): readonly string[] => notes.map(({ verdict }) => verdict);

/** Lines of a log that anybody can make. */
function forgedLines(records: readonly object[]): readonly string[] {
  const lines: string[] = [];
  let prev: string | null = null;
  for (const [seq, record] of records.entries()) {
    const line = canonicalJson({ ...record, chain: { log: FORGED_LOG, seq, prev } });
    prev = leafHash(Buffer.from(line));
    lines.push(line);
  }
  return lines;
}

function unsignedHead(lines: readonly string[]): string {
  const tree = new MerkleTree();
  for (const line of lines) tree.add(leafHash(Buffer.from(line)));
  return `toolspan/${FORGED_LOG}\n${lines.length}\n${Buffer.from(tree.root(), "hex").toString("base64")}\n\n`;
}

/** Puts a log into `root` that says that `log` was removed on purpose; headed and closed, or neither. */
function forgePrune(root: string, like: string, pruned: object, closed: boolean): void {
  const [opening] = recordsOf(like);
  const emitted_at = opening?.emitted_at;
  const records = [
    { ...opening, session_id: null, previous: null, verifier_key: null },
    { record: "prune", schema_version: 1, emitted_at, ...pruned },
    { record: "segment_close", schema_version: 1, emitted_at, reason: "end", next: null },
  ];
  const lines = forgedLines(closed ? records : records.slice(0, 2));
  const receipts = join(root, "receipts");
  writeFileSync(join(receipts, "_process.jsonl"), `${lines.join("\n")}\n`);
  if (!closed) return;
  for (const ending of ["heads", "head"]) writeFileSync(join(receipts, `${FORGED_LOG}.${ending}`), unsignedHead(lines));
}

function anchorsOf({ receipts }: Recorded): string {
  const path = join(temporaryFolder(), "anchors.txt");
  const names = headsOf(receipts).filter((name) => name.endsWith(".heads"));
  writeFileSync(path, names.map((name) => readFileSync(join(receipts, name), "utf8")).join(""));
  return path;
}

/** A signed log of 3 receipts under a head, and so many beyond it; still open. */
async function openLog(key: SigningKeyFacts, beyond: number): Promise<Recorded> {
  const recorded = recording({ signer: fileSigner(key.path) });
  for (let i = 0; i < 3; i++) await recorded.call();
  await recorded.dispatch.flush();
  for (let i = 0; i < beyond; i++) await recorded.call();
  return recorded;
}

describe("an open log that is accepted, with trust", () => {
  test("is none that has no signed head, however many lines are allowed", async () => {
    const key = newKey();
    const { root, receipts } = await signedLog(2, key);
    const records = recordsOf(join(receipts, "session.jsonl")).slice(0, -1);
    const forged = temporaryFolder();
    writeFileSync(join(forged, "forged.jsonl"), `${forgedLines(records).join("\n")}\n`);
    for (const allowOpen of [3, 1_000_000]) {
      const report = await verifyLog(forged, { trust: key.verifierKey, allowOpen });
      expect(report).toMatchObject({ exitCode: 2, authenticity: "unknown" });
      expect(verdictsOf(report)).toEqual(["UNSIGNED_LINES"]);
    }
    writeFileSync(join(receipts, "forged.jsonl"), `${forgedLines(records).join("\n")}\n`);
    expect((await verifyLog(root, { trust: key.verifierKey, allowOpen: 9 })).exitCode).toBe(2);
  });

  test("may have so many lines beyond its signed head, and nobody is said to have written those", async () => {
    const key = newKey();
    const recorded = await openLog(key, 2);
    const trust = key.verifierKey;
    expect((await verifyLog(recorded.root, { trust, allowOpen: 1 })).exitCode).toBe(2);
    const report = await verifyLog(recorded.root, { trust, allowOpen: 2 });
    expect(report).toMatchObject({ exitCode: 0, integrity: "ok", authenticity: "unknown" });
    expect(report.notes).toMatchObject([{ verdict: "OPEN", message: expect.stringContaining("2 lines") }]);
    expect(report.notChecked).toContainEqual(expect.stringContaining("who wrote 2 lines"));
    await recorded.dispatch.flush();
    expect(await verifyLog(recorded.root, { trust, allowOpen: 0 })).toMatchObject({ exitCode: 0, authenticity: "ok" });
    await recorded.close();
  });
});

describe("a line that says that a log was removed on purpose", () => {
  const pruned = (recorded: Recorded): { file: string; log: string; lines: number; root: string } => {
    const path = join(recorded.receipts, "session.jsonl");
    const tree = new MerkleTree();
    const lines = linesOf(path);
    for (const line of lines) tree.add(leafHash(Buffer.from(line)));
    const log = recordsOf(path)[0]?.chain.log as string;
    return { file: "session.jsonl", log, lines: lines.length, root: tree.root() };
  };

  test.each([true, false])(
    "excuses nothing with trust unless a trusted key has signed it; headed and closed: %s",
    async (closed) => {
      const key = newKey();
      const recorded = await signedLog(3, key);
      const anchors = anchorsOf(recorded);
      const root = copyOf(recorded.root);
      forgePrune(root, join(recorded.receipts, "session.jsonl"), pruned(recorded), closed);
      rmSync(join(root, "receipts/session.jsonl"));
      for (const more of [{ anchors }, {}]) {
        const report = await verifyLog(root, { trust: key.verifierKey, allowOpen: 9, ...more });
        expect(report.exitCode).toBe(1);
        expect(verdictsOf(report)).toContain("LOST_LOG");
      }
    },
  );

  test("cannot excuse a log with heads kept elsewhere where nobody asks who signed", async () => {
    const recorded = await signedLog(3, newKey());
    const anchors = anchorsOf(recorded);
    const root = copyOf(recorded.root);
    forgePrune(root, join(recorded.receipts, "session.jsonl"), pruned(recorded), true);
    rmSync(join(root, "receipts/session.jsonl"));
    const report = await verifyLog(root, { anchors });
    expect(report).toMatchObject({ exitCode: 2, completeness: "unknown" });
    expect(verdictsOf(report)).toEqual(["PRUNED_UNSIGNED"]);
    expect(notesOf(report)).toContain("PRUNED");
    expect(await verifyLog(root)).toMatchObject({ exitCode: 0, completeness: "unknown" });
  });

  test.each([
    ["of fewer lines", { lines: 2 }],
    ["of other lines", { root: "ab".repeat(32) }],
  ])("%s than heads state contradicts them, beside the log and elsewhere", async (_, wrong) => {
    const recorded = await signedLog(3, newKey());
    const anchors = anchorsOf(recorded);
    const root = copyOf(recorded.root);
    forgePrune(root, join(recorded.receipts, "session.jsonl"), { ...pruned(recorded), ...wrong }, true);
    rmSync(join(root, "receipts/session.jsonl"));
    const beside = await verifyLog(root);
    expect(beside.exitCode).toBe(1);
    expect(verdictsOf(beside)).toContain("CLAIM_MISMATCH");
    expect(await verifyLog(root, { anchors })).toMatchObject({ exitCode: 1, completeness: "unknown" });
  });

  test("counts when the key that signed it is trusted, heads kept elsewhere or not, with a note", async () => {
    const key = newKey();
    const recorded = await signedLog(3, key);
    const anchors = anchorsOf(recorded);
    vi.stubEnv("TOOLSPAN_SIGNING_KEY", key.path);
    try {
      vi.useFakeTimers({ now: Date.now() + 60_000, toFake: ["Date"] });
      await pruneReceipts({ stateDir: recorded.root, olderThan: "1ms" });
    } finally {
      vi.useRealTimers();
      vi.unstubAllEnvs();
    }
    for (const more of [{ anchors }, {}]) {
      const report = await verifyLog(recorded.root, { trust: key.verifierKey, ...more });
      expect(report).toMatchObject({ exitCode: 0, authenticity: "ok", findings: [] });
      expect(notesOf(report)).toContain("PRUNED");
    }
  });
});
