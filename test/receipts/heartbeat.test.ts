// Laws of heartbeats: an open log is never silent for long, and says so when it was.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Heartbeat, type SegmentOpen, verifyLog } from "@toolspan/receipts";
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { build } from "../support/workspace.ts";
import { runProgram } from "./crash.ts";
import { everyRecord, logsIn, type Recorded, recording, temporaryFolder } from "./parts.ts";

const MINUTE = 60_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] }));
afterEach(() => void vi.useRealTimers());

const namesIn = ({ receipts }: Recorded): readonly string[] => everyRecord(receipts).map(({ record }) => record);
const heartbeatsIn = ({ receipts }: Recorded): readonly Heartbeat[] =>
  everyRecord(receipts).flatMap((record) => (record.record === "heartbeat" ? [record] : []));

/** Lets time pass, and waits until what it started is on disk. */
async function pass(recorded: Recorded, ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  await recorded.dispatch.flush();
}

/** Lines that the latest head covers. */
function headOf({ receipts }: Recorded): number {
  const [first] = everyRecord(receipts);
  return Number(readFileSync(join(receipts, `${first?.chain.log}.head`), "utf8").split("\n")[1]);
}

describe("an idle log", () => {
  test("gets a heartbeat five minutes after its last line, and every five minutes from then on, under a head", async () => {
    const recorded = recording();
    await recorded.call();
    await pass(recorded, 4 * MINUTE);
    await recorded.call();
    await pass(recorded, 4 * MINUTE + 59_000);
    expect(heartbeatsIn(recorded)).toEqual([]);
    await vi.advanceTimersByTimeAsync(2_000);
    await expect.poll(() => headOf(recorded)).toBe(4);
    expect(namesIn(recorded)).toEqual(["segment_open", "receipt", "receipt", "heartbeat"]);
    await pass(recorded, 10 * MINUTE);
    await recorded.close();
    expect(namesIn(recorded).slice(3)).toEqual(["heartbeat", "heartbeat", "heartbeat", "segment_close"]);
    for (const { reason, wall_ms, monotonic_ms } of heartbeatsIn(recorded)) {
      expect(reason).toBe("idle");
      expect(Math.abs(monotonic_ms - 5 * MINUTE)).toBeLessThan(100);
      expect(Math.abs(wall_ms - 5 * MINUTE)).toBeLessThan(100);
    }
    expect((everyRecord(recorded.receipts)[0] as SegmentOpen).heartbeat_ms).toBe(5 * MINUTE);
    expect(await verifyLog(recorded.root, { strict: true })).toMatchObject({ exitCode: 0, findings: [] });
  });

  test("is one of each session that is open, and none that is closed", async () => {
    const recorded = recording({ heartbeatMs: MINUTE });
    await recorded.call("add", "one");
    await recorded.call("add", "two");
    await pass(recorded, MINUTE + 1000);
    await recorded.close();
    await vi.advanceTimersByTimeAsync(10 * MINUTE);
    expect(logsIn(recorded.receipts)).toHaveLength(2);
    expect(heartbeatsIn(recorded)).toHaveLength(2);
  });

  test("stays silent where heartbeats are off, and says so in its first line", async () => {
    const recorded = recording({ heartbeatMs: 0 });
    await recorded.call();
    await pass(recorded, 24 * 60 * MINUTE - 1000);
    await recorded.close();
    expect(namesIn(recorded)).toEqual(["segment_open", "receipt", "segment_close"]);
    expect((everyRecord(recorded.receipts)[0] as SegmentOpen).heartbeat_ms).toBeNull();
  });
});

describe("a busy log", () => {
  test("has no heartbeats", async () => {
    const recorded = recording({ heartbeatMs: MINUTE });
    for (let i = 0; i < 20; i++) {
      await recorded.call();
      await vi.advanceTimersByTimeAsync(50_000);
    }
    await recorded.close();
    expect(heartbeatsIn(recorded)).toEqual([]);
  });
});

describe("a process that stood still", () => {
  beforeAll(build);

  test("says how long before its next line, whichever comes first: a call or the timer", async () => {
    vi.useRealTimers();
    const root = temporaryFolder();
    const { code, stderr } = await runProgram(["stand", root]);
    expect([code, stderr]).toEqual([0, ""]);
    const records = everyRecord(join(root, "receipts"));
    const late = records.flatMap((record) =>
      record.record === "heartbeat" && record.reason === "late" ? [record] : [],
    );
    expect(late.map(({ monotonic_ms }) => monotonic_ms >= 1200)).toEqual([true, true]);
    expect(records[(late[0] as Heartbeat).chain.seq + 1]?.record).toBe("receipt");
    expect(await verifyLog(root)).toMatchObject({ exitCode: 0, findings: [] });
  });

  test("does not stay alive for its heartbeats", async () => {
    vi.useRealTimers();
    const root = temporaryFolder();
    const { code, stdout } = await runProgram(["idle", root]);
    expect([code, stdout]).toEqual([0, "done\n"]);
    expect(await verifyLog(root)).toMatchObject({ exitCode: 0, findings: [] });
  });
});
