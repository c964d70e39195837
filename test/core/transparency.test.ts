// Laws of transparency: being watched changes nothing that a tool, a layer or a caller could notice, and nothing is kept.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { CAUSE, createDispatcher, type DispatchScope, defineLayer, diagnostics, type ToolCaller } from "@toolspan/core";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { counting, drain, gate, named, pass, turn } from "../support/kernel-parts.ts";
import { recordingObserver } from "../support/recording-observer.ts";
import { recordingRecorder } from "../support/recording-recorder.ts";

beforeEach(() => diagnostics.listen(() => {}));

const trap = (): never => {
  throw new Error("trap");
};

/** Makers of values that tools really give and take, and of some that bite. */
const makers: fc.Arbitrary<() => unknown> = fc.oneof(
  fc
    .anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withNullPrototype: true,
      withTypedArray: true,
    })
    .map((value) => () => value),
  fc.constantFrom<() => unknown>(
    () => {
      const cycle: { self?: unknown } = {};
      cycle.self = cycle;
      return cycle;
    },
    () => Object.defineProperty({ a: 1 }, "b", { get: trap, enumerable: true }),
    () => ({ toJSON: trap }),
    () => ({ [Symbol.toPrimitive]: trap, toString: trap }),
    () => Object.freeze({ deep: Object.freeze([1, 2]) }),
    () => new Proxy({}, { get: (_, key) => (key === "then" ? undefined : trap()), has: trap, ownKeys: trap }),
    () => () => 1,
    () => Symbol("s"),
    () => new Error("returned"),
    () => Object.assign(new Error("with cause"), { cause: new Error("inner") }),
  ),
);

/** Counts every trap that is sprung, key by key. */
function counted(target: object): { readonly proxy: object; readonly traps: string[] } {
  const traps: string[] = [];
  const names = Reflect.ownKeys(Reflect).filter((key) => typeof key === "string") as (keyof ProxyHandler<object>)[];
  const handler = Object.fromEntries(
    names.map((name) => [
      name,
      (...given: unknown[]) => {
        traps.push(`${name} ${typeof given[1] === "string" || typeof given[1] === "symbol" ? String(given[1]) : ""}`);
        return (Reflect[name] as (...args: unknown[]) => unknown)(...given);
      },
    ]),
  );
  return { proxy: new Proxy(target, handler as ProxyHandler<object>), traps };
}

const stack = (): readonly ToolCaller[] => [
  named("a", pass),
  named("b", async (call, next) => next(call)),
  defineLayer({ name: "c", traits: { audits: false }, call: async (call, next) => ({ ...(await next(call)) }) }),
];

describe("a watched call", () => {
  it("gives the tool the same arguments and the caller the same value or thrown object, whatever they are", async () => {
    await fc.assert(
      fc.asyncProperty(makers, makers, fc.boolean(), fc.boolean(), async (makeArgs, makeValue, throws, isAsync) => {
        const [args, value] = [makeArgs(), makeValue()];
        for (const hoisted of [
          [],
          [recordingObserver().caller],
          [recordingObserver().caller, recordingRecorder().caller],
        ]) {
          let got: unknown;
          const tool = (given: unknown): unknown => {
            got = given;
            if (throws) throw value;
            return value;
          };
          const dispatch = createDispatcher([...hoisted, ...stack()]);
          const result = await dispatch({ toolName: "t", toolArgs: args }, async ({ toolArgs }) => {
            if (isAsync) await Promise.resolve();
            return tool(toolArgs);
          });
          expect(Object.is(got, args)).toBe(true);
          const given = throws ? result[CAUSE] : result.result;
          const isStream = !throws && result.settled !== undefined;
          expect(isStream || Object.is(given, value)).toBe(true);
          expect(Object.is(result.arguments, args)).toBe(true);
        }
      }),
      { numRuns: 150 },
    );
  });

  it("touches arguments, results and thrown objects exactly as often as an unwatched one", async () => {
    for (const throws of [true, false]) {
      const seen = [];
      for (const hoisted of [
        [],
        [recordingObserver().caller],
        [recordingObserver().caller, recordingObserver({ name: "two" }).caller],
      ]) {
        // biome-ignore format: one list
        const args = counted({ n: 1 });
        const value = counted(throws ? new Error("x") : { content: [] });
        const dispatch = createDispatcher([...hoisted, ...stack()]);
        await dispatch({ toolName: "t", toolArgs: args.proxy }, async () => {
          if (throws) throw value.proxy;
          return value.proxy;
        });
        seen.push([args.traps, value.traps.length]);
      }
      const [untouched] = seen;
      expect(untouched?.[0]).toEqual([]);
      expect(seen).toEqual([untouched, untouched, untouched]);
    }
  });

  it("gives layers the same order, the same calls and the same results", async () => {
    const notes = [];
    for (const hoisted of [
      [],
      [recordingObserver().caller],
      [recordingRecorder().caller, recordingObserver().caller],
    ]) {
      const said: unknown[] = [];
      const notices: ToolCaller = async (call, next) => {
        said.push(["in", call.toolName, call.toolArgs, call.attempt, Object.keys(call).toSorted()]);
        const result = await next(call);
        said.push(["out", result.status, result.result, Object.keys(result).toSorted()]);
        return result;
      };
      const retries: ToolCaller = async (call, next) => {
        const first = await next(call);
        return first.ok ? first : next({ ...call, toolArgs: "again" });
      };
      const dispatch = createDispatcher([notices, retries, ...hoisted, notices]);
      await dispatch({ toolName: "t", toolArgs: "first" }, ({ attempt }) => ({ isError: attempt === 1 }));
      notes.push(said);
    }
    expect(notes[1]).toEqual(notes[0]);
    expect(notes[2]).toEqual(notes[0]);
  });

  it("is not delayed by work of the tool that goes on in the background", async () => {
    const observer = recordingObserver();
    const background = gate();
    const dispatch = createDispatcher([observer.caller, pass]);
    const result = await dispatch({ toolName: "t" }, () => {
      void background.opened;
      throw new Error("at once");
    });
    expect([result.status, observer.only().ends.length]).toEqual(["exception", 1]);
    background.open();
  });
});

describe("a dispatch that has ended", () => {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;

  it("is kept by nobody: not after a value, a stream, a deferred receipt, or a late settlement", async () => {
    const scopes: WeakRef<DispatchScope>[] = [];
    const keeps: ToolCaller = (call, next, scope) => {
      scopes.push(new WeakRef(scope.dispatch));
      return next(call);
    };
    const givesUp: ToolCaller = (call, next) => {
      if (call.toolArgs !== "late") return next(call);
      void next(call);
      return { ok: false, status: "timeout", toolName: call.toolName, observation: "late" };
    };
    const slow = gate();
    const recorder = recordingRecorder({ reply: async () => ({ receipt: { level: "durable" } }) });
    const observer = recordingObserver();
    const dispatch = createDispatcher([recorder.caller, observer.caller, keeps, givesUp], { deferReceipts: true });
    const run = async (toolArgs: unknown, tool: () => unknown): Promise<void> => {
      const result = await dispatch({ toolName: "t", toolArgs }, tool);
      if (result.settled !== undefined) await drain(result);
    };
    await run(1, () => 1);
    await run(1, trap);
    await run(1, () => counting(3));
    await run("late", () => slow.opened);
    slow.open();
    await dispatch.drain();
    for (const list of [recorder.outcomes, recorder.late, observer.dispatches]) list.length = 0;
    for (let n = 0; n < 5; n += 1) {
      await turn();
      gc();
    }
    expect([scopes.length, scopes.flatMap((scope) => scope.deref() ?? []).length]).toEqual([4, 0]);
  });
});
