// Laws of several observers: each sees one sound tree of its own, opened outermost first and ended innermost first.
import { createDispatcher, type ToolCaller } from "@toolspan/core";
import { describe, expect, it } from "vitest";
import { named, pass, turn } from "../support/kernel-parts.ts";
import { recordingObserver } from "../support/recording-observer.ts";
import { recordingRecorder } from "../support/recording-recorder.ts";

const trace = (digit: string, sampled = true) => ({ traceId: digit.repeat(32), spanId: digit.repeat(16), sampled });
const retry: ToolCaller = named("retry", async (call, next) => {
  await next(call);
  return next(call);
});

describe("two observers", () => {
  it("see the same tree, and code runs inside both", async () => {
    const [one, two] = [recordingObserver(), recordingObserver({ name: "two" })];
    const seen: (string | undefined)[] = [];
    const look: ToolCaller = named("look", async (call, next) => {
      seen.push(one.active(), two.active());
      await turn();
      const result = await next(call);
      seen.push(one.active(), two.active());
      return result;
    });
    await createDispatcher([one.caller, look, two.caller, retry])({ toolName: "t" }, async () => {
      await turn();
      seen.push(one.active(), two.active());
    });
    expect(seen).toEqual(["look", "look", "leaf#1", "leaf#1", "leaf#2", "leaf#2", "look", "look"]);
    expect(one.tree()).toBe(two.tree());
    expect(one.only().ends[0]?.runs).toBe(two.only().ends[0]?.runs);
    expect([one.active(), two.active()]).toEqual([undefined, undefined]);
  });

  it("end in the opposite order of their opening", async () => {
    const log: string[] = [];
    const [one, two] = [recordingObserver({ log }), recordingObserver({ name: "two", log })];
    await createDispatcher([one.caller, two.caller])({ toolName: "t" }, () => 1);
    expect(log).toEqual(["two", "with_telemetry"]);
  });

  it("give the dispatch the trace of the first", async () => {
    const recorder = recordingRecorder();
    const [one, two] = [
      recordingObserver({ trace: trace("a") }),
      recordingObserver({ name: "two", trace: trace("b") }),
    ];
    await createDispatcher([recorder.caller, one.caller, two.caller])({ toolName: "t" }, () => 1);
    expect(recorder.only().dispatch.trace).toEqual(trace("a"));
    const traceless = createDispatcher([recorder.caller, recordingObserver().caller, two.caller]);
    await traceless({ toolName: "t" }, () => 1);
    expect(recorder.outcomes[1]?.dispatch.trace).toBeNull();
  });

  it("are asked for layers, leaves and recorders only if they record", async () => {
    const recorder = recordingRecorder({ reply: async () => ({ receipt: { level: "durable" } }) });
    for (const silentFirst of [true, false]) {
      const loud = recordingObserver({ name: "loud" });
      const silent = recordingObserver({ name: "silent", recording: false });
      const observers = silentFirst ? [silent.caller, loud.caller] : [loud.caller, silent.caller];
      await createDispatcher([...observers, recorder.caller, named("a", pass)])({ toolName: "t" }, () => 1);
      expect(loud.tree()).toBe("a ok\n  leaf#1 ok\nwith_audit_log ended");
      expect([silent.only().spans, silent.only().ends.length]).toEqual([[], 1]);
    }
  });

  it("give an enclosing clock to the dispatch, the first that has one", async () => {
    const inherited = { anchorSeconds: 7, anchorNanos: 0, now: () => 1 };
    const [one, two] = [recordingObserver(), recordingObserver({ name: "two", clock: inherited })];
    await createDispatcher([one.caller, two.caller])({ toolName: "t" }, () => 1);
    expect(one.only().scope.clock).toBe(inherited);
  });
});

describe("a nested dispatch", () => {
  it("is a dispatch of its own, run inside the leaf of the outer one", async () => {
    const observer = recordingObserver();
    const recorder = recordingRecorder();
    const dispatch = createDispatcher([observer.caller, recorder.caller, named("l", pass)]);
    let inside: string | undefined;
    const result = await dispatch({ toolName: "outer" }, async () => {
      const inner = await dispatch({ toolName: "inner" }, () => {
        inside = observer.active();
        return 1;
      });
      return [inner.result, observer.active(), observer.activeDispatch()?.scope.call.toolName];
    });
    expect([result.result, inside]).toEqual([[1, "leaf#1", "outer"], "leaf#1"]);
    expect(recorder.outcomes.map(({ result: { toolName } }) => toolName)).toEqual(["inner", "outer"]);
    const [outer, inner] = observer.dispatches;
    expect(outer?.scope.id).not.toBe(inner?.scope.id);
    for (const each of observer.dispatches) expect(observer.tree(each)).toBe("l ok\n  leaf#1 ok");
  });
});
