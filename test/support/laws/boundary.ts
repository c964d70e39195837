// Laws of the boundary around a layer: failures, records, times, abandonment.
import type { LateSettlement, ToolCaller } from "@toolspan/core";
import { fixedClock } from "@toolspan/core/testing";
import { expect } from "vitest";
import { answer, echo, gate, named, pass, statusLine, turn } from "../kernel-parts.ts";
import type { Law } from "../law.ts";
import { recordingObserver } from "../recording-observer.ts";
import { durable, recordingRecorder } from "../recording-recorder.ts";

export const BOUNDARY_LAWS: readonly Law[] = [
  {
    title: "a layer that throws becomes a failure that names it and keeps the thrown object, and the call goes on",
    async check({ createDispatcher, CAUSE }) {
      const thrown = new TypeError("boom");
      const breaks: readonly ToolCaller[] = [
        () => {
          throw thrown;
        },
        async () => {
          throw thrown;
        },
        async (call, next) => {
          await next(call);
          throw thrown;
        },
      ];
      for (const broken of breaks) {
        const observer = recordingObserver();
        const dispatch = createDispatcher([named("outer", pass), named("broken", broken), observer.caller]);
        const result = await dispatch({ toolName: "t" }, echo);
        expect(statusLine(result)).toBe("tool_middleware_exception/middleware_exception");
        expect(result.error).toContain("broken");
        expect(result[CAUSE]).toBe(thrown);
        const [outer, failing] = observer.only().ends[0]?.runs ?? [];
        expect([outer?.status, failing?.status, failing?.errorType]).toEqual(["ok", "error", "TypeError"]);
      }
    },
  },
  {
    title: "a layer that answers with nothing, or with an incomplete result, becomes a failure that names it",
    async check({ createDispatcher }) {
      const trap = (key: PropertyKey): PropertyKey => {
        if (key !== "then") throw new Error("trap");
        return key;
      };
      const hostile = new Proxy({}, { get: (_, key) => void trap(key) });
      const answers: readonly unknown[] = [
        undefined,
        null,
        42,
        "text",
        {},
        { ok: true, status: "ok", result: 1 },
        { ok: true, status: "ok", toolName: "t" },
        { ok: false, status: "ok", toolName: "t", result: 1 },
        { ok: true, status: "splendid", toolName: "t", result: 1 },
        { ok: true, status: "toString", toolName: "t", result: 1 },
        hostile,
      ];
      for (const given of answers) {
        for (const layer of [
          () => given,
          async () => given,
          // biome-ignore lint/suspicious/noThenProperty: a thenable is what is meant
          () => ({ then: (ok: (value: unknown) => void) => ok(given) }),
        ]) {
          const dispatch = createDispatcher([pass, named("vague", layer as ToolCaller)]);
          const result = await dispatch({ toolName: "t" }, echo);
          expect(statusLine(result)).toBe("tool_middleware_exception/middleware_incomplete");
          expect(result.error).toContain("vague");
        }
      }
    },
  },
  {
    title: "a handler that throws is caught once, and what it threw is kept, even undefined",
    async check({ createDispatcher, CAUSE }) {
      const dispatch = createDispatcher([pass, pass]);
      for (const thrown of [
        new RangeError("x"),
        undefined,
        null,
        "text",
        0,
        { name: "Odd name!" },
        Object.create(null),
      ]) {
        for (const throws of [
          () => {
            throw thrown;
          },
          async () => {
            throw thrown;
          },
        ]) {
          // biome-ignore format: two forms
          const result = await dispatch({ toolName: "t" }, throws);
          expect([result.ok, result.status, CAUSE in result, "result" in result]).toEqual([false, "exception", true, false]); // biome-ignore format: one row
          expect(Object.is(result[CAUSE], thrown)).toBe(true);
          expect(CAUSE in { ...result }).toBe(true);
          expect(JSON.stringify(result)).not.toContain("cause");
        }
      }
    },
  },
  {
    title: "self time is the run less the union of its inner runs",
    async check({ createDispatcher }) {
      const clock = fixedClock();
      const observer = recordingObserver();
      const work = named("work", async (call, next) => {
        clock.advance(10);
        await next(call);
        clock.advance(5);
        const [one, two] = [gate(), gate()];
        const first = next({ ...call, toolArgs: one.opened });
        clock.advance(1);
        const second = next({ ...call, toolArgs: two.opened });
        clock.advance(2);
        one.open();
        await first;
        clock.advance(4);
        two.open();
        const result = await second;
        clock.advance(20);
        return result;
      });
      const dispatch = createDispatcher([observer.caller, work], { createClock: () => clock });
      await dispatch({ toolName: "t" }, async (call) => {
        if (call.attempt === 1) clock.advance(100);
        else await call.toolArgs;
      });
      const [run] = observer.only().ends[0]?.runs ?? [];
      expect(Math.round((run?.selfTime ?? 0) / 1e6)).toBe(35);
      expect(Math.round(((run?.endedAt ?? 0) - (run?.startedAt ?? 0)) / 1e6)).toBe(142);
    },
  },
  {
    title: "every child lies within its parent's window and no two readings tie, though the wall clock is stepped",
    async check({ createDispatcher }) {
      const observer = recordingObserver();
      const recorder = recordingRecorder({ reply: async (outcome) => durable(outcome) });
      const wall = Date.now;
      const step = named("step", async (call, next) => {
        Date.now = () => wall() - 3_600_000;
        await next(call);
        Date.now = () => wall() + 3_600_000;
        return next(call);
      });
      try {
        await createDispatcher([observer.caller, step, named("b", pass), recorder.caller])({ toolName: "t" }, echo);
      } finally {
        Date.now = wall;
      }
      const { spans, ends, scope } = observer.only();
      const end = ends[0] as NonNullable<(typeof ends)[0]>;
      const readings = [scope.startedAt, end.observedAt, ...spans.flatMap((span) => [span.startedAt, ...span.endedAt])];
      expect(new Set(readings).size).toBe(readings.length);
      for (const { kind, parent, startedAt, endedAt } of spans) {
        expect(endedAt).toHaveLength(1);
        const [from, to] = parent ? [parent.startedAt, parent.endedAt[0]] : [scope.startedAt, end.observedAt];
        expect(startedAt).toBeGreaterThan(from);
        expect(endedAt[0]).toBeGreaterThan(startedAt);
        expect(endedAt[0]).toBeLessThan(to as number);
        if (kind === "recorder") expect(startedAt).toBeGreaterThan(end.endedAt);
      }
      const starts = spans.map(({ startedAt }) => startedAt);
      expect(starts).toEqual(starts.toSorted((a, b) => a - b));
    },
  },
  {
    title: "a record says whether the arguments were changed, by content where somebody hashes",
    async check({ createDispatcher }) {
      const observer = recordingObserver();
      const recorder = recordingRecorder();
      const copy = named("copy", (call, next) => next({ ...call, toolArgs: structuredClone(call.toolArgs) }));
      const change = named("change", (call, next) => next({ ...call, toolArgs: { n: 2 } }));
      const dispatch = createDispatcher([observer.caller, recorder.caller, copy, change, pass]);
      await dispatch({ toolName: "t", toolArgs: { n: 1 } }, echo);
      const runs = recorder.only().runs.map(({ name, argsChanged }) => `${name} ${argsChanged}`);
      expect(runs).toEqual(["copy false", "change true", "pass false"]);
      expect(observer.only().spans.at(-1)?.leaf?.argsChanged).toBe(true);
      const { dispatch: scope, executedArgs } = recorder.only();
      expect(scope.argsDigest?.hash).not.toBe(executedArgs?.hash);
    },
  },
  {
    title:
      "inner runs that nobody waits for end as abandoned, and a handler that settles later is told of once, at the end",
    async check({ createDispatcher }) {
      const log: string[] = [];
      const observer = recordingObserver({ log });
      const recorder = recordingRecorder({ log });
      const [slow, held] = [gate<string>(), gate()];
      const giveUp = named("give_up", (call, next) => {
        void next(call);
        return answer(call, { ok: false, status: "timeout", errorCategory: "timeout", observation: "late" });
      });
      const hold = named("hold", async (call, next) => {
        const result = await next(call);
        await held.opened;
        return result;
      });
      const layers = [hold, giveUp, named("inner", pass), observer.caller, recorder.caller];
      const pending = createDispatcher(layers)({ toolName: "t" }, () => slow.opened);
      await turn();
      slow.open("value");
      await turn();
      held.open();
      const result = await pending;
      await turn();
      expect(result.status).toBe("timeout");
      expect(observer.tree()).toBe(
        ["hold ok", "  give_up error", "    inner abandoned", "      leaf#1 abandoned"].join("\n"),
      );
      for (const { endedAt } of observer.only().spans) expect(endedAt).toHaveLength(1);
      expect(log).toEqual(["with_audit_log", "with_telemetry", "with_telemetry.late", "with_audit_log.late"]);
      const [late] = observer.only().late as [LateSettlement];
      expect([late.attempt, late.ok, late.errorType, late.dispatch]).toEqual([
        1,
        true,
        undefined,
        observer.only().scope,
      ]);
      expect(late.settledAt).toBeGreaterThan(late.startedAt);
    },
  },
];
