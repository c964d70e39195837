// Signed logs and proofs against golang.org/x/mod: the same verdict on honest ones and on everything that was changed.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileSigner, proveDispatch, type SigningKeyFacts, verifyLog, verifyProof } from "@toolspan/receipts";
import { afterAll, describe, expect, test } from "vitest";
import { bitFlips, headsOf, lineEdits, type Mutation } from "../receipts/mutations.ts";
import { copyOf, logsIn, type Recorded, recording, recordsOf } from "../receipts/parts.ts";
import { edit, newKey, signedBy, signedLog } from "../receipts/signing.ts";
import { buildGoVerifier, type GoVerifier } from "./go.ts";

const built = buildGoVerifier();
const go = built as GoVerifier;
const missing = typeof built === "string" ? built : undefined;
afterAll(() => {
  if (missing === undefined) rmSync(go.folder, { recursive: true });
});

async function subject(): Promise<{
  readonly recorded: Recorded;
  readonly key: SigningKeyFacts;
  readonly trust: string;
}> {
  const key = newKey("host-1");
  const recorded = recording({ signer: fileSigner(key.path) });
  for (let i = 0; i < 7; i++) {
    await recorded.call();
    if (i % 3 === 0) await recorded.dispatch.flush();
  }
  await recorded.close();
  return { recorded, key, trust: key.verifierKey };
}

const both = async (root: string, key: string): Promise<readonly number[]> => {
  const receipts = join(root, "receipts");
  const [file = ""] = logsIn(receipts);
  const theirs = go.run("log", join(receipts, file), [key]);
  const ours = await verifyLog(join(receipts, file), { trust: key });
  return [theirs.code, ours.exitCode];
};

describe.skipIf(missing !== undefined)(
  `Go's sumdb/note and sumdb/tlog${missing === undefined ? "" : ` (skipped: ${missing})`}`,
  () => {
    test("verify an honest log, its heads and every proof of it", async () => {
      const { recorded, trust } = await subject();
      const { root, receipts } = recorded;
      expect(await both(root, trust)).toEqual([0, 0]);
      for (const record of recordsOf(join(receipts, logsIn(receipts)[0] as string))) {
        if (record.record !== "receipt") continue;
        const { made } = await proveDispatch(record.dispatch_id, root);
        const path = join(root, "proof.json");
        writeFileSync(path, JSON.stringify(made));
        expect(go.run("proof", path, [trust])).toEqual({ code: 0, reason: "" });
        for (const changed of spoiled(JSON.stringify(made))) {
          writeFileSync(path, changed);
          expect(go.run("proof", path, [trust]).code, changed).toBe(1);
          expect(verifyProof(changed, { trust }).exitCode).toBe(1);
        }
      }
    });

    test("refuse what we refuse, bit by bit and line by line", { timeout: 180_000 }, async () => {
      const { recorded, trust } = await subject();
      const { root, receipts } = recorded;
      const [log = ""] = logsIn(receipts);
      const flips = (file: string, every: number): Mutation[] => [
        ...bitFlips(receipts, file, (at, bit) => at % every === 0 && bit === (at >> 3) % 8),
      ];
      const mutations = [
        ...flips(log, 53),
        ...headsOf(receipts).flatMap((file) => flips(file, 11)),
        ...[...lineEdits(receipts, log)].filter((_, i) => i % 3 === 0),
      ];
      expect(mutations.length).toBeGreaterThan(150);
      for (const { name, file, bytes } of mutations) {
        const path = join(receipts, file);
        const honest = readFileSync(path);
        writeFileSync(path, bytes);
        const [theirs, ours] = await both(root, trust);
        writeFileSync(path, honest);
        expect({ name, theirs: theirs !== 0, ours: ours !== 0 }).toEqual({ name, theirs: true, ours: true });
      }
    });

    test("say the same of heads kept elsewhere: an honest log, an older copy, a cut tail, another root", async () => {
      const { recorded, key, trust } = await subject();
      const [log = "", all = ""] = [
        logsIn(recorded.receipts)[0],
        headsOf(recorded.receipts).find((f) => f.endsWith(".heads")),
      ];
      const kept = join(recorded.root, "kept.txt");
      writeFileSync(kept, readFileSync(join(recorded.receipts, all)));
      const told = async (root: string, anchors: string): Promise<readonly number[]> => {
        const path = join(root, "receipts", log);
        const ours = await verifyLog(path, { trust, anchors });
        return [go.run("log", path, [trust], [anchors]).code, ours.exitCode];
      };
      expect(await told(recorded.root, kept)).toEqual([0, 0]);
      const shorter = copyOf(recorded.root);
      const lines = readFileSync(join(shorter, "receipts", log), "utf8").split("\n");
      const entries = readFileSync(kept, "utf8").split(/(?<=\n)(?=host-1)/);
      const size = Number(entries[1]?.split("\n")[1]);
      writeFileSync(join(shorter, "receipts", log), `${lines.slice(0, size).join("\n")}\n`);
      writeFileSync(join(shorter, "receipts", all), entries.slice(0, 2).join(""));
      writeFileSync(join(shorter, "receipts", all.slice(0, -1)), entries[1] as string);
      expect(await told(shorter, kept)).toEqual([1, 1]);
      for (const file of headsOf(join(shorter, "receipts"))) rmSync(join(shorter, "receipts", file));
      expect(await told(shorter, kept)).toEqual([1, 1]);
      const [origin, lineCount] = (entries[0] as string).split("\n");
      const body = `${origin}\n${lineCount}\n${"A".repeat(43)}=\n`;
      const forged = join(recorded.root, "forged.txt");
      writeFileSync(forged, `${body}\n${signedBy(key.path, body)}\n`);
      expect(await told(recorded.root, forged)).toEqual([1, 1]);
    });

    test("say the same of forgeries: unknown key, stripped, borrowed id, root made anew, deleted heads", async () => {
      const { recorded, key, trust } = await subject();
      const { root } = recorded;
      const heads = (change: (text: string) => string): string => {
        const copy = copyOf(root);
        for (const file of headsOf(join(copy, "receipts"))) edit(join(copy, "receipts"), file, change);
        return copy;
      };
      const strange = signedBy(newKey("witness").path, "x");
      expect(await both(root, newKey("host-1").verifierKey)).toEqual([2, 2]);
      expect(
        await both(
          heads((text) => text.replace(/^— .*\n/gm, "").replace(/^.*toolspan\//gm, "toolspan/")),
          trust,
        ),
      ).toEqual([2, 2]);
      expect(
        await both(
          heads((text) => text.replace(/^[A-Za-z0-9+/]{43}=$/gm, `${"A".repeat(43)}=`)),
          trust,
        ),
      ).toEqual([1, 1]);
      expect(
        await both(
          heads((text) => text.replace(/^— .*$/gm, (own) => `${own}\n${strange}`)),
          trust,
        ),
      ).toEqual([0, 0]);
      expect(
        await both(
          heads((text) => text.replace(/^— .*$/gm, () => signedBy(key.path, "x"))),
          trust,
        ),
      ).toEqual([1, 1]);
      const gone = copyOf(root);
      for (const file of headsOf(join(gone, "receipts"))) rmSync(join(gone, "receipts", file));
      expect(await both(gone, trust)).toEqual([2, 2]);
    });

    test("say the same of heads that are gone, swapped, behind, or another log's", async () => {
      const { recorded, key, trust } = await subject();
      const heads = headsOf(recorded.receipts);
      const [all = "", latest = ""] = [
        heads.find((name) => name.endsWith(".heads")),
        heads.find((name) => name.endsWith(".head")),
      ];
      const after = (change: (receipts: string) => void): Promise<readonly number[]> => {
        const copy = copyOf(recorded.root);
        change(join(copy, "receipts"));
        return both(copy, trust);
      };
      const entries = [
        ...readFileSync(join(recorded.receipts, all), "utf8").matchAll(/.+\n.+\n.+\n\n(?:— .+\n)*/g),
      ].map(String);
      const [first = "", second = "", ...more] = entries;
      expect(more.length).toBeGreaterThan(1);
      for (const file of heads) expect(await after((receipts) => rmSync(join(receipts, file)))).toEqual([2, 2]);
      expect(await after((receipts) => writeFileSync(join(receipts, all), [second, first, ...more].join("")))).toEqual([
        1, 1,
      ]);
      expect(
        await after((receipts) => writeFileSync(join(receipts, all), [first, first, second, ...more].join(""))),
      ).toEqual([1, 1]);
      expect(await after((receipts) => writeFileSync(join(receipts, latest), second))).toEqual([0, 0]);
      const other = await signedLog(7, key);
      const [strange = ""] = headsOf(other.receipts).filter((name) => name.endsWith(".head"));
      const borrowed = readFileSync(join(other.receipts, strange));
      expect(await after((receipts) => writeFileSync(join(receipts, latest), borrowed))).toEqual([1, 1]);
    });

    test("say the same of a whole log that somebody made with a fresh key of the same name", async () => {
      const { trust } = await subject();
      const forged = await signedLog(7, newKey("host-1"));
      expect(await both(forged.root, trust)).toEqual([2, 2]);
    });
  },
);

function spoiled(text: string): readonly string[] {
  return [
    text.replace('\\"attempts\\":1', '\\"attempts\\":2'),
    text.replace(/index (\d+)/, (_, index: string) => `index ${Number(index) ^ 1}`),
    text.replace(/(index \d+\\n)[^\\]+\\n/, "$1"),
  ];
}
