// Laws of receipts in a run: without the receipt that the policy demands, nothing more runs.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createAgent, type ScriptStep, scriptedModel } from "@toolspan/agent";
import { createDispatcher, createToolRegistry, diagnostics, type RecorderReply, recorderCaller } from "@toolspan/core";
import { describe, expect, test } from "vitest";
import { noHasher, type Watching, watching } from "./watching.ts";

const calls = (count: number): ScriptStep => ({ toolCalls: Array.from({ length: count }, () => ({ name: "work" })) });
const durable: RecorderReply = { receipt: { level: "durable" } };
const diskFull = new Error("disk full");
const failed: RecorderReply = { receipt: { level: "failed" }, failure: { error: diskFull } };

/** A promise that is resolved from outside. */
function deferred<T>(): { readonly promise: Promise<T>; resolve(value: T): void } {
  let resolve = (_: T): void => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve: (value) => resolve(value) };
}

function agentOn(
  watch: Watching,
  steps: readonly ScriptStep[],
  extra: { prefetchNextTurn?: boolean; many?: number } = {},
) {
  let started = 0;
  const agent = createAgent({
    name: "clerk",
    model: scriptedModel({ steps }),
    tools: createToolRegistry([
      {
        name: "work",
        execute() {
          started += 1;
          return "done";
        },
      },
    ]),
    layers: watch.layers,
    limits: { maxConcurrentTools: extra.many ?? 1 },
    prefetchNextTurn: extra.prefetchNextTurn ?? false,
  });
  return { agent, started: () => started };
}

describe("a receipt that failed", () => {
  test("ends the run: the calls after it are refused, and no model is asked again", async () => {
    const watch = watching(({ result }) => (result.executed ? failed : durable));
    const { agent, started } = agentOn(watch, [calls(3), { text: "never" }]);
    const result = await agent.run("go");
    expect(result).toMatchObject({ stopReason: "receipt_failed", error: diskFull, modelCalls: 1, toolCalls: 3 });
    expect(result.calls.map((call) => [call.result?.status, call.result?.errorCategory])).toEqual([
      ["tool_middleware_exception", "receipt_failed"],
      ["policy_blocked", "run_stopped"],
      ["policy_blocked", "run_stopped"],
    ]);
    expect(started()).toBe(1);
    expect(watch.seen("run")[0]?.report.errorType).toBe("receipt_failed");
  });
});

describe("with prefetchNextTurn", () => {
  test("the model is asked while receipts are still open, but the next tool waits for them", async () => {
    const first = deferred<RecorderReply>();
    const replies = [first.promise, durable];
    const watch = watching(() => replies.shift() ?? durable);
    const told: string[] = [];
    const { agent, started } = agentOn(
      watch,
      [
        calls(1),
        () => {
          told.push(`model asked with ${started()} tool run`);
          queueMicrotask(() => {
            told.push(`receipt written with ${started()} tool run`);
            first.resolve(durable);
          });
          return calls(1) as never;
        },
        { text: "done" },
      ],
      { prefetchNextTurn: true },
    );
    const result = await agent.run("go");
    expect(told).toEqual(["model asked with 1 tool run", "receipt written with 1 tool run"]);
    expect(result).toMatchObject({ stopReason: "end", toolCalls: 2, failedToolCalls: 0 });
    expect(watch.outcomes.map(({ dispatch }) => dispatch.call.turn.prefetchNextTurn)).toEqual([true, true]);
  });

  test("a deferred failure stops the run before the next tool, which is refused", async () => {
    const replies: (RecorderReply | Promise<RecorderReply>)[] = [Promise.resolve(failed)];
    const watch = watching(() => replies.shift() ?? durable);
    const { agent, started } = agentOn(watch, [calls(1), calls(2), { text: "never" }], { prefetchNextTurn: true });
    const result = await agent.run("go");
    expect(result).toMatchObject({ stopReason: "receipt_failed", error: diskFull, modelCalls: 2, toolCalls: 3 });
    expect(result.calls.map((call) => call.result?.status)).toEqual(["ok", "policy_blocked", "policy_blocked"]);
    expect(started()).toBe(1);
  });

  test("calls that would start together all learn of the one failure", async () => {
    const replies: (RecorderReply | Promise<RecorderReply>)[] = [Promise.resolve(failed)];
    const watch = watching(() => replies.shift() ?? durable);
    const { agent, started } = agentOn(watch, [calls(1), calls(4)], { prefetchNextTurn: true, many: 4 });
    expect((await agent.run("go")).stopReason).toBe("receipt_failed");
    expect(started()).toBe(1);
  });

  test("a failure stops every run on the same dispatcher, whichever of them waits first", async () => {
    const broken = deferred<RecorderReply>();
    const watch = watching(({ dispatch }) =>
      dispatch.call.turn.runId === "a" ? broken.promise : Promise.resolve(durable),
    );
    const dispatcher = createDispatcher(watch.layers, { deferReceipts: true });
    const ready = deferred<void>();
    let waiting = 0;
    const together: ScriptStep = async () => {
      waiting += 1;
      if (waiting === 2) ready.resolve(undefined);
      await ready.promise;
      queueMicrotask(() => broken.resolve(failed));
      return { toolCalls: [{ name: "work" }] };
    };
    const agent = createAgent({
      name: "clerk",
      model: scriptedModel({ steps: [calls(1), together, { text: "never" }] }),
      tools: createToolRegistry([{ name: "work", execute: () => "done" }]),
      dispatcher,
      prefetchNextTurn: true,
    });
    const runs = await Promise.all([agent.run("go", { runId: "a" }), agent.run("go", { runId: "b" })]);
    expect(runs.map(({ stopReason, error }) => [stopReason, error])).toEqual([
      ["receipt_failed", diskFull],
      ["receipt_failed", diskFull],
    ]);
    expect(await agent.run("go", { runId: "c" })).toMatchObject({ stopReason: "end", failedToolCalls: 0 });
  });

  test("the run ends only when its last receipt is written, and as failed if that fails", async () => {
    const last = deferred<RecorderReply>();
    const watch = watching(() => last.promise);
    const { agent } = agentOn(watch, [calls(1), { text: "done" }], { prefetchNextTurn: true });
    let over = false;
    const run = agent.run("go").finally(() => {
      over = true;
    });
    await expect.poll(() => watch.seen("model").length).toBe(2);
    expect(over).toBe(false);
    last.resolve(failed);
    expect(await run).toMatchObject({ stopReason: "receipt_failed", error: diskFull });
  });

  test("what the model threw is thrown, and a receipt that failed beside it is still said", async () => {
    const heard: string[] = [];
    const stop = diagnostics.listen(({ source, kind }) => heard.push(`${source} ${kind}`));
    const thrown = new Error("overloaded");
    const watch = watching(() => Promise.resolve(failed));
    const fail: ScriptStep = () => {
      throw thrown;
    };
    const { agent } = agentOn(watch, [calls(1), fail], { prefetchNextTurn: true });
    await expect(agent.run("go")).rejects.toBe(thrown);
    stop();
    expect(heard).toContain("agent.drain receipt_failed");
  });

  test("on a dispatcher of its owner the receipts are deferred only if the owner made it so", async () => {
    const order: string[] = [];
    const watch = watching(async () => {
      await Promise.resolve();
      order.push("receipt");
      return durable;
    });
    const agent = createAgent({
      name: "clerk",
      model: scriptedModel({ steps: [calls(1), () => ({ text: String(order.push("model")) })] }),
      tools: createToolRegistry([{ name: "work", execute: () => "done" }]),
      dispatcher: createDispatcher(watch.layers),
      prefetchNextTurn: true,
    });
    await agent.run("go");
    expect(order).toEqual(["receipt", "model"]);
  });

  test("nothing of a run is kept when it is over", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const errors: WeakRef<Error>[] = [];
    const recorder = recorderCaller({
      name: "with_record",
      defaultHasher: noHasher,
      async record() {
        const error = new Error("disk full");
        errors.push(new WeakRef(error));
        return { receipt: { level: "failed" }, failure: { error } };
      },
      async flush() {},
      async close() {},
    });
    const dispatcher = createDispatcher([recorder], { deferReceipts: true });
    const tools = createToolRegistry([{ name: "work", execute: () => "done" }]);
    const model = scriptedModel({ steps: [calls(1), { text: "done" }] });
    const run = async (): Promise<string> => {
      const agent = createAgent({ name: "clerk", model, tools, dispatcher, prefetchNextTurn: true });
      return (await agent.run("go")).stopReason;
    };
    expect(await run()).toBe("receipt_failed");
    const collected = (): readonly boolean[] => {
      collect();
      return errors.map((error) => error.deref() === undefined);
    };
    await expect.poll(collected).toEqual([true]);
  });
});
