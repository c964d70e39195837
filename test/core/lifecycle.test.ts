// Laws of a dispatcher's life: deferred receipts, drain, flush, close.
import { createDispatcher, type Observer, observerCaller, type RecorderReply } from "@toolspan/core";
import { describe, expect, it } from "vitest";
import { echo, gate, pass, turn, withThen } from "../support/kernel-parts.ts";
import { recordingObserver } from "../support/recording-observer.ts";
import { durable, recordingRecorder } from "../support/recording-recorder.ts";

const REPLY: RecorderReply = { receipt: { level: "durable", uri: "file:///r#1" } };

describe("a deferred receipt", () => {
  it("lets the result go out claiming nothing, and drain waits for it", async () => {
    const disk = gate();
    const observer = recordingObserver();
    const recorder = recordingRecorder({ reply: () => disk.opened.then(() => REPLY) });
    const dispatch = createDispatcher([observer.caller, recorder.caller, pass], { deferReceipts: true });
    const result = await dispatch({ toolName: "t", toolArgs: 1 }, echo);
    expect([result.result, result.audit, observer.only().ends[0]?.receipt]).toEqual([
      1,
      undefined,
      { level: "pending" },
    ]);
    let drained = false;
    const draining = dispatch.drain().then(() => {
      drained = true;
    });
    await turn();
    expect(drained).toBe(false);
    disk.open();
    await draining;
    expect(drained).toBe(true);
    expect(observer.tree()).toBe("pass ok\n  leaf#1 ok");
  });

  it("that fails makes the next drain reject with the first failure, once", async () => {
    const [first, second] = [new Error("first"), new Error("second")];
    const failures = [first, second];
    const recorder = recordingRecorder({
      async reply() {
        await turn();
        return { receipt: { level: "failed" }, failure: { error: failures.shift() } };
      },
    });
    const dispatch = createDispatcher([recorder.caller], { deferReceipts: true });
    await Promise.all([dispatch({ toolName: "t" }, echo), dispatch({ toolName: "t" }, echo)]);
    await expect(dispatch.drain()).rejects.toBe(first);
    await expect(dispatch.drain()).resolves.toBeUndefined();
  });

  it.each([
    ["rejects", () => Promise.reject(new Error("disk"))],
    ["answers with nothing", async () => undefined as never],
  ])("whose recorder %s fails the drain, and nothing goes unhandled", async (_, reply) => {
    const dispatch = createDispatcher([recordingRecorder({ reply }).caller], { deferReceipts: true });
    expect((await dispatch({ toolName: "t", toolArgs: 1 }, echo)).result).toBe(1);
    await turn();
    await expect(dispatch.drain()).rejects.toBeInstanceOf(Error);
  });

  it("does not concern a recorder that answers at once: its word is kept", async () => {
    const recorder = recordingRecorder();
    const dispatch = createDispatcher([recorder.caller], { deferReceipts: true });
    const result = await dispatch({ toolName: "t" }, echo);
    expect(result.audit?.receipt_uri).toBe(durable(recorder.only()).receipt.uri);
    const full = recordingRecorder({ reply: () => ({ receipt: { level: "failed" }, failure: { error: 1 } }) });
    const withheld = await createDispatcher([full.caller], { deferReceipts: true })({ toolName: "t" }, echo);
    expect(withheld.errorCategory).toBe("receipt_failed");
  });
});

describe("a recorder that answers with something else than a reply", () => {
  it.each([[undefined], [null], [{}], [{ receipt: null }], ["durable"], [Promise.resolve(7)]])(
    "has written nothing: %o withholds the result",
    async (reply) => {
      const recorder = recordingRecorder({ reply: () => reply as never });
      const result = await createDispatcher([recorder.caller])({ toolName: "t", toolArgs: 1 }, echo);
      expect([result.errorCategory, result.original?.result]).toEqual(["receipt_failed", 1]);
    },
  );
});

describe("a recorder whose promise has a then of its own making", () => {
  it("is waited for all the same, and cannot fail the dispatch", async () => {
    const then = { value: () => { throw new Error("then"); } }; // biome-ignore format: one descriptor
    for (const deferReceipts of [true, false]) {
      const recorder = recordingRecorder({
        reply: () => withThen(Promise.resolve(REPLY), then) as Promise<RecorderReply>,
      });
      const dispatch = createDispatcher([recorder.caller], { deferReceipts });
      const result = await dispatch({ toolName: "t", toolArgs: 1 }, echo);
      expect([result.result, result.audit?.receipt_uri]).toEqual([1, deferReceipts ? undefined : "file:///r#1"]);
      await dispatch.drain();
    }
  });
});

describe("a recorder that is content with a lost receipt", () => {
  it("lets the result go out without a reference", async () => {
    const recorder = recordingRecorder({ reply: async () => ({ receipt: { level: "failed" } }) });
    const result = await createDispatcher([recorder.caller])({ toolName: "t", toolArgs: 1 }, echo);
    expect([result.result, result.ok, result.audit]).toEqual([1, true, undefined]);
  });
});

describe("flush and close", () => {
  it("reach every recorder and observer, recorders first, flush before close", async () => {
    const log: string[] = [];
    const part = (name: string) => ({
      name,
      flush: async () => void log.push(`${name}.flush`),
      close: async () => void log.push(`${name}.close`),
    });
    const observer = { ...part("o"), dispatch: () => { throw new Error(); }, run: async () => {}, model: async () => {} }; // biome-ignore format: one object
    const recorder = recordingRecorder();
    const { caller } = recorder;
    const dispatch = createDispatcher([observerCaller(observer as unknown as Observer), caller]);
    await dispatch.flush();
    expect([log, recorder.flushes, recorder.closes]).toEqual([["o.flush"], 1, 0]);
    await dispatch.close();
    expect([log, recorder.flushes, recorder.closes]).toEqual([["o.flush", "o.flush", "o.close"], 2, 1]);
  });

  it("take every step although one fails, and fail with the first failure", async () => {
    const [one, two] = [recordingRecorder(), recordingObserver()];
    const failing = new Error("flush");
    const broken = { name: "broken", flush: async () => { throw failing; }, close: async () => {}, dispatch: () => { throw new Error(); } }; // biome-ignore format: one object
    const dispatch = createDispatcher([observerCaller(broken as unknown as Observer), one.caller, two.caller]);
    await expect(dispatch.flush()).rejects.toBe(failing);
    expect([one.flushes, two.flushes]).toEqual([1, 1]);
    await expect(dispatch.close()).rejects.toBe(failing);
    expect([one.closes, two.closes]).toEqual([1, 1]);
  });

  it("close once, however often and in whatever form they are asked to", async () => {
    const [recorder, observer] = [recordingRecorder(), recordingObserver()];
    const dispatch = createDispatcher([recorder.caller, observer.caller]);
    const closing = dispatch.close();
    expect(dispatch.close()).toBe(closing);
    await Promise.all([closing, dispatch[Symbol.asyncDispose](), dispatch.close({ timeoutMs: 1 })]);
    expect([recorder.closes, observer.closes]).toEqual([1, 1]);
    const disposed = createDispatcher([recorder.caller, observer.caller]);
    await disposed[Symbol.asyncDispose]();
    await disposed.close();
    expect([recorder.closes, observer.closes]).toEqual([2, 2]);
  });

  it("wait for deferred receipts before they pass on to the recorder", async () => {
    const disk = gate();
    const order: string[] = [];
    const recorder = recordingRecorder({
      async reply() {
        await disk.opened;
        order.push("written");
        return REPLY;
      },
    });
    const dispatch = createDispatcher([recorder.caller], { deferReceipts: true });
    await dispatch({ toolName: "t" }, echo);
    const closing = dispatch.close().then(() => order.push("closed"));
    await turn();
    expect([order, recorder.flushes]).toEqual([[], 0]);
    disk.open();
    await closing;
    expect([order, recorder.flushes, recorder.closes]).toEqual([["written", "closed"], 1, 1]);
  });

  it("have nothing to do for a dispatcher without parts", async () => {
    const dispatch = createDispatcher([pass]);
    await dispatch.flush();
    await dispatch.drain();
    await dispatch.close();
    expect((await dispatch({ toolName: "t", toolArgs: 1 }, echo)).result).toBe(1);
  });
});
