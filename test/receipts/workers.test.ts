// Laws of verifying with several threads: the report is the one of a single thread, whatever is wrong with the logs.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileSigner, verifyLog } from "@toolspan/receipts";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { CHECKS } from "../../packages/receipts/src/verify/checks.ts";
import { loadTrust } from "../../packages/receipts/src/verify/trust/load-trust.ts";
import { Verification } from "../../packages/receipts/src/verify/verification.ts";
import { build, root as checkout } from "../support/workspace.ts";
import { bitFlips, headsOf, lineEdits } from "./mutations.ts";
import { copyOf, linesOf, logsIn, type Recorded, recording } from "./parts.ts";
import { newKey } from "./signing.ts";

/** Reports of one thread and of several, over the same folder. */
async function bothOf(made: typeof Verification, root: string, trust: string, blockBytes: number) {
  const parts = { checks: CHECKS, trust: loadTrust(trust, CHECKS) };
  const alone = await new made(root, { workers: 1, strict: true }, parts).run();
  const tuning = { blockBytes, minBytes: 0 };
  const shared = await new made(root, { workers: 3, strict: true }, { ...parts, tuning }).run();
  return { alone, shared };
}

/** Sessions of several lengths, one of them in several logs, under signed heads; intents too. */
async function subject(): Promise<{ readonly recorded: Recorded; readonly trust: string }> {
  const key = newKey();
  const recorded = recording({ signer: fileSigner(key.path), policy: "intent_first", maxSegmentBytes: 8192 });
  for (let i = 0; i < 24; i++) {
    await recorded.call("add", `session-${i % 5 === 4 ? i : i % 3}`);
    if (i % 7 === 0) await recorded.dispatch.flush();
  }
  await recorded.close();
  return { recorded, trust: key.verifierKey };
}

describe("several threads report what one does", () => {
  test("of honest logs, in blocks of any size", { timeout: 120_000 }, async () => {
    const { recorded, trust } = await subject();
    expect(logsIn(recorded.receipts).length).toBeGreaterThan(5);
    for (const blockBytes of [1, 300, 1024, 5000, 100_000]) {
      const { alone, shared } = await bothOf(Verification, recorded.root, trust, blockBytes);
      expect(alone.exitCode).toBe(0);
      expect(shared).toEqual(alone);
    }
  });

  test("of any change to any file", { timeout: 240_000 }, async () => {
    const { recorded, trust } = await subject();
    const { receipts, root } = recorded;
    const logs = logsIn(receipts);
    const change = fc.record({
      file: fc.constantFrom(...logs, ...headsOf(receipts)),
      kind: fc.constantFrom("bit", "line", "cut", "gone", "bytes"),
      at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      blockBytes: fc.integer({ min: 1, max: 6000 }),
    });
    const property = fc.asyncProperty(change, async ({ file, kind, at, blockBytes }) => {
      const path = join(receipts, file);
      const honest = readFileSync(path);
      const changed = changedBy(receipts, file, kind, at);
      if (changed === null) rmSync(path);
      else writeFileSync(path, changed);
      const { alone, shared } = await bothOf(Verification, root, trust, blockBytes);
      writeFileSync(path, honest);
      expect(alone.exitCode).not.toBe(0);
      expect(shared).toEqual(alone);
    });
    await fc.assert(property, { numRuns: 60 });
  });

  test("of a live log and of overlong lines", { timeout: 60_000 }, async () => {
    const recorded = recording();
    for (let i = 0; i < 5; i++) await recorded.call();
    const live = copyOf(recorded.root);
    await recorded.close();
    const path = join(live, "receipts/session.jsonl");
    const [first = "", ...rest] = linesOf(path);
    for (const text of [
      readFileSync(path, "utf8"),
      [first, "x".repeat(200_000), ...rest].join("\n"),
      "y".repeat(90_000),
    ]) {
      writeFileSync(path, text);
      const { alone, shared } = await bothOf(Verification, live, newKey().verifierKey, 700);
      expect(shared).toEqual(alone);
    }
  });
});

function changedBy(receipts: string, file: string, kind: string, at: number): Buffer | null {
  const bytes = readFileSync(join(receipts, file));
  if (kind === "gone") return null;
  if (kind === "cut") return bytes.subarray(0, Math.floor(at * bytes.length));
  if (kind === "bytes") {
    const place = Math.floor(at * bytes.length);
    return Buffer.concat([bytes.subarray(0, place), Buffer.from("\n\u00ff{}\n"), bytes.subarray(place)]);
  }
  if (kind === "line" && file.endsWith(".jsonl")) {
    const edits = [...lineEdits(receipts, file)];
    return edits[Math.floor(at * edits.length)]?.bytes ?? null;
  }
  const wanted = Math.floor(at * bytes.length);
  const [flip] = bitFlips(receipts, file, (place, bit) => place === wanted && bit === place % 8);
  return flip?.bytes ?? null;
}

describe("threads of built code", () => {
  let built: { readonly Verification: typeof Verification };

  beforeAll(async () => {
    build();
    built = await import(join(checkout, "packages/receipts/dist/verify/verification.js"));
  }, 240_000);

  test("report what one does", { timeout: 120_000 }, async () => {
    const { recorded, trust } = await subject();
    const { alone, shared } = await bothOf(built.Verification, recorded.root, trust, 2000);
    expect(alone.exitCode).toBe(0);
    expect(shared).toEqual(alone);
    const file = logsIn(recorded.receipts)[1] as string;
    writeFileSync(join(recorded.receipts, file), changedBy(recorded.receipts, file, "line", 0.5) as Buffer);
    const changed = await bothOf(built.Verification, recorded.root, trust, 2000);
    expect(changed.alone.exitCode).toBe(1);
    expect(changed.shared).toEqual(changed.alone);
  });
});

test("more or fewer than 1 to 64 are refused", async () => {
  for (const workers of [0, 65, 1.5, "2" as unknown as number]) {
    await expect(verifyLog("/tmp", { workers })).rejects.toMatchObject({ details: { option: "workers" } });
  }
});
