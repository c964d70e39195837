// Laws of time: clocks may jump, order is by number, and what a jump did to the times in a log is said in it.
import { type Heartbeat, type LoggedReceipt, type LogRecord, verifyLog } from "@toolspan/receipts";
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { gate } from "../support/kernel-parts.ts";
import { everyReceipt, everyRecord, type Recorded, recording } from "./parts.ts";

const DAY = 24 * 60 * 60 * 1000;

afterEach(() => void vi.useRealTimers());

/** The wall clock alone is under the test's hand; the monotonic one runs. */
const setWall = (ms: number): void => void vi.setSystemTime(ms);

const jumpsIn = ({ receipts }: Recorded): readonly Heartbeat[] =>
  everyRecord(receipts).flatMap((r) => (r.record === "heartbeat" && r.reason === "clock" ? [r] : []));

/** Numbers count up whatever the times say, and nothing lasted less than no time. */
function expectOrder(records: readonly LogRecord[]): void {
  expect(records.map(({ chain }) => chain.seq)).toEqual(records.map((_, i) => i));
  for (const record of records) {
    if (record.record === "receipt") expect(record.duration_ms).toBeGreaterThanOrEqual(0);
    if (record.record === "heartbeat") expect(record.monotonic_ms).toBeGreaterThanOrEqual(0);
  }
}

describe("a wall clock that is set", () => {
  test.each([
    ["back a day", -DAY],
    ["forward an hour", DAY / 24],
    ["back two seconds", -2000],
  ])("%s between two calls is said in a line before the second one", async (_, by) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const recorded = recording();
    await recorded.call();
    setWall(Date.now() + by);
    await recorded.call();
    await recorded.call();
    await recorded.close();
    const records = everyRecord(recorded.receipts);
    expect(records.map(({ record }) => record)).toEqual([
      "segment_open",
      "receipt",
      "heartbeat",
      "receipt",
      "receipt",
      "segment_close",
    ]);
    const [jump] = jumpsIn(recorded);
    expect(jump?.wall_ms).toBe(by);
    expect(jump?.monotonic_ms).toBeLessThan(60_000);
    expectOrder(records);
    expect(await verifyLog(recorded.root)).toMatchObject({ exitCode: 0, findings: [] });
  });

  test("while a tool runs leaves its duration alone, and its receipt the time of the clock as it is now", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const recorded = recording();
    await recorded.call();
    const wall = Date.now();
    const open = gate<void>();
    const call = recorded.call("slow", "session", () => open.opened);
    setWall(wall - DAY);
    open.open();
    await call;
    await recorded.close();
    const [, receipt] = everyReceipt(recorded.receipts) as [LoggedReceipt, LoggedReceipt];
    expect(receipt.duration_ms).toBeGreaterThanOrEqual(0);
    expect(receipt.duration_ms).toBeLessThan(60_000);
    expect(Math.abs(Date.parse(receipt.emitted_at) - (wall - DAY))).toBeLessThan(60_000);
    expect(jumpsIn(recorded)).toHaveLength(1);
  });

  test("before a log is closed is said before its last line", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const recorded = recording();
    await recorded.call();
    setWall(Date.now() + DAY / 12);
    await recorded.close();
    const records = everyRecord(recorded.receipts);
    expect(records.map(({ record }) => record)).toEqual(["segment_open", "receipt", "heartbeat", "segment_close"]);
    expect(await verifyLog(recorded.root)).toMatchObject({ exitCode: 0, findings: [] });
  });

  test("during silence is said by the next heartbeat", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
    const recorded = recording({ heartbeatMs: 60_000 });
    await recorded.call();
    setWall(Date.now() + DAY);
    await vi.advanceTimersByTimeAsync(61_000);
    await recorded.dispatch.flush();
    await recorded.close();
    expect(jumpsIn(recorded)).toMatchObject([{ reason: "clock", wall_ms: DAY + 60_000, monotonic_ms: 60_000 }]);
  });

  test("by less than a second, as a clock that is corrected, is not worth a line", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const recorded = recording();
    await recorded.call();
    setWall(Date.now() + 300);
    await recorded.call();
    await recorded.close();
    expect(jumpsIn(recorded)).toEqual([]);
  });
});

test("whatever the wall clock does, order is by number and nothing lasts less than no time", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const jumps = fc.array(fc.integer({ min: -400 * DAY, max: 400 * DAY }), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(jumps, async (times) => {
      const recorded = recording({ policy: "best_effort" });
      for (const by of times) {
        setWall(Date.now() + by);
        await recorded.call();
      }
      await recorded.close();
      expectOrder(everyRecord(recorded.receipts));
      expect((await verifyLog(recorded.root)).exitCode).toBe(0);
    }),
    { numRuns: 20 },
  );
});
