// Laws of layer records: what one run of one layer leaves behind.
import {
  composeToolCallers,
  createDispatcher,
  defineLayer,
  type LayerRun,
  type LayerScope,
  type ToolCaller,
  toLayerRecord,
} from "@toolspan/core";
import { fixedClock } from "@toolspan/core/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { answer, echo, gate, named, pass, turn } from "../support/kernel-parts.ts";
import { recordingObserver } from "../support/recording-observer.ts";
import { recordingRecorder } from "../support/recording-recorder.ts";

async function runsOf(layers: readonly ToolCaller[], tool: () => unknown = () => 1): Promise<readonly LayerRun[]> {
  const recorder = recordingRecorder();
  await createDispatcher([recorder.caller, ...layers])({ toolName: "t" }, tool);
  return recorder.only().runs;
}

const scoped = (say: (scope: LayerScope) => void): ToolCaller =>
  named("scoped", (call, next, scope) => {
    say(scope);
    return next(call);
  });

describe("a layer record", () => {
  it("is snake_case on the wire, with RFC 3339 times of nine decimals", async () => {
    const clock = fixedClock({ startAt: "2025-03-04T05:06:07.890Z" });
    const recorder = recordingRecorder();
    const layer = scoped((scope) => {
      clock.advance(12.5);
      scope.report({ status: "hit", attributes: { key_hash: "abc", n: 1, yes: true } });
    });
    const dispatch = createDispatcher([recorder.caller, layer], { createClock: () => clock });
    await dispatch({ toolName: "t" }, echo);
    const [run] = recorder.only().runs as [LayerRun];
    expect(toLayerRecord(run, clock)).toEqual({
      name: "scoped",
      index: 0,
      depth: 0,
      attempt: 1,
      status: "hit",
      started_at: "2025-03-04T05:06:07.890000001Z",
      ended_at: expect.stringMatching(/^2025-03-04T05:06:07\.9025\d{5}Z$/),
      self_time_ms: expect.closeTo(12.5, 3),
      short_circuited: false,
      args_changed: false,
      attributes: { key_hash: "abc", n: 1, yes: true },
    });
  });

  it("counts index over flattened layers, depth over enclosing runs, attempt over runs of that layer", async () => {
    const twice = named("twice", async (call, next) => {
      await next(call);
      return next(call);
    });
    const nested = composeToolCallers([recordingObserver().caller, twice, named("b", pass)]);
    const runs = await runsOf([twice, nested]);
    expect(runs.map(({ name, index, depth, attempt }) => `${name} ${index} ${depth} ${attempt}`)).toEqual([
      "twice 0 0 1",
      "twice 1 1 1",
      "b 2 2 1",
      "b 2 2 2",
      "twice 1 1 2",
      "b 2 2 3",
      "b 2 2 4",
    ]);
  });

  it("is ok for a layer that lets a failure pass, and error where the failure is the layer's own", async () => {
    const fails = () => {
      throw new RangeError("tool");
    };
    const recover: ToolCaller = async (call, next, scope) => {
      const result = await next(call);
      if (result.ok) return result;
      scope.report({ status: "recovered" });
      return answer(call, { result: "fallback" });
    };
    const words = (runs: readonly LayerRun[]) => runs.map(({ status, errorType }) => `${status} ${errorType ?? "-"}`);
    expect(words(await runsOf([pass, pass], fails))).toEqual(["ok -", "ok -"]);
    expect(words(await runsOf([recover, pass], fails))).toEqual(["recovered -", "ok -"]);
    const turnsIntoFailure: ToolCaller = async (call, next) => {
      await next(call);
      return answer(call, { ok: false, status: "policy_blocked", errorCategory: "limit_exceeded", observation: "no" });
    };
    expect(words(await runsOf([pass, turnsIntoFailure]))).toEqual(["ok -", "error limit_exceeded"]);
    const rethrows: ToolCaller = async (call, next) => {
      await next(call);
      throw new SyntaxError("outer");
    };
    const throws: ToolCaller = () => {
      throw new TypeError("inner");
    };
    expect(words(await runsOf([rethrows, throws]))).toEqual(["error SyntaxError", "error TypeError"]);
    const nothing: ToolCaller = async (call, next) => {
      await next(call);
      return undefined as never;
    };
    expect(words(await runsOf([nothing, throws]))).toEqual(["error middleware_incomplete", "error TypeError"]);
  });

  it("takes reports as they come: the last status wins, attributes add up, only scalars stay", async () => {
    const [run] = await runsOf([
      scoped((scope) => {
        scope.report({ status: "miss", attributes: { a: 1, b: "x" } });
        scope.report({
          attributes: { b: "y", bad: { deep: 1 }, list: [1], nan: Number.NaN, none: undefined } as never,
        });
        scope.report({ status: "hit" });
        scope.report({});
      }),
    ]);
    expect([run?.status, run?.attributes]).toEqual(["hit", { a: 1, b: "y" }]);
  });

  it("hears no report and no event once it is closed", async () => {
    const observer = recordingObserver();
    let kept: LayerScope | undefined;
    const keeps = scoped((scope) => {
      kept = scope;
      scope.event("early", { n: 1 });
    });
    const speaksLate: ToolCaller = async (call, next) => {
      const result = await next(call);
      kept?.report({ status: "too_late", attributes: { late: true } });
      kept?.event("late");
      return result;
    };
    await createDispatcher([observer.caller, speaksLate, keeps])({ toolName: "t" }, echo);
    const [, run] = observer.only().ends[0]?.runs ?? [];
    expect([run?.status, run?.attributes]).toEqual(["ok", undefined]);
    expect(observer.only().spans[1]?.events).toEqual(["early"]);
    expect(observer.only().spans[1]?.run).toEqual(run);
  });

  it("stays abandoned whatever the layer says afterwards", async () => {
    const recorder = recordingRecorder();
    const held = gate();
    const slow: ToolCaller = async (call, next, scope) => {
      const result = await next(call);
      scope.report({ status: "hit" });
      return result;
    };
    const giveUp: ToolCaller = (call, next) => {
      void next(call);
      return answer(call, { ok: false, status: "timeout", observation: "late" });
    };
    const holds: ToolCaller = async (call, next) => {
      const result = await next(call);
      held.open();
      await turn();
      return result;
    };
    const dispatch = createDispatcher([recorder.caller, holds, giveUp, slow]);
    await dispatch({ toolName: "t" }, () => held.opened);
    expect(recorder.only().runs.map(({ status }) => status)).toEqual(["ok", "error", "abandoned"]);
  });

  it("says that the arguments changed by identity where nobody hashes", async () => {
    const observer = recordingObserver();
    const copies = named("copies", (call, next) => next({ ...call, toolArgs: { ...(call.toolArgs as object) } }));
    await createDispatcher([observer.caller, copies, pass])({ toolName: "t", toolArgs: { a: 1 } }, echo);
    expect(observer.only().ends[0]?.runs.map(({ argsChanged }) => argsChanged)).toEqual([true, false]);
  });

  it("costs no clock reading where nobody observes, records or may audit", async () => {
    let readings = 0;
    const createClock = () => {
      readings += 1;
      return fixedClock();
    };
    const silent = defineLayer({ name: "silent", traits: { audits: false }, call: pass });
    await createDispatcher([silent, silent], { createClock })({ toolName: "t" }, echo);
    expect(readings).toBe(0);
    await createDispatcher([silent, pass], { createClock })({ toolName: "t" }, echo);
    expect(readings).toBe(1);
  });

  it("holds no layers and no hashes where the observer does not record", async () => {
    const observer = recordingObserver({ recording: false });
    await createDispatcher([observer.caller, defineLayer({ name: "l", traits: { audits: false }, call: pass })])({ toolName: "t" }, echo); // biome-ignore format: one call
    expect([observer.only().spans, observer.only().ends.length, observer.only().ends[0]?.runs]).toEqual([[], 1, []]);
  });
});

describe("self times", () => {
  it("add up to the time of the outermost run, less the handler's, when every layer calls next once", async () => {
    const waits = fc.array(fc.tuple(fc.nat(50), fc.nat(50)), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(waits, fc.nat(100), async (layers, toolMs) => {
        const clock = fixedClock();
        const recorder = recordingRecorder();
        const stack = layers.map(
          ([before, after]): ToolCaller =>
            async (call, next) => {
              clock.advance(before);
              const result = await next(call);
              clock.advance(after);
              return result;
            },
        );
        const dispatch = createDispatcher([recorder.caller, ...stack], { createClock: () => clock });
        await dispatch({ toolName: "t" }, () => clock.advance(toolMs));
        const { runs } = recorder.only();
        const [outer] = runs as [LayerRun];
        const own = runs.reduce((sum, { selfTime }) => sum + selfTime, 0);
        expect(Math.abs(outer.endedAt - outer.startedAt - own - toolMs * 1e6)).toBeLessThan(1000);
        for (const [i, { selfTime }] of runs.entries()) {
          const [before, after] = layers[i] as [number, number];
          expect(Math.abs(selfTime - (before + after) * 1e6)).toBeLessThan(1000);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("are never negative and never more than the run, however inner runs overlap", async () => {
    const plan = fc.array(fc.tuple(fc.nat(9), fc.nat(9)), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(plan, async (calls) => {
        const clock = fixedClock();
        const recorder = recordingRecorder();
        const gates = calls.map(() => gate());
        const fan: ToolCaller = async (call, next) => {
          const pending = calls.map(([wait], n) => {
            clock.advance(wait);
            return next({ ...call, toolArgs: n });
          });
          const order = calls.map((_, n) => n).sort((a, b) => (calls[a]?.[1] ?? 0) - (calls[b]?.[1] ?? 0));
          for (const n of order) {
            clock.advance(1);
            gates[n]?.open();
            await pending[n];
          }
          return (await Promise.all(pending))[0] as never;
        };
        const dispatch = createDispatcher([recorder.caller, fan, pass], { createClock: () => clock });
        await dispatch({ toolName: "t" }, ({ toolArgs }) => gates[toolArgs as number]?.opened);
        const [run] = recorder.only().runs as [LayerRun];
        expect(run.selfTime).toBeGreaterThanOrEqual(0);
        expect(run.selfTime).toBeLessThanOrEqual(run.endedAt - run.startedAt);
        expect(run.selfTime).toBeLessThan(((calls[0]?.[0] ?? 0) + 1) * 1e6);
      }),
      { numRuns: 50 },
    );
  });
});
