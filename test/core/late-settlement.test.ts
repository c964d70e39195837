// Laws of abandonment: what nobody waits for ends with its dispatch, and what settles later is told once and counted nowhere.
import { createDispatcher, diagnostics, type ToolCall, type ToolCaller, type ToolResult } from "@toolspan/core";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { answer, gate, named, pass, turn } from "../support/kernel-parts.ts";
import { recordingObserver } from "../support/recording-observer.ts";
import { recordingRecorder } from "../support/recording-recorder.ts";

beforeEach(() => diagnostics.listen(() => {}));

const timeout = (call: ToolCall): ToolResult =>
  answer(call, { ok: false, status: "timeout", errorCategory: "timeout", observation: "no answer" });

const givesUp: ToolCaller = named("gives_up", (call, next) => {
  void next(call);
  return timeout(call);
});

function watched(...layers: ToolCaller[]) {
  const observer = recordingObserver();
  const recorder = recordingRecorder();
  return { observer, recorder, dispatch: createDispatcher([observer.caller, recorder.caller, ...layers]) };
}

describe("a handler that settles after its dispatch", () => {
  it.each([
    ["returns", (slow: Promise<unknown>) => slow, { ok: true, errorType: undefined }],
    ["throws", (slow: Promise<unknown>) => slow.then(() => { throw new RangeError("x"); }), { ok: false, errorType: "RangeError" }], // biome-ignore format: one case
    ["answers softly", (slow: Promise<unknown>) => slow.then(() => ({ isError: true })), { ok: false, errorType: "tool_error" }], // biome-ignore format: one case
  ])("because it %s late is told of once, and changes neither receipt nor span", async (_, tool, told) => {
    const { dispatch, observer, recorder } = watched(givesUp, named("inner", pass));
    const slow = gate();
    const result = await dispatch({ toolName: "t" }, () => tool(slow.opened));
    const before = { ...recorder.only(), runs: [...recorder.only().runs] };
    expect([result.status, result.executed, recorder.late.length]).toEqual(["timeout", true, 0]);
    slow.open();
    await turn();
    expect(recorder.late).toMatchObject([{ attempt: 1, ...told }]);
    expect(observer.only().late).toEqual(recorder.late);
    expect(recorder.late[0]?.dispatch).toBe(recorder.only().dispatch);
    expect(recorder.late[0]?.settledAt).toBeGreaterThan(recorder.only().endedAt);
    expect([recorder.outcomes.length, observer.only().ends.length]).toEqual([1, 1]);
    expect({ ...recorder.only(), runs: [...recorder.only().runs] }).toEqual(before);
    expect(observer.tree()).toBe("gives_up error\n  inner abandoned\n    leaf#1 abandoned");
  });

  it("answers with a stream too late: the stream is handed to nobody, and told of as late", async () => {
    const { dispatch, recorder } = watched(givesUp);
    const slow = gate();
    await dispatch({ toolName: "t" }, async () => {
      await slow.opened;
      return (async function* () {
        yield 1;
      })();
    });
    slow.open();
    await turn();
    expect(recorder.late).toMatchObject([{ ok: true }]);
  });

  it("is told of once per attempt", async () => {
    const gates = [gate(), gate()];
    const retries = named("retries", async (call, next) => {
      const first = await next(call);
      return first.ok ? first : next(call);
    });
    const { dispatch, observer, recorder } = watched(retries, givesUp);
    await dispatch({ toolName: "t" }, ({ attempt }) => gates[attempt - 1]?.opened);
    for (const { open } of gates) open();
    await turn();
    expect(recorder.late.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(recorder.only().attempts).toBe(2);
    expect(observer.only().ends).toHaveLength(1);
  });

  it("has its time counted up to where it was given up", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const slow = gate();
    const waits: ToolCaller = async (call, next) => {
      void next(call);
      vi.advanceTimersByTime(30);
      return timeout(call);
    };
    const result = await createDispatcher([waits])({ toolName: "t" }, () => slow.opened);
    vi.advanceTimersByTime(500);
    slow.open();
    await Promise.resolve();
    vi.useRealTimers();
    expect(result.executionDurationMs).toBe(30);
  });

  it("is not told of before the receipt is written and the span has ended", async () => {
    const log: string[] = [];
    const [slow, disk] = [gate(), gate()];
    const observer = recordingObserver({ log });
    const recorder = recordingRecorder({
      log,
      async reply() {
        await disk.opened;
        log.push("written");
        return { receipt: { level: "durable" } };
      },
    });
    const pending = createDispatcher([observer.caller, recorder.caller, givesUp])({ toolName: "t" }, () => slow.opened);
    await turn();
    slow.open();
    await turn();
    disk.open();
    await pending;
    expect(log).toEqual(["with_audit_log", "written", "with_telemetry", "with_telemetry.late", "with_audit_log.late"]);
  });

  it("of which a recorder or observer cannot hear does not trouble anybody", async () => {
    const slow = gate();
    const recorder = recordingRecorder();
    const { caller } = recordingObserver();
    const broken = createDispatcher([recorder.caller, caller, givesUp]);
    recorder.late.push = () => {
      throw new Error("recorder");
    };
    await broken({ toolName: "t" }, () => slow.opened);
    slow.open();
    await turn();
    expect(recorder.outcomes).toHaveLength(1);
  });
});

describe("a layer that nobody waits for any more", () => {
  it("cannot start anything: next is closed, in it and in everything inside it", async () => {
    let ran = 0;
    const held = gate();
    const refusals: unknown[] = [];
    const retries: ToolCaller = async (call, next) => {
      await held.opened;
      return next(call).catch((thrown: unknown) => {
        refusals.push((thrown as { code?: unknown }).code);
        return timeout(call);
      });
    };
    const { dispatch, observer } = watched(givesUp, pass, named("retries", retries));
    await dispatch({ toolName: "t" }, () => void (ran += 1));
    held.open();
    await turn();
    expect([ran, refusals]).toEqual([0, ["TOOLSPAN_NEXT_AFTER_END"]]);
    expect(observer.tree()).toBe("gives_up error\n  pass abandoned\n    retries abandoned");
    expect(observer.only().late).toEqual([]);
  });

  it("attaches no audit any more", async () => {
    const held = gate();
    const audits: ToolCaller = async (call, next) => {
      const result = await next(call);
      await held.opened;
      return { ...result, audit: { summary: "too late" } };
    };
    const { dispatch, recorder } = watched(givesUp, audits);
    const result = await dispatch({ toolName: "t" }, () => 1);
    held.open();
    await turn();
    expect([result.audit?.summary, recorder.only().result.audit]).toEqual([undefined, undefined]);
  });

  it("ends inside its parent's window, innermost first", async () => {
    const { dispatch, observer } = watched(pass, givesUp, pass, pass);
    await dispatch({ toolName: "t" }, () => gate().opened);
    const ends = observer.only().spans.map(({ endedAt }) => endedAt[0] as number);
    expect(ends).toEqual(ends.toSorted((a, b) => b - a));
    expect(new Set(ends).size).toBe(ends.length);
  });
});

describe("of several attempts at once", () => {
  it("the one that answers first is the result, and the others are abandoned and late", async () => {
    const gates = [gate<string>(), gate<string>(), gate<string>()];
    const hedge = named("hedge", (call, next) => Promise.race(gates.map(() => next(call))));
    const { dispatch, observer, recorder } = watched(hedge, named("inner", pass));
    const pending = dispatch({ toolName: "t" }, ({ attempt }) => gates[attempt - 1]?.opened);
    await turn();
    gates[1]?.open("second");
    expect((await pending).result).toBe("second");
    gates[0]?.open("first");
    gates[2]?.open("third");
    await turn();
    expect(recorder.late.map(({ attempt }) => attempt).toSorted()).toEqual([1, 3]);
    expect(
      observer
        .tree()
        .split("\n")
        .map((row) => row.trim()),
    ).toEqual([
      "hedge ok",
      "inner abandoned",
      "leaf#1 abandoned",
      "inner ok",
      "leaf#2 ok",
      "inner abandoned",
      "leaf#3 abandoned",
    ]);
  });
});
