// Laws of streaming results.
import type { DispatchResult, ToolCaller } from "@toolspan/core";
import { expect } from "vitest";
import { counting, drain, named, pass } from "../kernel-parts.ts";
import type { Law } from "../law.ts";
import { recordingObserver } from "../recording-observer.ts";
import { durable, recordingRecorder } from "../recording-recorder.ts";

export const STREAM_LAWS: readonly Law[] = [
  {
    title: "a stream is handed out at once; records, receipt, span and event come when it closes",
    async check({ createDispatcher }) {
      const log: string[] = [];
      const observer = recordingObserver({ log });
      const recorder = recordingRecorder({ log });
      const onAudit = (): void => void log.push("event");
      const audits: ToolCaller = async (call, next) => ({ ...(await next(call)), audit: { summary: "s" } });
      const dispatch = createDispatcher([named("audits", audits), observer.caller, recorder.caller], { onAudit });
      const result = await dispatch({ toolName: "t" }, () => counting(3));
      expect([result.status, result.executionDurationMs, result.audit?.receipt_uri, log]).toEqual(["ok", null, undefined, []]); // biome-ignore format: one row
      expect(observer.tree()).toBe("audits open\n  leaf#1 open");
      expect(await drain(result)).toEqual([1, 2, 3]);
      expect(log).toEqual(["with_audit_log", "with_telemetry", "event"]);
      const settled = (await result.settled) as DispatchResult;
      expect([settled.status, settled.audit?.receipt_uri]).toEqual(["ok", durable(recorder.only()).receipt.uri]);
      expect(settled.executionDurationMs).toBeGreaterThan(0);
      expect(observer.tree()).toBe("audits ok\n  leaf#1 ok");
    },
  },
  {
    title: "every next, return and throw of a stream runs in the context of the leaf",
    async check({ createDispatcher }) {
      const observer = recordingObserver();
      const seen: (string | undefined)[] = [];
      const source: AsyncIterator<number> = {
        async next() {
          seen.push(`next ${observer.active()}`);
          return { done: false, value: 1 };
        },
        async return() {
          seen.push(`return ${observer.active()}`);
          return { done: true, value: undefined };
        },
        async throw() {
          seen.push(`throw ${observer.active()}`);
          return { done: false, value: 2 };
        },
      };
      const dispatch = createDispatcher([observer.caller, pass]);
      const result = await dispatch({ toolName: "t" }, () => ({ [Symbol.asyncIterator]: () => source }));
      const stream = result.result as AsyncGenerator;
      await stream.next();
      await stream.throw("x");
      await stream.return(undefined);
      expect(seen).toEqual(["next leaf#1", "throw leaf#1", "return leaf#1"]);
    },
  },
  {
    title: "a stream that fails in the middle is an exception, and the reader gets the thrown object",
    async check({ createDispatcher, CAUSE }) {
      const thrown = new TypeError("half way");
      const recorder = recordingRecorder();
      const result = await createDispatcher([recorder.caller, pass])({ toolName: "t" }, async function* () {
        yield 1;
        throw thrown;
      });
      await expect(drain(result)).rejects.toBe(thrown);
      const settled = (await result.settled) as DispatchResult;
      expect([settled.status, settled[CAUSE] === thrown]).toEqual(["exception", true]);
      expect(recorder.only().errorType).toBe("TypeError");
    },
  },
];
