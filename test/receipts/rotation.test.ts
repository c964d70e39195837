// Laws of rotation: a log that has its size or age is followed by the next one, and no line is lost on the way.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { diagnostics, ToolspanError } from "@toolspan/core";
import {
  fileSigner,
  type LoggedReceipt,
  localReceiptSink,
  type SegmentClose,
  type SegmentOpen,
  verifyLog,
  withAuditLog,
} from "@toolspan/receipts";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { gate } from "../support/kernel-parts.ts";
import { build } from "../support/workspace.ts";
import { linesFrom, runProgram, startProgram } from "./crash.ts";
import { everyReceipt, everyRecord, logsIn, type Recorded, recording, recordsOf, temporaryFolder } from "./parts.ts";
import { newKey } from "./signing.ts";

const small = { maxSegmentBytes: 1024 } as const;

afterEach(() => void vi.useRealTimers());

/** Logs in the order in which they name each other. */
function chainOf(receipts: string): readonly (readonly [SegmentOpen, ...unknown[], SegmentClose])[] {
  const logs = logsIn(receipts).map((file) => recordsOf(join(receipts, file)) as never);
  return logs.sort((a, b) => orderOf(a) - orderOf(b));
}

function orderOf([opening]: readonly [SegmentOpen]): number {
  return opening.previous === null ? 1 : Number(/\.(\d+)\.jsonl$/.exec(opening.previous.file)?.[1] ?? 1) + 1;
}

async function calls(recorded: Recorded, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await recorded.call();
}

/** Makes files in `disk` until it takes no more. */
function fillInodes(disk: string): readonly string[] {
  const made: string[] = [];
  try {
    for (;;) {
      const path = join(disk, `full-${made.length}`);
      writeFileSync(path, "");
      made.push(path);
    }
  } catch (error) {
    expect((error as NodeJS.ErrnoException).code).toBe("ENOSPC");
    return made;
  }
}

/** No receipt is missing, and none stands twice. */
function expectEveryCall(receipts: string, count: number): void {
  const numbers = everyReceipt(receipts).map(({ emit_order }) => emit_order as number);
  expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, i) => i + 1));
}

describe("a log that has its size", () => {
  test("is closed in favour of the next one, which states its lines and root", async () => {
    const recorded = recording(small);
    await calls(recorded, 9);
    await recorded.close();
    const logs = chainOf(recorded.receipts);
    expect(logs.length).toBeGreaterThan(2);
    for (const [i, log] of logs.entries()) {
      const close = log.at(-1) as SegmentClose;
      const next = logs[i + 1]?.[0];
      expect(close).toMatchObject({ record: "segment_close", reason: next === undefined ? "end" : "rotated" });
      expect(close.next?.log).toBe(next?.chain.log);
      if (next !== undefined) {
        expect(next.previous).toMatchObject({ log: close.chain.log, lines: log.length, state: "closed" });
      }
    }
    expectEveryCall(recorded.receipts, 9);
    const counts = { receipts: 9, logs: logs.length };
    expect(await verifyLog(recorded.root, { strict: true })).toMatchObject({ exitCode: 0, findings: [], counts });
  });

  test("keeps to it but for the last line", async () => {
    const recorded = recording({ maxSegmentBytes: 20_000 });
    await calls(recorded, 100);
    await recorded.close();
    const sizes = logsIn(recorded.receipts).map((file) => statSync(join(recorded.receipts, file)).size);
    expect(sizes.length).toBeGreaterThan(2);
    expect(Math.max(...sizes)).toBeLessThan(22_000);
  });

  test.each(["required", "best_effort", "intent_first"] as const)(
    "loses no line of calls that run at the same time, policy %s",
    async (policy) => {
      const recorded = recording({ ...small, policy });
      const results = await Promise.all(
        Array.from({ length: 8 }, async () => {
          const claims: (string | undefined)[] = [];
          for (let i = 0; i < 12; i++) claims.push((await recorded.call()).audit?.receipt_uri);
          return claims;
        }),
      );
      const claims = results.flat();
      const kept = new Set(everyReceipt(recorded.receipts).map(({ audit }) => audit?.receipt_uri));
      expect(claims.filter((uri) => (uri === undefined) !== (policy === "best_effort"))).toEqual([]);
      expect(claims.filter((uri) => uri !== undefined && !kept.has(uri))).toEqual([]);
      await recorded.close();
      expectEveryCall(recorded.receipts, 96);
      expect(logsIn(recorded.receipts).length).toBeGreaterThan(5);
      expect(await verifyLog(recorded.root)).toMatchObject({ exitCode: 0, findings: [] });
    },
  );

  test("leaves intents behind whose receipts stand in the next one", async () => {
    const recorded = recording({ ...small, policy: "intent_first" });
    const open = gate<void>();
    const slow = recorded.call("add", "session", () => open.opened);
    await calls(recorded, 6);
    open.open();
    await slow;
    await recorded.close();
    const [first] = chainOf(recorded.receipts);
    const intent = first?.[1] as { readonly record: string; readonly dispatch_id: string };
    expect(intent.record).toBe("intent");
    const receipt = everyReceipt(recorded.receipts).find(({ dispatch_id }) => dispatch_id === intent.dispatch_id);
    expect(receipt?.chain.log).not.toBe(first?.[0].chain.log);
    expect(await verifyLog(recorded.root)).toMatchObject({ exitCode: 0, findings: [], counts: { intents: 7 } });
  });

  test("is one log of all sessions as well, or one session's own sink", async () => {
    const whole = recording({ ...small, log: "process" });
    for (let i = 0; i < 9; i++) await whole.call("add", `s${i}`);
    await whole.close();
    expect(logsIn(whole.receipts)).toContain("_process.3.jsonl");
    expect(await verifyLog(whole.root)).toMatchObject({ exitCode: 0, counts: { receipts: 9 } });
    const stateDir = temporaryFolder();
    const one = recording({ sink: localReceiptSink("ledger", { stateDir, ...small }), stateDir });
    await calls(one, 9);
    await one.close();
    expect(logsIn(one.receipts)).toContain("ledger.3.jsonl");
    expect(await verifyLog(one.root)).toMatchObject({ exitCode: 0, counts: { receipts: 9 } });
  });

  test("has its last head signed, by a signer that takes its time as well", async () => {
    const { path, verifierKey } = newKey();
    const real = fileSigner(path);
    const slow = { keyName: real.keyName, verifierKey, sign: async (bytes: Uint8Array) => real.sign(bytes) };
    for (const signer of [real, slow]) {
      const recorded = recording({ ...small, signer });
      await calls(recorded, 9);
      await recorded.close();
      expect(await verifyLog(recorded.root, { trust: verifierKey })).toMatchObject({
        exitCode: 0,
        authenticity: "ok",
        findings: [],
      });
    }
  });

  test("goes on where the next file cannot be made, says so, and is followed once it can", async (context) => {
    const disk = join(temporaryFolder(), "disk");
    mkdirSync(disk);
    const mount = ["-t", "tmpfs", "-o", "nr_inodes=16", "tmpfs", disk];
    if (spawnSync("mount", mount, { stdio: "ignore" }).status !== 0) {
      context.skip("no file system with few inodes can be mounted here");
      return;
    }
    const said: string[] = [];
    const restore = diagnostics.listen(({ kind }) => said.push(kind));
    diagnostics.reset();
    try {
      const recorded = recording({ ...small, stateDir: join(disk, "state") });
      await recorded.call();
      const fill = fillInodes(disk);
      await calls(recorded, 10);
      for (const file of fill) rmSync(file);
      expect(logsIn(recorded.receipts)).toHaveLength(1);
      await calls(recorded, 3);
      await recorded.close();
      expect(said).toContain("rotation_failed");
      expectEveryCall(recorded.receipts, 14);
      expect(logsIn(recorded.receipts).length).toBeGreaterThan(1);
      expect(await verifyLog(recorded.root)).toMatchObject({ exitCode: 0, findings: [] });
    } finally {
      restore();
      spawnSync("umount", [disk]);
    }
  });
});

describe("a log that has its age", () => {
  const aged = { maxSegmentAgeMs: 3_600_000, heartbeatMs: 300_000 } as const;
  const fake = (): unknown => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });

  test("is followed by the next one at the next call", async () => {
    fake();
    const recorded = recording({ ...aged, heartbeatMs: 0 });
    await recorded.call();
    vi.advanceTimersByTime(3_599_000);
    await recorded.call();
    vi.advanceTimersByTime(2_000);
    await recorded.call();
    await recorded.close();
    const records = (file: string): readonly string[] =>
      recordsOf(join(recorded.receipts, file)).map(({ record }) => record);
    expect(records("session.jsonl")).toEqual(["segment_open", "receipt", "receipt", "segment_close"]);
    expect(records("session.2.jsonl")).toEqual(["segment_open", "receipt", "segment_close"]);
    expect(await verifyLog(recorded.root)).toMatchObject({ exitCode: 0, findings: [] });
  });

  test.each([
    ["process", "a new log of all sessions goes on", 2],
    ["session", "a session's next log waits for its next call", 1],
  ] as const)("and is silent: scope %s, %s", async (log, _, count) => {
    fake();
    const recorded = recording({ ...aged, log });
    await recorded.call();
    await vi.advanceTimersByTimeAsync(3_600_000 + 300_000);
    await expect.poll(() => closes(recorded).map(({ reason }) => reason)).toEqual(["rotated"]);
    expect(logsIn(recorded.receipts)).toHaveLength(count);
    await recorded.call();
    await recorded.close();
    expect(everyReceipt(recorded.receipts)).toHaveLength(2);
    expect(await verifyLog(recorded.root)).toMatchObject({ exitCode: 0, findings: [], counts: { logs: 2 } });
  });

  const closes = ({ receipts }: Recorded): readonly SegmentClose[] =>
    everyRecord(receipts).flatMap((record) => (record.record === "segment_close" ? [record] : []));
});

describe("a chain of logs", () => {
  beforeAll(build);

  test("that lacks one of them cannot be vouched for as a whole; that lacks its lines is damaged", async () => {
    const recorded = recording(small);
    await calls(recorded, 9);
    await recorded.close();
    const gone = recordsOf(join(recorded.receipts, "session.2.jsonl"))[0] as SegmentOpen;
    rmSync(join(recorded.receipts, "session.2.jsonl"));
    expect((await verifyLog(recorded.root)).exitCode).toBe(1);
    for (const name of readdirSync(recorded.receipts)) {
      if (name.startsWith(gone.chain.log)) rmSync(join(recorded.receipts, name));
    }
    const report = await verifyLog(recorded.root);
    expect(report).toMatchObject({ exitCode: 2, completeness: "unknown", integrity: "ok" });
    expect(report.findings.map(({ verdict, file }) => [verdict, file])).toEqual([
      ["MISSING_SEGMENT", "receipts/session.3.jsonl"],
      ["MISSING_SEGMENT", "receipts/session.jsonl"],
    ]);
  });

  test("is cut in the middle of a line: found in the middle of the chain, repaired and noted at its end", async () => {
    const root = temporaryFolder();
    const { child, ended } = startProgram(["live", root, "required", "5", "1024"]);
    await linesFrom(child, 5);
    child.kill("SIGKILL");
    await ended;
    const receipts = join(root, "receipts");
    const last = logsIn(receipts).length;
    expect(last).toBeGreaterThan(2);
    writeFileSync(join(receipts, `session.${last}.jsonl`), '{"agent_name":null,"args_h', { flag: "a" });
    expect((await verifyLog(root)).exitCode).toBe(2);
    const recorded = recording({ stateDir: root, ...small });
    await calls(recorded, 9);
    await recorded.close();
    const report = await verifyLog(root);
    expect(report).toMatchObject({ exitCode: 0, findings: [] });
    expect(report.notes.map(({ verdict }) => verdict)).toContain("RECOVERED");
    const middle = join(receipts, "session.3.jsonl");
    const { size } = statSync(middle);
    const whole = recordsOf(middle).length;
    truncateSync(middle, size - 40);
    const damaged = await verifyLog(root);
    expect(damaged.exitCode).toBe(1);
    expect(damaged.findings).toContainEqual(
      expect.objectContaining({ verdict: "TRUNCATED", file: "receipts/session.3.jsonl", line: whole }),
    );
  });

  test.each(["", '{"chain":{"log":"01'])(
    "whose writer died over the first line of the next one is vouched for by whoever comes next: %j",
    async (torn) => {
      const recorded = recording(small);
      await calls(recorded, 9);
      await recorded.close();
      const last = `session.${logsIn(recorded.receipts).length}.jsonl`;
      const { chain } = recordsOf(join(recorded.receipts, last))[0] as SegmentOpen;
      for (const name of readdirSync(recorded.receipts)) {
        if (name.startsWith(chain.log)) rmSync(join(recorded.receipts, name));
      }
      writeFileSync(join(recorded.receipts, last), torn);
      const before = await verifyLog(recorded.root);
      expect(before).toMatchObject({ exitCode: 2, findings: [{ verdict: "NO_LINES", file: `receipts/${last}` }] });
      for (let i = 0; i < 2; i++) {
        await recorded.call();
        await recorded.close();
      }
      const recoveries = everyRecord(recorded.receipts).filter(({ record }) => record === "recovery");
      expect(recoveries).toMatchObject([{ file: last, log: null, lines: 0, torn_bytes: torn.length }]);
      const report = await verifyLog(recorded.root);
      expect(report).toMatchObject({ exitCode: 0, findings: [] });
      expect(report.notes).toContainEqual(expect.objectContaining({ verdict: "RECOVERED", file: `receipts/${last}` }));
    },
  );

  test("of several processes on one session are kept apart: each receipt once, each chain whole", {
    timeout: 60_000,
  }, async () => {
    const root = temporaryFolder();
    const run = () => runProgram(["close", root, "required", "20", "1024"]);
    const ran = await Promise.all([run(), run(), run()]);
    expect(ran.map(({ code, stderr }) => [code, stderr])).toEqual([0, 0, 0].map((code) => [code, ""]));
    const receipts = join(root, "receipts");
    const ids = everyReceipt(receipts).map(({ dispatch_id }: LoggedReceipt) => dispatch_id);
    expect(new Set(ids).size).toBe(60);
    expect(ids).toHaveLength(60);
    for (const file of logsIn(receipts)) {
      const records = recordsOf(join(receipts, file));
      const { previous, writer } = records[0] as SegmentOpen;
      const before = previous === null ? [] : recordsOf(join(receipts, previous.file));
      const { next, reason } = (before.at(-1) as SegmentClose) ?? {};
      if (reason === "rotated" && next?.file === file) {
        expect((before[0] as SegmentOpen).writer).toEqual(writer);
        expect(previous).toMatchObject({ lines: before.length, state: "closed" });
      }
    }
    expect(await verifyLog(root)).toMatchObject({ exitCode: 0, findings: [], counts: { receipts: 60 } });
  });
});

test.each([
  ["maxSegmentBytes", [0, 1023, 1.5, Number.NaN, "1k", -1]],
  ["maxSegmentAgeMs", [0, 999, 2 ** 31, "1d", null]],
  ["heartbeatMs", [-1, 0.5, 2 ** 31, Number.POSITIVE_INFINITY, "5m"]],
])("%s is checked when the recorder is made", (option, values) => {
  for (const value of values) {
    for (const make of [withAuditLog, (options: object) => localReceiptSink("session", options)]) {
      try {
        make({ stateDir: temporaryFolder(), [option]: value });
        expect.unreachable(String(value));
      } catch (error) {
        expect(ToolspanError.is(error, "TOOLSPAN_INVALID_OPTION"), String(error)).toBe(true);
        expect((error as Error).message).toContain(`: ${option} must be an integer of `);
      }
    }
  }
});
