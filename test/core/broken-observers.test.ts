// Laws of observers: whatever breaks in one of them, the call is what it would have been, and the handler runs once.
import {
  CAUSE,
  createDispatcher,
  diagnostics,
  type Observer,
  type OperationReport,
  observerCaller,
  type ToolCaller,
} from "@toolspan/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { counting, drain, gate, named, pass, turn } from "../support/kernel-parts.ts";
import { recordingObserver } from "../support/recording-observer.ts";
import { recordingRecorder } from "../support/recording-recorder.ts";
import { OBSERVER_PLACES, throwingObserver } from "../support/throwing-observer.ts";

const unhandled: string[] = [];
const hear = (thrown: unknown): void => void unhandled.push(String(thrown));
let quiet: () => void;
beforeEach(() => {
  diagnostics.reset();
  quiet = diagnostics.listen(() => {});
  unhandled.length = 0;
  process.on("unhandledRejection", hear);
});
afterEach(async () => {
  await turn();
  process.off("unhandledRejection", hear);
  quiet();
  expect(unhandled).toEqual([]);
});

const WAYS = ["before", "after", "rejects", "answers nothing"] as const;
const says: ToolCaller = named("says", (call, next, scope) => {
  scope.event("e", { n: 1 });
  return next(call);
});

/** Everything about a few calls that an observer must not touch. */
async function behaviour(observers: readonly ToolCaller[]): Promise<unknown> {
  const value = { some: "value" };
  const thrown = new Error("tool");
  const recorder = recordingRecorder({ reply: async () => ({ receipt: { level: "durable", uri: "file:///r" } }) });
  const dispatch = createDispatcher([...observers, recorder.caller, says, pass]);
  let ran = 0;
  const run = (tool: () => unknown) =>
    dispatch({ toolName: "t", toolArgs: 1, callId: "c" }, () => {
      ran += 1;
      return tool();
    });
  const good = await run(async () => value);
  const bad = await run(() => {
    throw thrown;
  });
  const streamed = await run(() => counting(2));
  const items = await drain(streamed);
  const settled = await streamed.settled;
  const slow = gate();
  const givesUp: ToolCaller = (call, next) => {
    void next(call);
    return { ok: false, status: "timeout", toolName: call.toolName, observation: "late" };
  };
  const late = await createDispatcher([...observers, recorder.caller, givesUp])({ toolName: "t" }, () => slow.opened);
  slow.open();
  await turn();
  const strip = ({ executionDurationMs: _, settled: __, result, ...rest }: object & { [key: string]: unknown }) => rest;
  return {
    same: [Object.is(good.result, value), Object.is(bad[CAUSE], thrown)],
    ran,
    items,
    results: [good, bad, streamed, settled, late].map((result) => strip(result as never)),
    runs: recorder.outcomes.map(({ runs }) => runs.map(({ name, status }) => `${name} ${status}`)),
    late: recorder.late.length,
  };
}

describe.each(WAYS)("an observer that breaks (%s)", (way) => {
  const isGetter = (place: string): boolean => place === "trace" || place === "recording";
  const reach = OBSERVER_PLACES.filter((place) => way !== "rejects" || !isGetter(place));

  it.each([["everything", reach] as const, ...reach.map((place) => [place, [place]] as const)])(
    "at %s changes nothing, alone or beside a sound one, which misses nothing",
    async (_, places) => {
      const untouched = await behaviour([]);
      expect(await behaviour([throwingObserver(places, way)])).toEqual(untouched);
      for (const brokenFirst of [true, false]) {
        const sound = recordingObserver({ name: "sound" });
        const broken = throwingObserver(places, way);
        expect(await behaviour(brokenFirst ? [broken, sound.caller] : [sound.caller, broken])).toEqual(untouched);
        expect(sound.dispatches).toHaveLength(4);
        expect(sound.dispatches.map((dispatch) => sound.tree(dispatch))).toEqual([
          "says ok\n  pass ok\n    leaf#1 ok\nwith_audit_log ended",
          "says ok\n  pass ok\n    leaf#1 exception\nwith_audit_log ended",
          "says ok\n  pass ok\n    leaf#1 ok\nwith_audit_log ended",
          "gives_up error\n  leaf#1 abandoned\nwith_audit_log ended",
        ]);
        expect(sound.dispatches.map(({ ends, late }) => [ends.length, late.length])).toEqual([[1, 0], [1, 0], [1, 0], [1, 1]]); // biome-ignore format: one row
      }
    },
  );
});

describe("an observer's trouble", () => {
  it("is reported, counted, and said once", async () => {
    const heard: string[] = [];
    quiet();
    quiet = diagnostics.listen(({ source, message }) => heard.push(`${source}: ${message}`));
    const dispatch = createDispatcher([throwingObserver(["layer.end"]), pass]);
    for (let n = 0; n < 5; n += 1) await dispatch({ toolName: "t" }, () => 1);
    expect(heard).toEqual(["kernel.observer: an observer threw Error; the call went on"]);
    expect(diagnostics.counts().get("kernel.observer threw")).toBe(5);
  });

  it("does not reach the call even where nobody can be told of it", async () => {
    quiet();
    quiet = diagnostics.listen(() => {
      throw new Error("listener");
    });
    expect((await createDispatcher([throwingObserver()])({ toolName: "t" }, () => 1)).result).toBe(1);
  });
});

describe("an observer that runs what it is given twice, or later", () => {
  it("has it run once, and at once", async () => {
    let ran = 0;
    const runs = (times: number) => ({
      within: <A>(fn: (arg: A) => void, arg: A): void => {
        if (times === 0) setImmediate(() => fn(arg));
        for (let n = 0; n < times; n += 1) fn(arg);
      },
      event() {},
      end() {},
    });
    for (const times of [0, 2, 3]) {
      ran = 0;
      const observer = {
        name: "odd",
        dispatch: () => ({
          ...runs(times),
          trace: null,
          recording: true,
          layer: () => runs(times),
          leaf: () => runs(times),
          late() {},
        }),
        run: async () => {},
        model: async () => {},
        flush: async () => {},
        close: async () => {},
      };
      const odd = observerCaller(observer as unknown as Observer);
      const counts: ToolCaller = (call, next) => {
        ran += 1;
        return next(call);
      };
      for (const layers of [[odd], [odd, recordingObserver().caller], [recordingObserver().caller, odd]]) {
        const result = await createDispatcher([...layers, counts])({ toolName: "t" }, () => void (ran += 1));
        expect(result.status).toBe("ok");
      }
      await turn();
      expect(ran).toBe(6);
    }
  });
});

describe.each(["run", "model"] as const)("%s()", (verb) => {
  const info = { agentName: "a", model: "m", iteration: 1 };
  type Wrap = Observer["run"];

  const observing = (wrap: Wrap): ToolCaller =>
    observerCaller({
      name: "odd",
      dispatch: () => {
        throw new Error("unused");
      },
      run: wrap,
      model: wrap as Observer["model"],
      flush: async () => {},
      close: async () => {},
    });

  const WRAPS: readonly (readonly [string, Wrap])[] = [
    ["throws before", () => { throw new Error("observer"); }], // biome-ignore format: one case
    ["rejects before", async () => { throw new Error("observer"); }], // biome-ignore format: one case
    ["throws after", (_, fn) => { void fn(() => {}).catch(() => {}); throw new Error("observer"); }], // biome-ignore format: one case
    ["rejects after", async (_, fn) => { await fn(() => {}).catch(() => {}); throw new Error("observer"); }], // biome-ignore format: one case
    ["answers with something else", async (_, fn) => { await fn(() => {}); return "else" as never; }], // biome-ignore format: one case
    ["swallows the failure", async (_, fn) => fn(() => {}).catch(() => "swallowed" as never)],
    ["answers with nothing", () => undefined as never],
    ["never answers", async (_, fn) => { void fn(() => {}).catch(() => {}); return new Promise<never>(() => {}); }], // biome-ignore format: one case
    ["runs it twice", async (_, fn) => { await fn(() => {}).catch(() => {}); return fn(() => {}); }], // biome-ignore format: one case
    ["throws when told", (_, fn) => fn(() => { throw new Error("report"); })], // biome-ignore format: one case
    ["behaves", (_, fn) => fn(() => {})],
  ];

  it.each(WRAPS)("passes the value, and the same thrown object, through an observer that %s", async (_, wrap) => {
    const value = { v: 1 };
    const thrown = new Error("mine");
    for (const observers of [
      [observing(wrap)],
      [observing(wrap), recordingObserver().caller],
      [recordingObserver().caller, observing(wrap)],
    ]) {
      const dispatch = createDispatcher(observers);
      let ran = 0;
      const result = await dispatch[verb](info, async (report) => {
        ran += 1;
        report({ toolCalls: 1 });
        await turn();
        return value;
      });
      const failed = dispatch[verb](info, async () => {
        ran += 1;
        await turn();
        throw thrown;
      });
      await expect(failed).rejects.toBe(thrown);
      const threwAtOnce = dispatch[verb](info, () => {
        ran += 1;
        throw thrown;
      });
      await expect(threwAtOnce).rejects.toBe(thrown);
      expect([Object.is(result, value), ran]).toEqual([true, 3]);
    }
  });

  it("works without any observer, also for a function that throws at once", async () => {
    const dispatch = createDispatcher([pass]);
    expect(await dispatch[verb](info, async () => 7)).toBe(7);
    const thrown = new Error("at once");
    await expect(dispatch[verb](info, () => { throw thrown; })).rejects.toBe(thrown); // biome-ignore format: one call
  });

  it("runs inside every observer, the first outermost, and each hears every report", async () => {
    const [one, two] = [recordingObserver(), recordingObserver({ name: "two" })];
    const dispatch = createDispatcher([one.caller, pass, two.caller]);
    const report: OperationReport = { inputTokens: 3 };
    const seen = await dispatch[verb](info, async (say) => {
      say(report);
      await turn();
      return [one.active(), two.active()];
    });
    expect(seen).toEqual([verb, verb]);
    for (const { operations } of [one, two]) {
      expect(operations).toEqual([{ kind: verb, info, reports: [report], outcome: "returned" }]);
    }
  });

  it("reports an observer's own trouble, and not what it only passed on", async () => {
    const dispatch = createDispatcher([observing((_, fn) => fn(() => {}))]);
    await dispatch[verb](info, () => Promise.reject(new Error("mine"))).catch(() => {});
    await turn();
    expect(diagnostics.counts().get("kernel.observer threw")).toBeUndefined();
    const broken = createDispatcher([observing(async (_, fn) => { await fn(() => {}); throw new Error("own"); })]); // biome-ignore format: one stack
    await broken[verb](info, async () => 1);
    await turn();
    expect(diagnostics.counts().get("kernel.observer threw")).toBe(1);
  });
});
