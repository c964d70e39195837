// Eight processes on one session: each has a log of its own, and nothing is lost between them.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Ledger, NOTHING_WRONG } from "./ledger.ts";
import { RunningWriter } from "./running-writer.ts";
import { scaled } from "./scale.ts";
import { stateFolder } from "./state-folder.ts";
import type { WriterOrders } from "./writer.ts";
import { type WriterProgram, writerProgram } from "./writer-program.ts";

const WRITERS = 8;
const RECEIPTS = scaled(16_000, 100_000);

let program: WriterProgram;
beforeAll(async () => {
  program = await writerProgram();
});
afterAll(() => program.remove());

test(`${RECEIPTS} receipts of ${WRITERS} processes on one session: one log each, all of them check out, nothing lost`, {
  timeout: 600_000,
}, async () => {
  const stateDir = join(stateFolder(), "state");
  const basics = { stateDir, policy: "required", log: "session", sessions: 1, key: null } as const;
  const steps: WriterOrders["steps"] = [{ calls: RECEIPTS / WRITERS, inFlight: 16 }, "flush", "close"];
  const writers = Array.from(
    { length: WRITERS },
    (_, n) => new RunningWriter(program.path, { ...basics, tag: `w${n}`, steps }),
  );
  const ledger = new Ledger(stateDir);
  for (const writer of writers) {
    expect(await writer.ended).toEqual({ code: 0, signal: null, stderr: "" });
    ledger.take(writer.orders, writer.said);
  }
  const { report, lost, ...found } = await ledger.atEnd();
  expect({ ...found, lost }).toEqual({ ...NOTHING_WRONG, lost: [] });
  expect(ledger.claims).toBe(RECEIPTS);
  expect(report).toMatchObject({ exitCode: 0, findings: [], counts: { logs: WRITERS, receipts: RECEIPTS } });
  expect(readdirSync(join(stateDir, "receipts")).filter((name) => name.endsWith(".jsonl"))).toHaveLength(WRITERS);
});

test("eight of which some are killed: the dead are vouched for, and what they claimed is there", {
  timeout: 120_000,
}, async () => {
  const stateDir = join(stateFolder(), "state");
  const basics = { stateDir, policy: "required", log: "session", sessions: 1, key: null } as const;
  const ledger = new Ledger(stateDir);
  const writers = Array.from(
    { length: WRITERS },
    (_, n) => new RunningWriter(program.path, { ...basics, tag: `d${n}`, steps: ["forever"] }),
  );
  await Promise.all(writers.map((writer, n) => writer.heard("claim", 20 + n * 20)));
  for (const writer of writers) {
    await writer.kill();
    ledger.take(writer.orders, writer.said);
  }
  const { report: before, ...after } = await ledger.afterFault();
  expect(after).toEqual(NOTHING_WRONG);
  expect(before.exitCode).toBe(2);
  const last = new RunningWriter(program.path, { ...basics, tag: "last", steps: [{ calls: 1 }, "close"] });
  expect(await last.ended).toEqual({ code: 0, signal: null, stderr: "" });
  ledger.take(last.orders, last.said);
  const { report, lost, ...found } = await ledger.atEnd();
  expect({ ...found, lost }).toEqual({ ...NOTHING_WRONG, lost: [] });
  expect(report, JSON.stringify(report.findings)).toMatchObject({ exitCode: 0, findings: [] });
});
