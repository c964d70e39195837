// Laws of what a new log makes of the folder that it finds: numbers are not used again, and nothing that lies there holds it up.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { verifyLog } from "@toolspan/receipts";
import { beforeAll, describe, expect, test } from "vitest";
import { leafHash } from "../../packages/receipts/src/log/merkle.ts";
import { inspectLog } from "../../packages/receipts/src/log/predecessor.ts";
import { build } from "../support/workspace.ts";
import { runProgram } from "./crash.ts";
import { headsOf } from "./mutations.ts";
import { closedLog, linesOf, logsIn, recording, recordsOf, temporaryFolder } from "./parts.ts";

function compress(path: string): void {
  writeFileSync(`${path}.gz`, gzipSync(readFileSync(path)));
  rmSync(path);
}

async function oneMore(root: string): Promise<void> {
  const recorded = recording({ stateDir: root });
  await recorded.call();
  await recorded.close();
}

describe("the number of a new log", () => {
  beforeAll(build);

  test("follows the highest one, also where the first log was compressed or is gone", async () => {
    const { root, receipts } = await closedLog(1);
    compress(join(receipts, "session.jsonl"));
    await oneMore(root);
    expect(logsIn(receipts)).toEqual(["session.2.jsonl"]);
    compress(join(receipts, "session.2.jsonl"));
    await oneMore(root);
    expect(logsIn(receipts)).toEqual(["session.3.jsonl"]);
    rmSync(join(receipts, "session.jsonl.gz"));
    await oneMore(root);
    expect(logsIn(receipts)).toEqual(["session.3.jsonl", "session.4.jsonl"]);
  });

  test("follows it in one process as well, when its logs are compressed meanwhile", async () => {
    const first = recording();
    await first.call();
    await first.close();
    compress(join(first.receipts, "session.jsonl"));
    await oneMore(first.root);
    expect(logsIn(first.receipts)).toEqual(["session.2.jsonl"]);
    expect(await verifyLog(first.root)).toMatchObject({ exitCode: 0, findings: [] });
  });

  test("leaves a log of a writer that died to be vouched for when the one before it was compressed", async () => {
    const { root, receipts } = await closedLog(1);
    await runProgram(["die", root]);
    compress(join(receipts, "session.jsonl"));
    await oneMore(root);
    expect(recordsOf(join(receipts, "session.3.jsonl"))[1]).toMatchObject({
      record: "recovery",
      file: "session.2.jsonl",
    });
    const report = await verifyLog(root);
    expect(report.notes.map(({ verdict }) => verdict)).toContain("RECOVERED");
    expect(report.findings.map(({ verdict }) => verdict)).not.toContain("UNCLOSED");
  });
});

describe("what lies in place of the head of the log before", () => {
  test.each<[string, (path: string) => void]>([
    ["a fifo", (path) => void spawnSync("mkfifo", [path])],
    ["a link to an endless device", (path) => symlinkSync("/dev/zero", path)],
    ["a folder", (path) => mkdirSync(path)],
    ["a flood", (path) => writeFileSync(path, Buffer.alloc(1 << 20, 0x61))],
  ])("does not hold up a new log: %s", { timeout: 10_000 }, async (_, plant) => {
    const { root, receipts } = await closedLog(2);
    const head = join(receipts, headsOf(receipts).find((name) => name.endsWith(".head")) as string);
    rmSync(head);
    plant(head);
    await oneMore(root);
    expect(recordsOf(join(receipts, "session.2.jsonl"))[0]).toMatchObject({ previous: { lines: 4, state: "closed" } });
  });
});

describe("a log before that holds a line without an end", () => {
  test("is read no further than a line goes, and its whole lines count", () => {
    const folder = temporaryFolder();
    const path = join(folder, "long.jsonl");
    writeFileSync(path, "one\ntwo\n");
    truncateSync(path, 8 * 2 ** 30);
    const found = inspectLog(folder, "long.jsonl");
    expect(found).toMatchObject({ lines: 2 });
    expect(found.torn.length).toBe(65_537);
  });

  test("is not read beyond a line that is too long, and one of the longest size still is one", () => {
    const folder = temporaryFolder();
    const longest = "a".repeat(65_536);
    writeFileSync(join(folder, "a.jsonl"), `${longest}\n`.repeat(40));
    expect(inspectLog(folder, "a.jsonl")).toMatchObject({ lines: 40, torn: { length: 0 } });
    writeFileSync(join(folder, "b.jsonl"), `one\n${longest}a\nthree\n`);
    const found = inspectLog(folder, "b.jsonl");
    expect(found).toMatchObject({ lines: 1, root: leafHash(Buffer.from("one")) });
    expect(Buffer.from(found.torn).toString()).toBe(`${longest}a`);
  });

  test("is vouched for, and the verifier sees what the successor saw", async () => {
    const { root, receipts } = await closedLog(1);
    const path = join(receipts, "session.jsonl");
    // As a power cut leaves it: the size was on disk, the bytes were not, and the writer is gone.
    await runProgram(["die", root]);
    const died = join(receipts, "session.2.jsonl");
    expect(linesOf(path).length).toBe(3);
    truncateSync(died, 3 << 20);
    await oneMore(root);
    const [, recovery] = recordsOf(join(receipts, "session.3.jsonl"));
    expect(recovery).toMatchObject({ record: "recovery", file: "session.2.jsonl", torn_bytes: 65_537 });
    const report = await verifyLog(root);
    expect(report.findings.filter(({ file }) => file.includes("session.2")).map(({ verdict }) => verdict)).toEqual([]);
    expect(report.notes.map(({ verdict }) => verdict)).toContain("RECOVERED");
  });
});
