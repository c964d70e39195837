// Laws of streaming results: the reader drives, the dispatch ends once, and what nobody reads is said.

import { plainHasher } from "@toolspan/canonical/hash";
import {
  CAUSE,
  createDispatcher,
  type DispatchResult,
  defineLayer,
  type ToolCaller,
  type ToolResult,
} from "@toolspan/core";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { answer, counting, drain, gate, named, pass, statusLine, turn } from "../support/kernel-parts.ts";
import { recordingObserver } from "../support/recording-observer.ts";
import { durable, recordingRecorder } from "../support/recording-recorder.ts";

const settledOf = async (result: ToolResult): Promise<DispatchResult> => (await result.settled) as DispatchResult;
async function* failing(thrown: unknown): AsyncGenerator<never> {
  yield* [];
  throw thrown;
}
const stream = (result: ToolResult): AsyncGenerator<unknown> => result.result as AsyncGenerator<unknown>;

function watched(...layers: ToolCaller[]) {
  const log: string[] = [];
  const observer = recordingObserver({ log });
  const recorder = recordingRecorder({ log });
  return { log, observer, recorder, dispatch: createDispatcher([observer.caller, recorder.caller, ...layers]) };
}

describe("a handler's stream", () => {
  it.each([
    ["an async generator function", async function* () { yield* counting(3); }], // biome-ignore format: one form
    ["a promise of an async iterable", async () => counting(3)],
    ["an object with nothing but an async iterator", () => ({ [Symbol.asyncIterator]: () => { const all = counting(3); return { next: () => all.next() }; } })], // biome-ignore format: one form
    ["a web stream", () => new ReadableStream({ start(controller) { for (const n of [1, 2, 3]) controller.enqueue(n); controller.close(); } })], // biome-ignore format: one form
  ])("may be %s", async (_, tool) => {
    const { dispatch, recorder, observer } = watched(pass);
    const result = await dispatch({ toolName: "t" }, tool);
    expect([result.ok, result.status, result.executed, recorder.outcomes.length]).toEqual([true, "ok", true, 0]);
    expect(await drain(result)).toEqual([1, 2, 3]);
    expect((await settledOf(result)).status).toBe("ok");
    expect(recorder.only().resultDigest()).toEqual(plainHasher().value([1, 2, 3]));
    expect(observer.only().ends).toHaveLength(1);
  });

  it("that is only synchronous is a value like any other", async () => {
    const list = [1, 2];
    const result = await createDispatcher([pass])({ toolName: "t" }, () => list);
    expect([Object.is(result.result, list), result.settled]).toEqual([true, undefined]);
  });

  it("whose iterator cannot be made is an exception", async () => {
    const thrown = new Error("no iterator");
    const broken = { [Symbol.asyncIterator]() { throw thrown; } }; // biome-ignore format: one method
    const result = await createDispatcher([pass])({ toolName: "t" }, () => broken);
    expect([statusLine(result), result[CAUSE] === thrown, result.settled]).toEqual([
      "exception/exception",
      true,
      undefined,
    ]);
  });

  it.each([[undefined], [null]])("whose iterator answers with %o fails its reader, and the dispatch", async (step) => {
    const broken = { [Symbol.asyncIterator]: () => ({ next: () => step as never }) };
    const result = await createDispatcher([pass])({ toolName: "t" }, () => broken);
    await expect(stream(result).next()).rejects.toThrow(TypeError);
    expect((await settledOf(result)).status).toBe("exception");
  });

  it("gives its reader what next, return and throw are given, and what they answer with", async () => {
    const given: unknown[] = [];
    async function* tool(): AsyncGenerator<string, string, string> {
      given.push(yield "a");
      try {
        given.push(yield "b");
      } catch (thrown) {
        given.push(thrown);
      }
      yield "c";
      return "end";
    }
    const result = await createDispatcher([pass])({ toolName: "t" }, tool);
    const reader = stream(result);
    const steps = [await reader.next("ignored"), await reader.next("1"), await reader.throw("2"), await reader.next(), await reader.next()]; // biome-ignore format: one list
    expect(steps).toEqual([
      { done: false, value: "a" },
      { done: false, value: "b" },
      { done: false, value: "c" },
      { done: true, value: "end" },
      { done: true, value: undefined },
    ]);
    expect(given).toEqual(["1", "2"]);
  });

  it("that its reader leaves early is ok, ends once, and its finally runs", async () => {
    const { dispatch, recorder, log } = watched(pass);
    let cleaned = 0;
    const result = await dispatch({ toolName: "t" }, async function* () {
      try {
        yield* counting(100);
      } finally {
        cleaned += 1;
      }
    });
    for await (const item of stream(result)) if (item === 2) break;
    expect([(await settledOf(result)).status, cleaned]).toEqual(["ok", 1]);
    expect(recorder.only().resultDigest()).toEqual(plainHasher().value([1, 2]));
    expect(log).toEqual(["with_audit_log", "with_telemetry"]);
  });

  it("that its reader leaves early ends also where the iterator knows no return", async () => {
    const { dispatch, recorder } = watched(pass);
    const endless = { [Symbol.asyncIterator]: () => ({ next: async () => ({ done: false, value: 1 }) }) };
    const result = await dispatch({ toolName: "t" }, () => endless);
    for await (const _ of stream(result)) break;
    expect([(await settledOf(result)).status, recorder.outcomes.length]).toEqual(["ok", 1]);
    const other = await dispatch({ toolName: "t" }, () => endless);
    await expect(stream(other).throw("up")).rejects.toBe("up");
    expect((await settledOf(other))[CAUSE]).toBe("up");
  });

  it("that is read beyond its end, or closed twice, is recorded once and never late", async () => {
    const { dispatch, log } = watched(pass);
    const result = await dispatch({ toolName: "t" }, () => counting(1));
    await drain(result);
    const reader = stream(result);
    await reader.next();
    await reader.return(undefined);
    await reader.throw("x").catch(() => {});
    expect(log).toEqual(["with_audit_log", "with_telemetry"]);
  });

  it("may be pulled several times at once", async () => {
    const { dispatch, recorder } = watched(pass);
    const result = await dispatch({ toolName: "t" }, () => counting(2));
    const reader = stream(result);
    const steps = await Promise.all([reader.next(), reader.next(), reader.next(), reader.next()]);
    expect(steps.map(({ value }) => value)).toEqual([1, 2, undefined, undefined]);
    expect(recorder.outcomes).toHaveLength(1);
  });

  it("of which an item was a failure stays one though it completes", async () => {
    const { dispatch, recorder, observer } = watched(pass);
    const result = await dispatch({ toolName: "t" }, async function* () {
      yield 1;
      yield { isError: true };
      yield 2;
    });
    expect(await drain(result)).toEqual([1, { isError: true }, 2]);
    expect(statusLine(await settledOf(result))).toBe("error/tool_error");
    expect([recorder.only().errorType, observer.only().spans[1]?.leaf?.errorType]).toEqual([
      "tool_error",
      "tool_error",
    ]);
  });

  it("has each item classified, and neither the iterator nor the end", async () => {
    const seen: unknown[] = [];
    const classify = ({ value }: { value: unknown }) => {
      seen.push(value);
      return undefined;
    };
    const result = await createDispatcher([pass], { classify })({ toolName: "t" }, () => counting(2));
    await drain(result);
    expect(seen).toEqual([1, 2]);
  });

  it("that fails after a failed item keeps what was thrown", async () => {
    const thrown = new Error("end");
    const result = await createDispatcher([])({ toolName: "t" }, async function* () {
      yield { isError: true };
      throw thrown;
    });
    await expect(drain(result)).rejects.toBe(thrown);
    expect((await settledOf(result))[CAUSE]).toBe(thrown);
  });

  it("is aborted for an AbortError once the signal has fired", async () => {
    const controller = new AbortController();
    const result = await createDispatcher([])(
      { toolName: "t", signal: controller.signal },
      async function* ({ signal }) {
        yield 1;
        controller.abort();
        throw signal?.reason;
      },
    );
    await expect(drain(result)).rejects.toMatchObject({ name: "AbortError" });
    expect((await settledOf(result)).status).toBe("aborted");
  });

  it("starts its child work inside the leaf after every yield, wherever it is read", async () => {
    const { dispatch, observer } = watched(pass);
    const seen: (string | undefined)[] = [];
    const result = await dispatch({ toolName: "t" }, async function* () {
      seen.push(observer.active());
      yield 1;
      await turn();
      seen.push(observer.active());
      yield 2;
      seen.push(observer.active());
    });
    const reader = stream(result);
    await turn();
    await reader.next();
    expect(observer.active()).toBeUndefined();
    await new Promise<void>((resolve) => setTimeout(() => void reader.next().then(() => resolve()), 1));
    await reader.next();
    expect(seen).toEqual(["leaf#1", "leaf#1", "leaf#1"]);
  });

  it("keeps layers open until it closes, their self time stopping when they answer", async () => {
    const { dispatch, observer } = watched(named("outer", pass), named("inner", pass));
    const result = await dispatch({ toolName: "t" }, async function* () {
      yield 1;
      await new Promise((resolve) => setTimeout(resolve, 20));
    });
    expect(observer.tree()).toBe("outer open\n  inner open\n    leaf#1 open");
    await drain(result);
    expect(observer.tree()).toBe("outer ok\n  inner ok\n    leaf#1 ok");
    for (const run of observer.only().ends[0]?.runs ?? []) {
      expect(run.endedAt - run.startedAt).toBeGreaterThan(15e6);
      expect(run.selfTime).toBeLessThan(15e6);
    }
    const { spans } = observer.only();
    const [outer, inner, leaf] = spans.map(({ endedAt }) => endedAt[0] as number) as [number, number, number];
    expect(leaf < inner && inner < outer).toBe(true);
  });
});

describe("a stream and its receipt", () => {
  it("has the reader wait for the receipt, and rejects whichever call closes the stream when it fails", async () => {
    const full = new Error("disk full");
    const fails = () => createDispatcher([recordingRecorder({ reply: () => Promise.reject(full) }).caller, pass]);
    const byNext = await fails()({ toolName: "t" }, () => counting(1));
    await stream(byNext).next();
    await expect(stream(byNext).next()).rejects.toBe(full);
    expect(await stream(byNext).next()).toEqual({ done: true, value: undefined });
    const byReturn = await fails()({ toolName: "t" }, () => counting(5));
    await stream(byReturn).next();
    await expect(stream(byReturn).return(undefined)).rejects.toBe(full);
    const byThrow = await fails()({ toolName: "t" }, async function* () {
      try {
        yield 1;
      } catch {
        // ends quietly
      }
    });
    await stream(byThrow).next();
    await expect(stream(byThrow).throw("x")).rejects.toBe(full);
    for (const result of [byNext, byReturn, byThrow]) {
      const settled = await settledOf(result);
      expect([statusLine(settled), settled.executed]).toEqual(["tool_middleware_exception/receipt_failed", true]);
    }
  });

  it("has no reference before the close, and one afterwards", async () => {
    const { dispatch, recorder } = watched(pass);
    const result = await dispatch({ toolName: "t", callId: "c" }, () => counting(1));
    expect([result.audit, result.toolCallId]).toEqual([undefined, "c"]);
    await drain(result);
    expect((await settledOf(result)).audit?.receipt_uri).toBe(durable(recorder.only()).receipt.uri);
  });

  it("has settled never reject, whatever happens", async () => {
    const dispatch = createDispatcher([recordingRecorder({ reply: () => undefined as never }).caller]);
    const result = await dispatch({ toolName: "t" }, () => failing(new Error("at once")));
    await expect(drain(result)).rejects.toThrow("at once");
    expect((await settledOf(result)).errorCategory).toBe("receipt_failed");
  });
});

describe("a layer and a stream", () => {
  const drains: ToolCaller = async (call, next) => {
    const result = await next(call);
    return { ...result, result: await drain(result) };
  };

  it("that drains it answers with a finished result, receipt and all", async () => {
    const { dispatch, recorder, log } = watched(named("outer", pass), named("drains", drains));
    const result = await dispatch({ toolName: "t" }, () => counting(3));
    expect([result.result, result.status, result.audit?.receipt_uri !== undefined]).toEqual([[1, 2, 3], "ok", true]);
    expect(result.executionDurationMs).not.toBeNull();
    expect(log).toEqual(["with_audit_log", "with_telemetry"]);
    expect(recorder.only().resultDigest()).toEqual(plainHasher().value([1, 2, 3]));
    expect((await settledOf(result)).status).toBe("ok");
  });

  it("that drains it keeps the status it set itself, and cannot hide that the stream failed", async () => {
    const masks: ToolCaller = async (call, next) => ({
      ...(await drains(call, next, null as never)),
      status: "redacted",
    });
    const masked = await createDispatcher([masks])({ toolName: "t" }, () => counting(1));
    expect([masked.status, masked.result]).toEqual(["redacted", [1]]);
    const swallows: ToolCaller = async (call, next) => {
      const result = await next(call);
      await drain(result).catch(() => {});
      return { ...result, result: "looks fine" };
    };
    const thrown = new Error("half way");
    const result = await createDispatcher([swallows])({ toolName: "t" }, async function* () {
      yield 1;
      throw thrown;
    });
    expect([result.status, result[CAUSE] === thrown]).toEqual(["exception", true]);
  });

  it("that drops it ends the dispatch at once, the leaf abandoned, with nothing late until somebody reads on", async () => {
    let kept: ToolResult | undefined;
    const drops = named("drops", async (call, next) => {
      kept = await next(call);
      return answer(call, { result: "instead" });
    });
    const { dispatch, observer, recorder, log } = watched(drops, named("inner", pass));
    const result = await dispatch({ toolName: "t" }, () => counting(3));
    expect([result.result, result.settled, log]).toEqual(["instead", undefined, ["with_audit_log", "with_telemetry"]]);
    expect(observer.tree()).toBe("drops ok\n  inner abandoned\n    leaf#1 abandoned");
    expect((await settledOf(kept as ToolResult)).errorCategory).toBe("stream_abandoned");
    expect(recorder.only().resultDigest()).toEqual(plainHasher().value("instead"));
    expect(await drain(kept as ToolResult)).toEqual([1, 2, 3]);
    expect(log.slice(2)).toEqual(["with_telemetry.late", "with_audit_log.late"]);
  });

  it.each([
    ["puts a value in its place but keeps settled", { result: "instead" }, "ok"],
    ["turns it into a failure", { ok: false, status: "policy_blocked", observation: "no" }, "policy_blocked"],
  ] as const)("that %s has dropped it too", async (_, fields, status) => {
    const drops: ToolCaller = async (call, next) => ({ ...(await next(call)), ...fields }) as ToolResult;
    const { dispatch, log } = watched(pass, drops);
    const result = await dispatch({ toolName: "t" }, () => counting(3));
    expect([result.status, log]).toEqual([status, ["with_audit_log", "with_telemetry"]]);
    expect((await settledOf(result)).errorCategory).toBe("stream_abandoned");
  });

  it("may hand out a stream of its own made from it; the dispatch ends when the source closes", async () => {
    const doubles: ToolCaller = async (call, next) => {
      const result = await next(call);
      async function* doubled(): AsyncGenerator<number> {
        for await (const item of stream(result)) yield (item as number) * 2;
      }
      return { ...result, result: doubled() };
    };
    const { dispatch, log } = watched(doubles);
    const result = await dispatch({ toolName: "t" }, () => counting(3));
    expect([await drain(result), log.length]).toEqual([[2, 4, 6], 2]);
    expect((await settledOf(result)).status).toBe("ok");
  });

  it("that asks twice may hand out either stream; the other one is abandoned", async () => {
    for (const chosen of [0, 1]) {
      const hedges: ToolCaller = async (call, next) => [await next(call), await next(call)][chosen] as ToolResult;
      const { dispatch, log, recorder, observer } = watched(hedges, pass);
      const result = await dispatch({ toolName: "t" }, ({ attempt }) => counting(attempt));
      expect(log).toEqual([]);
      expect(await drain(result)).toEqual(chosen === 0 ? [1] : [1, 2]);
      expect(log).toEqual(["with_audit_log", "with_telemetry"]);
      expect(recorder.only().attempts).toBe(2);
      const leaves = observer
        .only()
        .spans.filter(({ kind }) => kind === "leaf")
        .map(({ leaf }) => leaf?.status);
      expect(leaves).toEqual(chosen === 0 ? ["ok", "aborted"] : ["aborted", "ok"]);
    }
  });

  it("may be a defined layer without audit, unobserved: the stream works the same", async () => {
    const silent = defineLayer({ name: "silent", traits: { audits: false }, call: pass });
    const result = await createDispatcher([silent])({ toolName: "t" }, () => counting(2));
    expect([await drain(result), (await settledOf(result)).status]).toEqual([[1, 2], "ok"]);
  });
});

describe("a stream that nobody reads", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const abandoned = "aborted/stream_abandoned";

  it("is abandoned after streamIdleMs, 60,000 unless said otherwise", async () => {
    for (const [options, idleMs] of [
      [{}, 60_000],
      [{ streamIdleMs: 500 }, 500],
    ] as const) {
      const observer = recordingObserver();
      const recorder = recordingRecorder();
      const dispatch = createDispatcher([observer.caller, recorder.caller, named("l", pass)], options);
      const result = await dispatch({ toolName: "t" }, () => counting(3));
      await vi.advanceTimersByTimeAsync(idleMs - 1);
      expect(recorder.outcomes).toHaveLength(0);
      await vi.advanceTimersByTimeAsync(1);
      expect(statusLine(recorder.only().result)).toBe(abandoned);
      expect(statusLine(await settledOf(result))).toBe(abandoned);
      expect(observer.tree()).toBe("l ok\n  leaf#1 aborted");
    }
  });

  it("is abandoned in the middle too, with what was yielded until then", async () => {
    const { dispatch, recorder } = watched(pass);
    const result = await dispatch({ toolName: "t" }, () => counting(3));
    await vi.advanceTimersByTimeAsync(59_000);
    await stream(result).next();
    await vi.advanceTimersByTimeAsync(59_000);
    await stream(result).next();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(statusLine(recorder.only().result)).toBe(abandoned);
    expect(recorder.only().resultDigest()).toEqual(plainHasher().value([1, 2]));
  });

  it("settles late, once, when it is read on, and the reader notices nothing", async () => {
    const { dispatch, recorder, observer, log } = watched(pass);
    const result = await dispatch({ toolName: "t" }, () => counting(3));
    await stream(result).next();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(log).toEqual(["with_audit_log", "with_telemetry"]);
    expect(await drain(result)).toEqual([2, 3]);
    expect(log).toEqual(["with_audit_log", "with_telemetry", "with_telemetry.late", "with_audit_log.late"]);
    expect(recorder.late[0]).toMatchObject({ attempt: 1, ok: true });
    expect([recorder.outcomes.length, observer.only().ends.length]).toEqual([1, 1]);
    expect(statusLine(await settledOf(result))).toBe(abandoned);
  });

  it("settles late with its error where it fails when it is read on", async () => {
    const { dispatch, recorder } = watched(pass);
    const thrown = new TypeError("late");
    const result = await dispatch({ toolName: "t" }, () => failing(thrown));
    await vi.advanceTimersByTimeAsync(60_000);
    await expect(stream(result).next()).rejects.toBe(thrown);
    expect(recorder.late).toMatchObject([{ ok: false, errorType: "TypeError" }]);
  });

  it("waits for ever with streamIdleMs 0, and is not cut short by a very long one", async () => {
    for (const streamIdleMs of [0, 1e12]) {
      const recorder = recordingRecorder();
      const dispatch = createDispatcher([recorder.caller], { streamIdleMs });
      const result = await dispatch({ toolName: "t" }, () => counting(1));
      await vi.advanceTimersByTimeAsync(24 * 3_600_000);
      expect(recorder.outcomes).toHaveLength(0);
      expect(await drain(result)).toEqual([1]);
    }
  });

  it("is not idle while a pull waits for the tool", async () => {
    const { dispatch, recorder } = watched(pass);
    const slow = gate();
    const result = await dispatch({ toolName: "t" }, async function* () {
      yield await slow.opened;
    });
    const [first, second] = [stream(result).next(), stream(result).next()];
    await vi.advanceTimersByTimeAsync(600_000);
    expect(recorder.outcomes).toHaveLength(0);
    slow.open();
    await Promise.all([first, second]);
    expect(recorder.only().result.status).toBe("ok");
  });

  it("is refused an idle time that is no number of milliseconds", () => {
    for (const streamIdleMs of [-1, Number.NaN, Number.POSITIVE_INFINITY, "60"]) {
      expect(() => createDispatcher([], { streamIdleMs: streamIdleMs as number })).toThrow(
        expect.objectContaining({ code: "TOOLSPAN_INVALID_OPTION" }),
      );
    }
  });

  it("is abandoned when flush or close comes to its deadline, and not before", async () => {
    for (const verb of ["flush", "close"] as const) {
      const { dispatch, recorder } = watched(pass);
      const result = await dispatch({ toolName: "t" }, () => counting(3));
      let done = false;
      const ending = dispatch[verb]({ timeoutMs: 200 }).then(() => {
        done = true;
      });
      await vi.advanceTimersByTimeAsync(199);
      expect([done, recorder.outcomes.length]).toEqual([false, 0]);
      await vi.advanceTimersByTimeAsync(1);
      await ending;
      expect([recorder.flushes, recorder.closes]).toEqual(verb === "flush" ? [1, 0] : [1, 1]);
      expect(statusLine(recorder.only().result)).toBe(abandoned);
      expect(statusLine(await settledOf(result))).toBe(abandoned);
    }
  });

  it("that closes in time lets flush go on at once", async () => {
    const { dispatch, recorder } = watched(pass);
    const result = await dispatch({ toolName: "t" }, () => counting(1));
    const flushing = dispatch.flush({ timeoutMs: 10_000 });
    await drain(result);
    await flushing;
    expect([recorder.only().result.status, vi.getTimerCount()]).toEqual(["ok", 0]);
  });

  it("leaves no timer behind once it has closed or was dropped", async () => {
    const drops: ToolCaller = async (call, next) => {
      await next(call);
      return answer(call);
    };
    await createDispatcher([drops])({ toolName: "t" }, () => counting(1));
    expect(vi.getTimerCount()).toBe(0);
    const result = await createDispatcher([pass])({ toolName: "t" }, () => counting(1));
    expect(vi.getTimerCount()).toBe(1);
    await drain(result);
    await stream(result).next();
    expect(vi.getTimerCount()).toBe(0);
  });
});
