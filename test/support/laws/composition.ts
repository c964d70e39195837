// Laws of composition: order, identity, attempts, short circuits.
import type { ToolCall, ToolCaller, ToolResult } from "@toolspan/core";
import { expect } from "vitest";
import { answer, echo, named, pass, saying } from "../kernel-parts.ts";
import type { Law } from "../law.ts";
import { recordingObserver } from "../recording-observer.ts";
import { recordingRecorder } from "../recording-recorder.ts";

export const COMPOSITION_LAWS: readonly Law[] = [
  {
    title: "enters layers left to right and leaves them right to left",
    async check({ createDispatcher, composeToolCallers }) {
      const said: string[] = [];
      const layers = ["a", "b", "c"].map((name) => saying(name, said));
      const order = [">a", ">b", ">c", "tool", "<c", "<b", "<a"];
      await createDispatcher(layers)({ toolName: "t" }, () => void said.push("tool"));
      expect(said).toEqual(order);
      said.length = 0;
      const tool = async (call: ToolCall) => {
        said.push("tool");
        return answer(call);
      };
      await composeToolCallers(layers)({ toolName: "t", attempt: 1 } as ToolCall, tool);
      expect(said).toEqual(order);
    },
  },
  {
    title: "hands out the value that the handler returned, the same object, whatever layers pass it on",
    async check({ createDispatcher }) {
      const value = Object.freeze({ deep: [1] });
      for (const layers of [
        [],
        [pass],
        [pass, async (call: ToolCall, next: never) => pass(call, next, null as never)],
      ]) {
        const result = await createDispatcher(layers as ToolCaller[])({ toolName: "t" }, async () => value);
        expect(result.result).toBe(value);
        expect([result.ok, result.status, result.error, result.errorCategory]).toEqual([true, "ok", null, null]);
      }
    },
  },
  {
    title: "the identity and the empty list leave no record",
    async check({ createDispatcher, defaultToolCaller, composeToolCallers }) {
      for (const layers of [[], [defaultToolCaller()], [composeToolCallers([composeToolCallers([])])]]) {
        const observer = recordingObserver();
        const dispatch = createDispatcher([observer.caller, ...layers]);
        expect((await dispatch({ toolName: "t", toolArgs: 1 }, echo)).result).toBe(1);
        expect(observer.tree()).toBe("leaf#1 ok");
        expect(observer.only().ends[0]?.runs).toEqual([]);
      }
    },
  },
  {
    title: "a composition of compositions runs and records like the flat list",
    async check({ createDispatcher, composeToolCallers }) {
      const trees = [];
      for (const nested of [true, false]) {
        const observer = recordingObserver();
        const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => named(name, pass)) as [ToolCaller, ToolCaller, ToolCaller, ToolCaller]; // biome-ignore format: one list
        const layers = nested ? [a, composeToolCallers([b, composeToolCallers([c]), observer.caller]), d] : [observer.caller, a, b, c, d]; // biome-ignore format: one choice
        await createDispatcher(layers)({ toolName: "t" }, echo);
        trees.push(observer.tree());
        expect(observer.only().ends[0]?.runs.map(({ name, index }) => `${index} ${name}`)).toEqual(["0 a", "1 b", "2 c", "3 d"]); // biome-ignore format: one row
      }
      expect(trees[0]).toBe(trees[1]);
      expect(trees[0]).toBe(["a ok", "  b ok", "    c ok", "      d ok", "        leaf#1 ok"].join("\n"));
    },
  },
  {
    title: "leaves the list it is given alone, and is not changed by changing it afterwards",
    async check({ createDispatcher, composeToolCallers }) {
      const said: string[] = [];
      const layers = [saying("a", said), saying("b", said)];
      const copy = [...layers];
      const composed = composeToolCallers(layers);
      const dispatch = createDispatcher(layers);
      expect(layers).toEqual(copy);
      layers.reverse();
      layers.push(saying("c", said));
      await dispatch({ toolName: "t" }, echo);
      await createDispatcher(composed)({ toolName: "t" }, echo);
      expect(said).toEqual([">a", ">b", "<b", "<a", ">a", ">b", "<b", "<a"]);
    },
  },
  {
    title: "next called again is another attempt of the same dispatch",
    async check({ createDispatcher }) {
      const observer = recordingObserver();
      const recorder = recordingRecorder();
      const attempts: number[] = [];
      const retry = named("retry", async (call, next) => {
        const first = await next(call);
        return first.ok ? first : next(call);
      });
      const dispatch = createDispatcher([observer.caller, recorder.caller, retry, named("inner", pass)]);
      const result = await dispatch({ toolName: "t" }, (call) => {
        attempts.push(call.attempt);
        if (attempts.length === 1) throw new Error("first");
        return "second";
      });
      expect([result.result, attempts]).toEqual(["second", [1, 2]]);
      expect(observer.tree()).toBe(
        ["retry ok", "  inner ok", "    leaf#1 exception", "  inner ok", "    leaf#2 ok"].join("\n"),
      );
      expect(observer.only().ends[0]?.runs.map(({ name, attempt }) => `${name} ${attempt}`)).toEqual([
        "retry 1",
        "inner 1",
        "inner 2",
      ]);
      expect(recorder.only().attempts).toBe(2);
    },
  },
  {
    title: "a layer that does not call next is a short circuit: nothing behind it runs",
    async check({ createDispatcher }) {
      const observer = recordingObserver();
      let ran = 0;
      const deny = named("deny", (call, _next, scope) => {
        scope.report({ status: "denied", attributes: { by: "rule" } });
        return answer(call, { ok: false, status: "consent_denied", errorCategory: "denied", observation: "no" });
      });
      const count = named("count", (call, next) => {
        ran += 1;
        return next(call);
      });
      const dispatch = createDispatcher([pass, observer.caller, deny, count]);
      const result = await dispatch({ toolName: "t", callId: "c1" }, () => void (ran += 1));
      expect([ran, result.status, result.executed, result.executionDurationMs, result.toolCallId]).toEqual([0, "consent_denied", false, 0, "c1"]); // biome-ignore format: one row
      const [outer, denied] = observer.only().ends[0]?.runs ?? [];
      expect([outer?.name, outer?.shortCircuited, outer?.status]).toEqual(["pass", false, "ok"]);
      expect([denied?.shortCircuited, denied?.status, denied?.attributes]).toEqual([true, "denied", { by: "rule" }]);
    },
  },
  {
    title: "next called after the layer has ended rejects with TOOLSPAN_NEXT_AFTER_END and runs nothing",
    async check({ createDispatcher, ToolspanError }) {
      let late: Promise<ToolResult> | undefined;
      let callLate = (): void => {};
      let ran = 0;
      const keep = named("keep", (call, next) => {
        callLate = () => {
          late = next(call);
        };
        return next(call);
      });
      await createDispatcher([keep])({ toolName: "t" }, () => void (ran += 1));
      callLate();
      await expect(late).rejects.toSatisfy((thrown) => ToolspanError.is(thrown, "TOOLSPAN_NEXT_AFTER_END"));
      expect(ran).toBe(1);
    },
  },
];
