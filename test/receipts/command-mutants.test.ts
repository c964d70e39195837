// Laws of a log of fifty lines under signed heads: whatever is changed in it is found at its place, in process and by the command.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileSigner, verifyLog } from "@toolspan/receipts";
import { beforeAll, describe, expect, test } from "vitest";
import { toolspan } from "../suite/command.ts";
import { build } from "../support/workspace.ts";
import { bitFlips, headsOf, lineEdits, type Mutation, missedBy, type Verify } from "./mutations.ts";
import { copyOf, linesOf, logsIn, recording } from "./parts.ts";
import { newKey } from "./signing.ts";

/** Every bit of every file, some 450,000 mutants, is a quarter of an hour; without it one bit in `SPARSE`, evenly over all bytes and bit numbers. */
const full = process.env.FAULTS === "full" || process.env.TOOLSPAN_TEST_EVERY_BIT !== undefined;
const SPARSE = 149;
const COMMANDS = 200;
const timeout = full ? 7_200_000 : 240_000;

interface Subject {
  readonly root: string;
  readonly receipts: string;
  readonly log: string;
  readonly heads: readonly string[];
  readonly trust: string;
}

/** A closed log of fifty lines under seven signed heads. */
async function fiftyLines(): Promise<Subject> {
  const key = newKey();
  const recorded = recording({ signer: fileSigner(key.path), layers: "compact" });
  for (let i = 1; i <= 48; i++) {
    await recorded.call();
    if (i % 7 === 0) await recorded.dispatch.flush();
  }
  await recorded.close();
  const { root, receipts } = recorded;
  const [log = ""] = logsIn(receipts);
  expect(linesOf(join(receipts, log))).toHaveLength(50);
  return { root, receipts, log, heads: headsOf(receipts), trust: key.verifierKey };
}

/** The bits that are tried: all of them, or every so manieth. */
function flips(receipts: string, file: string, every: number): Iterable<Mutation> {
  return bitFlips(receipts, file, (at, bit) => full || (at * 8 + bit) % every === 0);
}

/** As bits of a head: they can turn a key or an origin into an unknown one, and only the file is named. */
function ofHead(mutation: Mutation): Mutation {
  return { ...mutation, exitCode: null, line: null };
}

describe("a closed log of fifty lines under signed heads", () => {
  const trusting =
    (trust: string): Verify =>
    (folder) =>
      verifyLog(folder, { trust });

  test("every bit of its lines that is flipped is found at its line", { timeout }, async () => {
    const { root, receipts, log, trust } = await fiftyLines();
    const counted = { count: 0 };
    expect(await missedBy(trusting(trust), root, flips(receipts, log, SPARSE), counted)).toEqual([]);
    expect(counted.count).toBeGreaterThan(full ? 200_000 : 1_500);
  });

  test("every bit of its heads that is flipped is found in its file", { timeout }, async () => {
    const { root, receipts, heads, trust } = await fiftyLines();
    for (const file of heads) {
      const mutations = [...flips(receipts, file, 19)].map(ofHead);
      expect(await missedBy(trusting(trust), root, mutations)).toEqual([]);
    }
  });

  test("every line that is deleted, doubled, swapped or put in is found at its place", { timeout }, async () => {
    const { root, receipts, log, trust } = await fiftyLines();
    const counted = { count: 0 };
    expect(await missedBy(trusting(trust), root, lineEdits(receipts, log), counted)).toEqual([]);
    expect(counted.count).toBeGreaterThan(250);
  });
});

describe("a log of fifty lines that is still open", () => {
  test("is never passed, changed or not", { timeout }, async () => {
    const { root, receipts, log, heads, trust } = await fiftyLines();
    const lines = linesOf(join(receipts, log)).slice(0, -1);
    writeFileSync(join(receipts, log), lines.map((line) => `${line}\n`).join(""));
    for (const file of heads) rmSync(join(receipts, file));
    const verify: Verify = (folder) => verifyLog(folder, { trust });
    expect((await verify(root)).exitCode).toBe(2);
    const mutants = [flips(receipts, log, SPARSE * 3), lineEdits(receipts, log)];
    for (const some of mutants) {
      for (const { name, bytes } of some) {
        writeFileSync(join(receipts, log), bytes);
        expect((await verify(root)).exitCode, name).not.toBe(0);
      }
    }
  });
});

describe("toolspan verify", () => {
  beforeAll(build, 120_000);

  interface Said {
    readonly exit_code: number;
    readonly findings: readonly { readonly file: string; readonly line: number | null }[];
  }

  test(`exits with the right code and names file and line, for ${COMMANDS} changed logs`, {
    timeout: 900_000,
  }, async () => {
    const { root, receipts, log, heads, trust } = await fiftyLines();
    const edits = [...lineEdits(receipts, log)];
    const bits = [...bitFlips(receipts, log, (at, bit) => (at * 8 + bit) % 3557 === 0)];
    const ofHeads = heads.flatMap((file) => [
      ...[...bitFlips(receipts, file, (at, bit) => (at * 8 + bit) % 401 === 0)].map(ofHead),
    ]);
    const pick = (some: readonly Mutation[], count: number) =>
      Array.from({ length: count }, (_, i) => some[Math.floor((i * some.length) / count)] as Mutation);
    const chosen = [...pick(edits, 80), ...pick(bits, 100), ...pick(ofHeads, 20)];
    expect(new Set(chosen).size).toBe(COMMANDS);
    expect((await toolspan(["verify", root, "--trust", trust])).code).toBe(0);
    const wrong: unknown[] = [];
    const inLane = async (mutations: readonly Mutation[]): Promise<void> => {
      const copy = copyOf(root);
      for (const { name, file, bytes, exitCode, line } of mutations) {
        const path = join(copy, "receipts", file);
        const honest = readFileSync(path);
        writeFileSync(path, bytes);
        const { code, stdout, stderr } = await toolspan(["verify", copy, "--trust", trust, "--json"]);
        writeFileSync(path, honest);
        const said = JSON.parse(stdout) as Said;
        const first = said.findings.find((finding) => finding.file === `receipts/${file}`);
        const right = exitCode === null ? code !== 0 : code === exitCode;
        const placed = first !== undefined && (line === null || first.line === null || first.line === line);
        if (!right || !placed || said.exit_code !== code || stderr !== "")
          wrong.push({ name, file, line, code, stdout });
      }
    };
    await Promise.all([0, 1].map((lane) => inLane(chosen.filter((_, i) => i % 2 === lane))));
    expect(wrong).toEqual([]);
  });

  test("says file and line to people, too", { timeout: 60_000 }, async () => {
    const { root, receipts, log, trust } = await fiftyLines();
    const lines = linesOf(join(receipts, log));
    const changed = lines.with(24, (lines[24] as string).replace('"ok":true', '"ok":false'));
    writeFileSync(join(receipts, log), changed.map((line) => `${line}\n`).join(""));
    const { code, stdout } = await toolspan(["verify", root, "--trust", trust]);
    expect(code).toBe(1);
    expect(stdout).toContain(`receipts/${log}:25`);
  });
});
