// A disk that is full, that became read-only, a file that may not grow: calls fail with the reason, claims hold, and it is over when there is room again.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { ReceiptPolicy } from "@toolspan/receipts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asRoot, canCutPower, canMount, canRun, skipUnless } from "./capabilities.ts";
import { type Disk, Ext4Disk, memoryDisk } from "./disks.ts";
import { Ledger, NOTHING_WRONG } from "./ledger.ts";
import { RunningWriter } from "./running-writer.ts";
import { scaled } from "./scale.ts";
import { stateFolder } from "./state-folder.ts";
import type { Said, WriterOrders } from "./writer.ts";
import { type WriterProgram, writerProgram } from "./writer-program.ts";

let program: WriterProgram;
beforeAll(async () => {
  program = await writerProgram();
});
afterAll(() => program.remove());

const POLICIES: readonly ReceiptPolicy[] = ["required", "intent_first", "best_effort"];

interface Trouble {
  readonly stateDir: string;
  readonly policy: ReceiptPolicy;
  /** Runs the writer through another command. */
  readonly prefix?: readonly string[];
  begin?(writer: RunningWriter): void;
  end(writer: RunningWriter): void;
}

interface Outcome {
  readonly before: readonly Said[];
  readonly during: readonly Said[];
  readonly after: readonly Said[];
}

/** Calls before, in and after the trouble; the claims of all of them hold, and the folder is in order at the end. */
async function through({ stateDir, policy, prefix = [], begin, end }: Trouble): Promise<Outcome> {
  const orders: WriterOrders = {
    stateDir,
    tag: "f",
    policy,
    log: "session",
    sessions: 1,
    key: null,
    steps: [
      { calls: 3 },
      "wait",
      { calls: 30 },
      { calls: 30, inFlight: 8 },
      "flush",
      "wait",
      { calls: 5 },
      "flush",
      "close",
    ],
  };
  const writer = new RunningWriter(program.path, orders, prefix);
  await writer.heard("waiting");
  const begun = writer.said.length;
  begin?.(writer);
  writer.goOn();
  await writer.heard("waiting", 2);
  const over = writer.said.length;
  const ledger = new Ledger(stateDir);
  ledger.take(orders, writer.said);
  const { report: meanwhile, ...found } = await ledger.afterFault();
  expect(found).toEqual(NOTHING_WRONG);
  expect(meanwhile.exitCode, JSON.stringify(meanwhile.findings)).not.toBe(1);
  end(writer);
  writer.goOn();
  expect(await writer.ended).toEqual({ code: 0, signal: null, stderr: "" });
  ledger.take(orders, writer.said);
  const { report, lost, ...atEnd } = await ledger.atEnd();
  expect({ ...atEnd, lost }).toEqual({ ...NOTHING_WRONG, lost: [] });
  expect(report.exitCode, JSON.stringify(report.findings)).not.toBe(1);
  const { said } = writer;
  return { before: said.slice(0, begun), during: said.slice(begun, over), after: said.slice(over) };
}

const claimsIn = (said: readonly Said[]): number => said.filter(({ say }) => say === "claim").length;
const failuresIn = (said: readonly Said[]): readonly unknown[] => [
  ...new Set(said.flatMap((one) => (one.say === "no_claim" ? `${one.code} ${one.category}` : []))),
];
/** Handlers that ran although their call was refused its intent. */
const ranAnyway = (said: readonly Said[]): readonly string[] => {
  const ran = new Set(said.flatMap((one) => (one.say === "ran" ? one.call : [])));
  return said.flatMap((one) => (one.say === "no_claim" && !one.executed && ran.has(one.call) ? one.call : []));
};

function expectFailures({ before, during, after }: Outcome, policy: ReceiptPolicy, code: string): void {
  expect(ranAnyway(during)).toEqual([]);
  if (policy === "best_effort") {
    expect(during).toContainEqual(expect.objectContaining({ say: "trouble" }));
    return;
  }
  expect(failuresIn(during)).toEqual([`${code} receipt_failed`]);
  expect([claimsIn(before), claimsIn(after)]).toEqual([3, 5]);
  expect(failuresIn(after)).toEqual([]);
}

const SIZES =
  scaled(1, 0) === 1 ? ["16k", "32k"] : ["16k", "20k", "24k", "28k", "32k", "36k", "40k", "48k", "56k", "64k"];
const FULL_DISKS = POLICIES.flatMap((policy) => SIZES.map((size) => ({ policy, size })));

test.for(FULL_DISKS)(
  "under $policy, a full disk of $size fails calls with ENOSPC until there is room",
  async ({ policy, size }, context) => {
    skipUnless(context, asRoot, canMount);
    const disk = memoryDisk(join(stateFolder(), "disk"), size);
    try {
      const stateDir = join(disk.path, "state");
      const outcome = await through({ stateDir, policy, end: () => disk.remount("size=4m") });
      expectFailures(outcome, policy, "ENOSPC");
    } finally {
      disk.remove();
    }
  },
);

test.for(POLICIES)(
  "under %s, a file that may not grow fails calls with EFBIG until it may",
  async (policy, context) => {
    skipUnless(context, asRoot, canRun("prlimit"));
    const limit = (writer: RunningWriter, size: string): unknown =>
      execFileSync("prlimit", [`--pid=${writer.child.pid}`, `--fsize=${size}`]);
    const outcome = await through({
      stateDir: join(stateFolder(), "state"),
      policy,
      begin: (writer) => limit(writer, "6000:unlimited"),
      end: (writer) => limit(writer, "unlimited:unlimited"),
    });
    expectFailures(outcome, policy, "EFBIG");
    if (policy !== "best_effort") expect(claimsIn(outcome.during)).toBeGreaterThan(0); // each new log takes a few lines
  },
);

describe("a disk that becomes read-only", () => {
  test.for(POLICIES)(
    "under a log that is open fails calls with EROFS, and claims hold: %s",
    async (policy, context) => {
      skipUnless(context, asRoot, canCutPower);
      const disk = new Ext4Disk(stateFolder());
      try {
        const orders: WriterOrders = {
          stateDir: join(disk.path, "state"),
          tag: "r",
          policy,
          log: "session",
          sessions: 1,
          key: null,
          steps: [{ calls: 3 }, "flush", "wait", { calls: 5 }, { calls: 8, inFlight: 8 }, "flush", "close"],
        };
        const writer = new RunningWriter(program.path, orders);
        await writer.heard("waiting");
        disk.remount("abort"); // what ext4 does by itself after an error of its own
        writer.goOn();
        expect(await writer.ended).toEqual({ code: 0, signal: null, stderr: "" });
        if (policy !== "best_effort") expect(failuresIn(writer.said)).toEqual(["EROFS receipt_failed"]);
        expect(ranAnyway(writer.said)).toEqual([]);
        const ledger = new Ledger(orders.stateDir);
        ledger.take(orders, writer.said);
        disk.restart();
        const { report, ...found } = await ledger.afterFault();
        expect(found).toEqual(NOTHING_WRONG);
        expect(report.exitCode, JSON.stringify(report.findings)).not.toBe(1);
        const last = new RunningWriter(program.path, { ...orders, tag: "last", steps: [{ calls: 1 }, "close"] });
        expect(await last.ended).toMatchObject({ code: 0 });
        const { lost, ...atEnd } = await ledger.atEnd();
        expect({ ...atEnd, lost }).toMatchObject({ ...NOTHING_WRONG, lost: [] });
        expect(ledger.claims).toBe(3);
      } finally {
        disk.remove();
      }
    },
  );

  test("between two logs fails calls until it can be written again", async (context) => {
    skipUnless(context, asRoot, canMount);
    const disk: Disk = memoryDisk(join(stateFolder(), "disk"), "4m");
    try {
      const stateDir = join(disk.path, "state");
      const steps: WriterOrders["steps"] = [{ calls: 2 }, "close", "wait", { calls: 4 }, "wait", { calls: 3 }, "close"];
      const orders: WriterOrders = {
        stateDir,
        tag: "b",
        policy: "required",
        log: "session",
        sessions: 1,
        key: null,
        steps,
      };
      const writer = new RunningWriter(program.path, orders);
      await writer.heard("waiting");
      disk.remount("ro");
      writer.goOn();
      await writer.heard("waiting", 2);
      disk.remount("rw");
      writer.goOn();
      expect(await writer.ended).toEqual({ code: 0, signal: null, stderr: "" });
      expect(failuresIn(writer.said)).toEqual(["EROFS receipt_failed"]);
      const ledger = new Ledger(stateDir);
      ledger.take(orders, writer.said);
      const { report, lost, ...found } = await ledger.atEnd();
      expect({ ...found, lost, claims: ledger.claims }).toEqual({ ...NOTHING_WRONG, lost: [], claims: 5 });
      expect(report).toMatchObject({ exitCode: 0, findings: [] });
    } finally {
      disk.remove();
    }
  });
});
