// Laws of the end of a dispatch: roles, order, audit, receipts, counts.
import type { DispatchOutcome, DispatchResult, ToolCall, ToolCaller, ToolResult } from "@toolspan/core";
import { expect } from "vitest";
import { answer, counting, drain, echo, gate, named, pass, statusLine, turn } from "../kernel-parts.ts";
import type { Law } from "../law.ts";
import { recordingObserver } from "../recording-observer.ts";
import { durable, recordingRecorder } from "../recording-recorder.ts";
import { OBSERVER_PLACES, throwingObserver } from "../throwing-observer.ts";

export const END_LAWS: readonly Law[] = [
  {
    title: "recorders and observers cover the whole dispatch wherever they stand in the list",
    async check({ createDispatcher, composeToolCallers }) {
      const deny = named("deny", (call) => answer(call, { ok: false, status: "policy_blocked", observation: "no" }));
      const places = [0, 1, 2, 3];
      for (const place of places) {
        for (const nested of [true, false]) {
          const observer = recordingObserver();
          const recorder = recordingRecorder();
          const hoisted = [recorder.caller, observer.caller];
          const layers: ToolCaller[] = [named("a", pass), deny, named("never", pass)];
          layers.splice(place, 0, ...(nested ? [composeToolCallers(hoisted)] : hoisted));
          const result = await createDispatcher(layers)({ toolName: "t" }, echo);
          expect(observer.tree()).toBe("a ok\n  deny error");
          expect(recorder.only().result.status).toBe("policy_blocked");
          expect(result.audit?.receipt_uri).toBe(durable(recorder.only()).receipt.uri);
        }
      }
    },
  },
  {
    title: "at the end come the result, then recorders, then observers, then the event, then the return",
    async check({ createDispatcher }) {
      const log: string[] = [];
      const recorder = recordingRecorder({
        log,
        async reply(outcome) {
          await turn();
          log.push("written");
          return durable(outcome);
        },
      });
      const layer = named("layer", async (call, next) => {
        const result = await next(call);
        log.push("layer");
        return { ...result, audit: { summary: "s" } };
      });
      const observer = recordingObserver({ log });
      const onAudit = (): void => void log.push("event");
      const dispatch = createDispatcher([layer, observer.caller, recorder.caller], { onAudit });
      await dispatch({ toolName: "t" }, () => void log.push("tool"));
      log.push("returned");
      expect(log).toEqual(["tool", "layer", "with_audit_log", "written", "with_telemetry", "event", "returned"]);
      expect(observer.tree()).toBe("layer ok\n  leaf#1 ok\nwith_audit_log ended");
    },
  },
  {
    title: "audit reaches the result and the event although an outer layer drops it, outer keys winning",
    async check({ createDispatcher }) {
      const events: unknown[] = [];
      const audits =
        (audit: Record<string, unknown>): ToolCaller =>
        async (call, next) => ({ ...(await next(call)), audit });
      const drops: ToolCaller = async (call, next) => {
        const { audit: _, ...rest } = await next(call);
        return rest;
      };
      const onAudit = (event: unknown): void => void events.push(event);
      const layers = [drops, audits({ summary: "outer", x: 1 }), drops, audits({ summary: "inner", y: 2 })];
      const dispatch = createDispatcher(layers, { onAudit });
      const call = { toolName: "t", callId: "c", turn: { iteration: 1, sessionId: "s" } };
      const result = await dispatch(call, echo);
      expect(result.audit).toMatchObject({ summary: "outer", x: 1, y: 2 });
      expect(result.audit?.layers?.map(({ index, depth, attempt }) => [index, depth, attempt])).toEqual([[0, 0, 1], [1, 1, 1], [2, 2, 1], [3, 3, 1]]); // biome-ignore format: one row
      expect(events).toEqual([
        {
          type: "tool_call_audit",
          session_id: "s",
          tool_call_id: "c",
          tool_name: "t",
          dispatch_id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
          audit: result.audit,
        },
      ]);
    },
  },
  {
    title: "without a layer that sets audit there is no event and no layers, only what the recorder adds",
    async check({ createDispatcher }) {
      const events: unknown[] = [];
      const recorder = recordingRecorder();
      const onAudit = (event: unknown): void => void events.push(event);
      const result = await createDispatcher([pass, recorder.caller], { onAudit })({ toolName: "t" }, echo);
      expect(result.audit).toEqual({ receipt_uri: durable(recorder.only()).receipt.uri });
      const bare = await createDispatcher([pass], { onAudit })({ toolName: "t" }, echo);
      expect("audit" in bare).toBe(false);
      expect(events).toEqual([]);
    },
  },
  {
    title: "a receipt that fails withholds the result, keeps it as original, and says whether the tool ran",
    async check({ createDispatcher, CAUSE }) {
      const full = new Error("disk full");
      const replies = [
        () => ({ receipt: { level: "failed" as const }, failure: { error: full } }),
        async () => ({ receipt: { level: "failed" as const }, failure: { error: full } }),
        () => {
          throw full;
        },
        async () => {
          throw full;
        },
      ];
      for (const reply of replies) {
        const observer = recordingObserver();
        const recorder = recordingRecorder({ reply });
        const dispatch = createDispatcher([observer.caller, recorder.caller, pass]);
        const result = await dispatch({ toolName: "t" }, () => "effect");
        expect(statusLine(result)).toBe("tool_middleware_exception/receipt_failed");
        expect([result.ok, result.executed, result.original?.result, "result" in result]).toEqual([false, true, "effect", false]); // biome-ignore format: one row
        expect(result[CAUSE]).toBe(full);
        expect(result.audit?.receipt_uri).toBeUndefined();
        const [end] = observer.only().ends;
        expect([end?.result.status, end?.finalResult.errorCategory]).toEqual(["ok", "receipt_failed"]);
        const refused = await dispatch({ toolName: "t" }, undefined);
        expect([refused.errorCategory, refused.executed]).toEqual(["receipt_failed", false]);
      }
    },
  },
  {
    title: "an observer that throws at any method cannot fail or change a call, and the handler runs exactly once",
    async check({ createDispatcher, CAUSE }) {
      const value = { any: "value" };
      const thrown = new Error("tool");
      const says = named("says", (call, next, scope) => {
        scope.event("e");
        return next(call);
      });
      const broken = [OBSERVER_PLACES, ...OBSERVER_PLACES.map((place) => [place])].map((places) =>
        throwingObserver(places),
      );
      const other = recordingObserver({ name: "other" }).caller;
      for (const observers of broken.flatMap((one) => [[one], [one, other], [other, one]])) {
        let ran = 0;
        const dispatch = createDispatcher([...observers, says]);
        const good = await dispatch({ toolName: "t" }, () => {
          ran += 1;
          return value;
        });
        const bad = await dispatch({ toolName: "t" }, () => {
          ran += 1;
          throw thrown;
        });
        expect([good.result === value, bad[CAUSE] === thrown, ran]).toEqual([true, true, 2]);
      }
    },
  },
  {
    title: "concurrent dispatches keep their own records, ids and arguments",
    async check({ createDispatcher }) {
      const observer = recordingObserver();
      const recorder = recordingRecorder();
      const dispatch = createDispatcher([named("a", pass), observer.caller, recorder.caller, named("b", pass)]);
      const gates = Array.from({ length: 5 }, () => gate());
      const results = gates.map(({ opened }, n) => dispatch({ toolName: `t${n}`, toolArgs: { n } }, () => opened));
      for (const { open } of gates.toReversed()) {
        open();
        await turn();
      }
      await Promise.all(results);
      expect(new Set(observer.dispatches.map(({ scope }) => scope.id)).size).toBe(5);
      for (const { scope, ends, spans } of observer.dispatches) {
        expect(ends).toHaveLength(1);
        expect(ends[0]?.runs.map(({ name }) => name)).toEqual(["a", "b"]);
        expect(spans).toHaveLength(3);
        expect(recorder.outcomes.filter((outcome) => outcome.dispatch === scope)).toHaveLength(1);
      }
    },
  },
  {
    title: "dispatches, spans and receipts are equal in number on every path",
    async check({ createDispatcher, withExecutionPolicy }) {
      const observer = recordingObserver();
      const recorder = recordingRecorder();
      const options = {
        validator: (call: ToolCall) => (call.toolArgs === "bad" ? [{ path: "", message: "bad" }] : []),
      };
      const behave = named("behave", (call, next) => {
        if (call.toolArgs === "deny") return answer(call, { ok: false, status: "consent_denied", observation: "no" });
        if (call.toolArgs === "break") throw new Error("layer");
        if (call.toolArgs === "void") return undefined as never;
        if (call.toolArgs === "suspend") return answer(call, { ok: false, status: "suspended", observation: "wait" });
        if (call.toolArgs === "retry") return next(call).then(() => next(call));
        return next(call);
      });
      const dispatch = createDispatcher([behave, observer.caller, recorder.caller], options);
      const throws = (): never => {
        throw new Error("tool");
      };
      const words = ["ok", "deny", "break", "void", "suspend", "retry", "bad"];
      const results = await Promise.all([
        ...words.map((toolArgs) => dispatch({ toolName: "t", toolArgs }, echo)),
        dispatch({ toolName: "t" }, throws),
        dispatch({ toolName: "t" }, undefined),
        dispatch({ toolName: "t", known: false }, undefined),
        dispatch({ toolName: "t", rawArgs: "{" }, echo),
        dispatch({ toolName: "t", signal: AbortSignal.abort() }, echo),
        dispatch(null as never, echo),
        dispatch({} as never, echo),
        dispatch.refuse({ toolName: "t" }, { status: "policy_blocked", errorCategory: "limit_exceeded" }),
        withExecutionPolicy({ allowedTools: [] }, () => dispatch({ toolName: "t" }, echo)),
        dispatch({ toolName: "t" }, () => counting(2)).then(async (result) => {
          await drain(result);
          return result.settled as Promise<DispatchResult>;
        }),
      ]);
      const count = results.length;
      expect(observer.dispatches).toHaveLength(count);
      expect(recorder.outcomes).toHaveLength(count);
      expect(observer.dispatches.flatMap(({ ends }) => ends)).toHaveLength(count);
      const ids = new Set(recorder.outcomes.map((outcome: DispatchOutcome) => outcome.dispatch.id));
      expect(ids.size).toBe(count);
      const statuses = (list: readonly ToolResult[]) => list.map(({ status }) => status).toSorted();
      expect(statuses(recorder.outcomes.map((outcome) => outcome.result))).toEqual(statuses(results));
    },
  },
];
