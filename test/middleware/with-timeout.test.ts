// Laws of withTimeout: observing changes nothing, aborting settles at the deadline, and no timer outlives its call.
import { getEventListeners } from "node:events";
import { plainHasher } from "@toolspan/canonical/hash";
import {
  createDispatcher,
  type LateSettlement,
  recorderCaller,
  type ToolCaller,
  type ToolHandler,
} from "@toolspan/core";
import { withTimeout } from "@toolspan/middleware/with-timeout";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { dispatchOnce, layerContract, optionContract } from "../support/layer-contract.ts";

layerContract("with_timeout", { pass: () => withTimeout({ maxMs: 60_000 }) });
describe("aborting", () => {
  layerContract("with_timeout", { pass: () => withTimeout({ maxMs: 60_000, onBreach: "abort" }) });
});

optionContract("withTimeout", [
  ["options", () => withTimeout(5 as never)],
  ["maxMs", () => withTimeout({} as never)],
  ["maxMs", () => withTimeout({ maxMs: -1 })],
  ["maxMs", () => withTimeout({ maxMs: 0.5 })],
  ["maxMs", () => withTimeout({ maxMs: 2 ** 31 })],
  ["perTool.slow", () => withTimeout({ maxMs: 1, perTool: { slow: Number.NaN } })],
  ["message", () => withTimeout({ maxMs: 1, message: "" })],
  ["onBreach", () => withTimeout({ maxMs: 1, onBreach: "kill" as never })],
  ["max_ms", () => withTimeout({ maxMs: 1, max_ms: 1 } as never)],
]);

const BREACH = { error_category: "timeout", max_ms: 100 };
const later = (ms: number, value: unknown): Promise<unknown> =>
  new Promise((resolve) => setTimeout(() => resolve(value), ms));

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

async function settled<T>(pending: Promise<T>): Promise<T> {
  await vi.runAllTimersAsync();
  return pending;
}

describe("a call that takes too long, observed", () => {
  it("keeps its result and its time; the layer says timeout", async () => {
    const value = { late: true };
    const pending = dispatchOnce([withTimeout({ maxMs: 100 })], { toolName: "t" }, () => later(150, value));
    const { result, runs } = await settled(pending);
    expect([result.ok, result.status]).toEqual([true, "ok"]);
    expect(result.result).toBe(value);
    expect(runs).toMatchObject([{ status: "timeout", attributes: BREACH, errorType: undefined }]);
  });

  it("stays a failure of the kind it is", async () => {
    const pending = dispatchOnce([withTimeout({ maxMs: 100 })], { toolName: "t" }, async () => {
      await later(150, 0);
      throw new TypeError("no");
    });
    const { result, runs } = await settled(pending);
    expect([result.status, runs[0]?.status]).toEqual(["exception", "timeout"]);
  });

  it("is seen even where a blocked thread kept the timer from firing", async () => {
    vi.useRealTimers();
    const block: ToolHandler = () => {
      for (const end = performance.now() + 5; performance.now() < end; );
      return "v";
    };
    const observed = await dispatchOnce([withTimeout({ maxMs: 1 })], { toolName: "t" }, block);
    const aborting = await dispatchOnce([withTimeout({ maxMs: 1, onBreach: "abort" })], { toolName: "t" }, block);
    expect([observed.result.result, observed.runs[0]?.status]).toEqual(["v", "timeout"]);
    expect([aborting.result.result, aborting.runs[0]?.status]).toEqual(["v", "timeout"]);
  });
});

describe("a call within its budget", () => {
  it.each(["observe", "abort"] as const)("passes through as ok and leaves no timer behind (%s)", async (onBreach) => {
    const pending = dispatchOnce([withTimeout({ maxMs: 100, onBreach })], { toolName: "t" }, () => later(100 - 1, "v"));
    await vi.advanceTimersByTimeAsync(99);
    const { result, runs } = await pending;
    expect([result.result, runs[0]?.status, runs[0]?.attributes]).toEqual(["v", "ok", undefined]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("goes by the tool's own budget where there is one", async () => {
    const layer = withTimeout({ maxMs: 100, perTool: { slow: 1000 } });
    const seen = [];
    for (const toolName of ["slow", "fast"]) {
      seen.push((await settled(dispatchOnce([layer], { toolName }, () => later(500, 1)))).runs[0]?.status);
    }
    expect(seen).toEqual(["ok", "timeout"]);
  });

  it("has no time at all with a budget of 0", async () => {
    const layer = withTimeout({ maxMs: 0, onBreach: "abort" });
    expect((await settled(dispatchOnce([layer], { toolName: "t" }, () => later(5, 1)))).result.status).toBe("timeout");
  });
});

describe("a call that takes too long, aborted", () => {
  it("settles at the deadline as timeout, although the tool goes on", async () => {
    const pending = dispatchOnce(
      [withTimeout({ maxMs: 100, onBreach: "abort" })],
      { toolName: "t", callId: "c1" },
      () => later(150, "late"),
    );
    await vi.advanceTimersByTimeAsync(100);
    const { result, runs } = await pending;
    expect(result).toMatchObject({
      ok: false,
      status: "timeout",
      errorCategory: "timeout",
      toolCallId: "c1",
      executed: true,
      error: "tool t: no answer within 100 ms",
    });
    expect(runs).toMatchObject([{ status: "timeout", attributes: BREACH, errorType: "timeout" }]);
  });

  it("tells the model what `message` says", async () => {
    const layer = withTimeout({ maxMs: 100, onBreach: "abort", message: "try a smaller range" });
    const { result } = await settled(dispatchOnce([layer], { toolName: "t" }, () => later(150, 0)));
    expect([result.observation, result.error]).toEqual(["try a smaller range", "try a smaller range"]);
  });

  it("fires the signal that the tool got, once, with a TimeoutError", async () => {
    const reasons: unknown[] = [];
    const handler: ToolHandler = ({ signal }) =>
      new Promise((_, reject) =>
        signal?.addEventListener("abort", () => {
          reasons.push((signal.reason as Error).name);
          reject(signal.reason);
        }),
      );
    const pending = dispatchOnce([withTimeout({ maxMs: 100, onBreach: "abort" })], { toolName: "t" }, handler);
    expect((await settled(pending)).result.status).toBe("timeout");
    expect(reasons).toEqual(["TimeoutError"]);
  });

  it("does not touch the caller's own signal, follows it, and leaves no listener on it", async () => {
    const outer = new AbortController();
    const removed = vi.spyOn(outer.signal, "removeEventListener");
    const layer = withTimeout({ maxMs: 100, onBreach: "abort" });
    const timedOut = dispatchOnce([layer], { toolName: "t", signal: outer.signal }, () => later(150, 0));
    await settled(timedOut);
    expect([outer.signal.aborted, removed.mock.calls.length > 0]).toEqual([false, true]);

    let seen: AbortSignal | undefined;
    const stopped = dispatchOnce([layer], { toolName: "t", signal: outer.signal }, ({ signal }) => {
      seen = signal;
      return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    });
    await Promise.resolve();
    outer.abort(new DOMException("user", "AbortError"));
    const { result } = await settled(stopped);
    expect([result.status, seen === outer.signal, seen?.reason]).toEqual(["aborted", false, outer.signal.reason]);
  });

  it("shares one listener with calls that begin before the tool has settled late", async () => {
    const { signal } = new AbortController();
    const layer = withTimeout({ maxMs: 100, onBreach: "abort" });
    const start = (ms: number): Promise<unknown> =>
      dispatchOnce([layer], { toolName: "t", signal }, () => later(ms, 0));
    const calls = [start(160)];
    await vi.advanceTimersByTimeAsync(150);
    calls.push(start(90));
    await vi.advanceTimersByTimeAsync(20);
    calls.push(start(90));
    await vi.advanceTimersByTimeAsync(20);
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    await settled(Promise.all(calls));
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  it("abandons the layers inside, and what the tool does later is a late settlement, not another outcome", async () => {
    const late: LateSettlement[] = [];
    let outcomes = 0;
    const recorder = recorderCaller({
      name: "with_late",
      defaultHasher: plainHasher(),
      record: () => {
        outcomes += 1;
        return { receipt: { level: "written" } };
      },
      late: (settlement) => late.push(settlement),
      flush: async () => {},
      close: async () => {},
    });
    const inner = vi.fn((call, next) => next(call));
    let wrote = false;
    const dispatch = createDispatcher([recorder, withTimeout({ maxMs: 100, onBreach: "abort" }), inner]);
    const pending = dispatch({ toolName: "t" }, async () => {
      await later(200, 0);
      wrote = true;
    });
    await vi.advanceTimersByTimeAsync(100);
    expect([(await pending).status, wrote, late.length, outcomes]).toEqual(["timeout", false, 0, 1]);
    await vi.advanceTimersByTimeAsync(100);
    expect([wrote, late.length, outcomes]).toEqual([true, 1, 1]);
    expect(late[0]).toMatchObject({ attempt: 1, ok: true });
  });
});

describe("a stream", () => {
  const audited: ToolCaller = async (call, next) => ({ ...(await next(call)), audit: { summary: "s" } });

  async function* slow(): AsyncGenerator<string> {
    yield "a";
    await later(150, 0);
    yield "b";
  }

  async function readAll(stream: unknown): Promise<unknown[]> {
    const items: unknown[] = [];
    for await (const item of stream as AsyncIterable<unknown>) items.push(item);
    return items;
  }

  it("is watched until it closes, and delivers every item", async () => {
    const dispatch = createDispatcher([withTimeout({ maxMs: 100 }), audited]);
    const result = await dispatch({ toolName: "t" }, slow);
    expect(await settled(readAll(result.result))).toEqual(["a", "b"]);
    expect((await result.settled)?.audit?.layers?.[0]).toMatchObject({ name: "with_timeout", status: "timeout" });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is told to stop through the signal when aborting", async () => {
    const dispatch = createDispatcher([withTimeout({ maxMs: 100, onBreach: "abort" }), audited]);
    let signalled = false;
    const result = await dispatch({ toolName: "t" }, async function* ({ signal }) {
      signal?.addEventListener("abort", () => (signalled = true));
      yield* slow();
    });
    await settled(readAll(result.result));
    expect(signalled).toBe(true);
    expect((await result.settled)?.audit?.layers?.[0]?.status).toBe("timeout");
  });

  it("ends its watch with its last item", async () => {
    const dispatch = createDispatcher([withTimeout({ maxMs: 100 }), audited]);
    const result = await dispatch({ toolName: "t" }, async function* () {
      yield "a";
    });
    await readAll(result.result);
    expect((await result.settled)?.audit?.layers?.[0]?.status).toBe("ok");
    expect(vi.getTimerCount()).toBe(0);
  });
});

it.each([
  ["observe", "no timer that keeps the process alive", false],
  ["abort", "the process until its deadline has come", true],
] as const)("holds, where it is to %s, %s", async (onBreach, _what, keepsAlive) => {
  vi.useRealTimers();
  const timers = vi.spyOn(globalThis, "setTimeout");
  const controller = new AbortController();
  const { signal } = controller;
  const pending = dispatchOnce([withTimeout({ maxMs: 600_000, onBreach })], { toolName: "t", signal }, (call) => {
    expect(timers.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef())).toEqual([keepsAlive]);
    return new Promise((resolve) => call.signal?.addEventListener("abort", resolve));
  });
  controller.abort();
  expect((await pending).result.status).toBe("ok");
});
