// Laws of a log of fifty lines under signed heads: whatever is changed in it is found at its place, in process and by the command.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { verifyLog } from "@toolspan/receipts";
import { beforeAll, describe, expect, test } from "vitest";
import { toolspan } from "../suite/command.ts";
import { build } from "../support/workspace.ts";
import { fiftyLines } from "./fifty-lines.ts";
import { bitFlips, lineEdits, type Mutation, missedBy, ofHead, type Verify } from "./mutations.ts";
import { copyOf, linesOf } from "./parts.ts";

const COMMANDS = 200;
const timeout = 240_000;

describe("a closed log of fifty lines under signed heads", () => {
  const trusting =
    (trust: string): Verify =>
    (folder) =>
      verifyLog(folder, { trust });

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
    const mutants = [bitFlips(receipts, log, (at, bit) => (at * 8 + bit) % 449 === 0), lineEdits(receipts, log)];
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
