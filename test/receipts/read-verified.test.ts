// Laws of reading for programs: what is given was verified, and what is left out is told.
import { appendFileSync, cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type LoggedReceipt,
  type ReadVerifiedOptions,
  readReceipts,
  readVerified,
  type UnverifiedLines,
  type VerifiedLine,
  type VerifyReport,
} from "@toolspan/receipts";
import { expect, test } from "vitest";
import { runProgram } from "./crash.ts";
import { closedLog, copyOf, linesOf, recording, temporaryFolder } from "./parts.ts";

interface Read {
  readonly receipts: readonly VerifiedLine<LoggedReceipt>[];
  readonly left: readonly UnverifiedLines[];
  readonly report: VerifyReport | undefined;
}

async function read(path: string, options: ReadVerifiedOptions = {}): Promise<Read> {
  const left: UnverifiedLines[] = [];
  let report: VerifyReport | undefined;
  const receipts: VerifiedLine<LoggedReceipt>[] = [];
  for await (const one of readReceipts(path, {
    ...options,
    onReport: (said) => {
      report = said;
    },
    onUnverified: (lines) => left.push(lines),
  })) {
    receipts.push(one);
  }
  return { receipts, left, report };
}

/** Two closed logs, `session` and `other`, of three receipts each. */
async function twoLogs(): Promise<string> {
  const recorded = recording();
  for (const session of ["session", "session", "session", "other", "other", "other"])
    await recorded.call("add", session);
  await recorded.close();
  return recorded.root;
}

const edit = (path: string, change: (lines: string[]) => readonly string[]): void =>
  writeFileSync(
    path,
    change([...linesOf(path)])
      .map((line) => `${line}\n`)
      .join(""),
  );

test("gives every receipt of an honest folder, oldest log first, with file and line", async () => {
  const root = await twoLogs();
  const { receipts, left, report } = await read(root);
  expect(receipts.map(({ file, line }) => `${file}:${line}`)).toEqual([
    ...[2, 3, 4].map((line) => `session.jsonl:${line}`),
    ...[2, 3, 4].map((line) => `other.jsonl:${line}`),
  ]);
  for (const { file, line, record } of receipts)
    expect(JSON.stringify(record)).toBe(linesOf(join(root, "receipts", file))[line - 1]);
  expect({ left, exitCode: report?.exitCode }).toEqual({ left: [], exitCode: 0 });
  expect((await read(join(root, "receipts", "other.jsonl"))).receipts).toHaveLength(3);
});

test("tells the verdict before the first receipt comes, and reads no further than it is asked", async () => {
  const root = await twoLogs();
  let told = false;
  for await (const _ of readReceipts(root, { onReport: () => (told = true) })) {
    expect(told).toBe(true);
    break;
  }
});

test("gives nothing of a log that contradicts itself, and all of the others", async () => {
  const root = await twoLogs();
  for (const line of [1, 2, 4, 5]) {
    const copy = copyOf(root);
    edit(join(copy, "receipts/session.jsonl"), (lines) =>
      lines.map((text, i) => (i === line - 1 ? text.replace(/"emitted_at":"20/, '"emitted_at":"21') : text)),
    );
    const { receipts, left, report } = await read(copy);
    expect(receipts.map(({ file }) => file)).toEqual(["other.jsonl", "other.jsonl", "other.jsonl"]);
    expect(left).toMatchObject([
      { file: "session.jsonl", line: 1, lines: 5, problem: expect.stringContaining("contradicts") },
    ]);
    expect(report?.exitCode).toBe(1);
  }
});

test("gives nothing of a log whose head was changed, and all of the others", async () => {
  const root = await twoLogs();
  const [opening = ""] = linesOf(join(root, "receipts/session.jsonl"));
  const { log } = (JSON.parse(opening) as LoggedReceipt).chain;
  const head = join(root, "receipts", `${log}.head`);
  writeFileSync(head, readFileSync(head, "utf8").replace("\n5\n", "\n4\n"));
  const { receipts } = await read(root);
  expect(new Set(receipts.map(({ file }) => file))).toEqual(new Set(["other.jsonl"]));
});

test("gives nothing at all where two copies differ and nobody can say which is right", async () => {
  const root = await twoLogs();
  cpSync(join(root, "receipts/other.jsonl"), join(root, "receipts/copy.jsonl"));
  const { receipts, left } = await read(root);
  expect(receipts).toEqual([]);
  expect(left.every(({ problem }) => problem.includes("CONFLICT"))).toBe(true);
  expect(left.reduce((sum, { lines }) => sum + lines, 0)).toBe(15);
});

test("does not give the last line of a log as long as nothing vouches for it", async () => {
  const { root } = await closedLog(3);
  for (const name of readdirSync(join(root, "receipts"))) {
    if (!name.endsWith(".jsonl")) rmSync(join(root, "receipts", name));
  }
  edit(join(root, "receipts/session.jsonl"), (lines) => lines.slice(0, -1));
  const { receipts, left, report } = await read(root);
  expect(receipts.map(({ line }) => line)).toEqual([2, 3]);
  expect(left).toEqual([
    { file: "session.jsonl", line: 4, lines: 1, problem: "no later line, no head and no later log vouches for it" },
  ]);
  expect(report?.exitCode).toBe(2);
});

test("leaves out a line that is put behind the end", async () => {
  const { root } = await closedLog(2);
  appendFileSync(join(root, "receipts/session.jsonl"), '{"record":"receipt"}\n');
  const { receipts, report } = await read(root);
  expect({ receipts, exitCode: report?.exitCode }).toEqual({ receipts: [], exitCode: 1 });
});

test("ends quietly where there is nothing: the report says so", async () => {
  const { receipts, report } = await read(recording().root);
  expect(receipts).toEqual([]);
  expect(report?.findings).toMatchObject([{ verdict: "EMPTY" }]);
  expect((await read("/not/there")).report?.exitCode).toBe(2);
});

test("readVerified gives the records of every kind, readReceipts the receipts among them", async () => {
  const recorded = recording({ policy: "intent_first" });
  await recorded.call();
  await recorded.close();
  const kinds: string[] = [];
  for await (const { record } of readVerified(recorded.root)) kinds.push(record.record);
  expect(kinds).toEqual(["segment_open", "intent", "receipt", "segment_close"]);
});

test("gives the last receipt of a writer that died once a later log vouches for it", async () => {
  const root = temporaryFolder();
  await runProgram(["die", root]);
  appendFileSync(join(root, "receipts", "session.jsonl"), '{"agent_name":nu');
  expect(await read(root)).toMatchObject({ receipts: [], left: [{ line: 2 }] });
  await runProgram(["close", root]);
  const { receipts, left, report } = await read(root);
  expect(receipts.map(({ file, line }) => `${file}:${line}`)).toEqual([
    "session.jsonl:2",
    ...[3, 4, 5].map((line) => `session.2.jsonl:${line}`),
  ]);
  expect({ left, exitCode: report?.exitCode }).toEqual({ left: [], exitCode: 0 });
  const file = join(root, "receipts", "session.jsonl");
  writeFileSync(file, readFileSync(file, "utf8").replace('"work"', '"Work"'));
  expect((await read(root)).receipts.map(({ file: name }) => name)).not.toContain("session.jsonl");
});
