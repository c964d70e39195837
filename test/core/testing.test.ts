// Laws of the parts that tests use: they remember, they move only as told, and they end loudly.
import { createDispatcher, toRfc3339, toUnixNano } from "@toolspan/core";
import { fixedClock, memorySink, scriptedCaller, scriptedHandler } from "@toolspan/core/testing";
import { describe, expect, it } from "vitest";

describe("memorySink", () => {
  it("keeps items in order, counts flushes, and takes nothing after shutdown", async () => {
    const sink = memorySink<number>();
    sink.export(1);
    sink.export(2);
    await sink.forceFlush();
    await sink.shutdown();
    expect([sink.items, sink.flushes, sink.closed]).toEqual([[1, 2], 1, true]);
    expect(() => sink.export(3)).toThrow("after shutdown");
  });
});

describe("fixedClock", () => {
  it("steps by a fixed increment from zero and never ties", () => {
    const clock = fixedClock({ stepNanos: 5 });
    expect([clock.now(), clock.now(), clock.now()]).toEqual([0, 5, 10]);
  });

  it("moves forward by hand", () => {
    const clock = fixedClock();
    const before = clock.now();
    clock.advance(100);
    expect(clock.now() - before).toBe(100_000_001);
  });

  it("is anchored at the wall time it was given, to the millisecond", () => {
    const clock = fixedClock({ startAt: "2026-03-04T05:06:07.089Z" });
    expect(toRfc3339(clock, clock.now())).toBe("2026-03-04T05:06:07.089000000Z");
    expect(toUnixNano(fixedClock({ startAt: 1 }), 0)).toBe("0001000000");
  });
});

describe("scripts", () => {
  it("answer call by call, remember the calls, and throw when they are over", async () => {
    const layer = scriptedCaller([{ result: 1 }, { ok: false, status: "error", observation: "no" }]);
    const dispatch = createDispatcher([layer]);
    const statuses = [];
    for (const toolName of ["a", "b", "c"]) statuses.push((await dispatch({ toolName }, undefined)).status);
    expect(statuses).toEqual(["ok", "error", "tool_middleware_exception"]);
    expect(layer.calls.map(({ toolName }) => toolName)).toEqual(["a", "b", "c"]);
  });

  it("give a tool's values in order, by function where one is given", async () => {
    const handler = scriptedHandler([
      "first",
      () => {
        throw new TypeError("second");
      },
    ]);
    const dispatch = createDispatcher([]);
    const first = await dispatch({ toolName: "t" }, handler);
    const second = await dispatch({ toolName: "t" }, handler);
    expect([first.result, second.status, handler.calls.length]).toEqual(["first", "exception", 2]);
    expect(() => handler(handler.calls[0] as never)).toThrow("the script is over");
  });
});
