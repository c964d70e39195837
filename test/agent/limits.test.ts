// Laws of limits: each of them fails closed, and what it refuses is recorded like everything else.
import { createAgent, type Limits, type ScriptStep, scriptedModel, withAbort } from "@toolspan/agent";
import { createDispatcher, createToolRegistry, defineLayer, type ToolDefinition } from "@toolspan/core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { watching } from "./watching.ts";

const calls = (count: number): ScriptStep => ({ toolCalls: Array.from({ length: count }, () => ({ name: "work" })) });

/** A promise that is settled from outside. */
function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

function agentWith(limits: Limits, steps: readonly ScriptStep[], execute: ToolDefinition["execute"] = () => "done") {
  const watch = watching();
  let started = 0;
  const agent = createAgent({
    name: "clerk",
    model: scriptedModel({ steps }),
    tools: createToolRegistry([
      {
        name: "work",
        execute(args, call) {
          started += 1;
          return execute?.(args, call);
        },
      },
    ]),
    layers: watch.layers,
    limits,
  });
  return { agent, watch, started: () => started };
}

const refused = { status: "policy_blocked", errorCategory: "limit_exceeded" };

describe("limits", () => {
  test("end a run that wants one model call more than it may have", async () => {
    const { agent, watch } = agentWith({ maxModelCalls: 2 }, [calls(1), calls(1), { text: "never" }]);
    const result = await agent.run("go");
    expect(result).toMatchObject({ stopReason: "max_model_calls", modelCalls: 2, toolCalls: 2, failedToolCalls: 0 });
    expect(watch.seen("run")[0]?.report).toMatchObject({ errorType: "limit_exceeded" });
    expect(result.messages.at(-1)).toMatchObject({ role: "tool" });
  });

  test("refuse each tool call beyond the budget, with a receipt and an answer, and end the run", async () => {
    const { agent, watch, started } = agentWith({ maxToolCalls: 3 }, [calls(2), calls(4), { text: "never" }]);
    const result = await agent.run("go");
    expect(result).toMatchObject({ stopReason: "max_tool_calls", modelCalls: 2, toolCalls: 6, failedToolCalls: 3 });
    expect(started()).toBe(3);
    expect(watch.outcomes).toHaveLength(6);
    expect(watch.seen("dispatch")).toHaveLength(6);
    for (const { result } of watch.outcomes.slice(3)) expect(result).toMatchObject({ ...refused, executed: false });
    expect(result.messages.filter(({ role }) => role === "tool")).toHaveLength(6);
  });

  test("count unknown tools and unparsable arguments against the budget", async () => {
    const bad = { toolCalls: [{ name: "none" }, { name: "work", rawArgs: "{" }, { name: "work" }] };
    const { agent, started } = agentWith({ maxToolCalls: 2 }, [bad, { text: "never" }]);
    const result = await agent.run("go");
    expect(result.calls.map((call) => call.result?.status)).toEqual([
      "tool_not_found",
      "schema_violation",
      "policy_blocked",
    ]);
    expect([result.stopReason, started()]).toEqual(["max_tool_calls", 0]);
  });

  test("allow no tool call at all where the budget is zero", async () => {
    const { agent, started } = agentWith({ maxToolCalls: 0 }, [calls(1)]);
    expect(await agent.run("go")).toMatchObject({ stopReason: "max_tool_calls", failedToolCalls: 1 });
    expect(started()).toBe(0);
  });

  test("never let more tools run at once than allowed, and keep emitted order whatever ends first", async () => {
    const order: number[] = [];
    const gates = Array.from({ length: 6 }, gate);
    let running = 0;
    let most = 0;
    const { agent, watch } = agentWith({ maxConcurrentTools: 3 }, [calls(6), { text: "done" }], async (_, { turn }) => {
      const position = turn.toolCallIndex ?? 0;
      running += 1;
      most = Math.max(most, running);
      if (position === 2) for (const { open } of gates.toReversed()) open();
      await gates[position]?.opened;
      for (let rest = 6 - position; rest > 0; rest -= 1) await Promise.resolve();
      running -= 1;
      order.push(position);
      return `answer ${position}`;
    });
    const result = await agent.run("go");
    expect(most).toBe(3);
    expect(order).not.toEqual([0, 1, 2, 3, 4, 5]);
    expect(result.calls.map(({ content }) => content)).toEqual([0, 1, 2, 3, 4, 5].map((n) => `answer ${n}`));
    expect(result.messages.slice(2, 8).map((message) => message.content)).toEqual(
      [0, 1, 2, 3, 4, 5].map((n) => `answer ${n}`),
    );
    const emitted = watch.outcomes.map(({ dispatch }) => dispatch.call.turn.toolCallIndex);
    expect(emitted.toSorted()).toEqual([0, 1, 2, 3, 4, 5]);
    expect(emitted).toEqual(order);
  });

  test("let layers repeat a tool until the run's retry budget is spent, and then run it no more", async () => {
    const again = defineLayer({
      name: "again",
      traits: { retries: true },
      call: async (call, next) => {
        let result = await next(call);
        for (let attempt = 2; attempt <= 4 && !result.ok; attempt += 1) result = await next(call);
        return result;
      },
    });
    let started = 0;
    const watch = watching();
    const agent = createAgent({
      name: "clerk",
      model: scriptedModel({ steps: [calls(2), { text: "sorry" }] }),
      tools: createToolRegistry([
        {
          name: "work",
          execute() {
            started += 1;
            throw new Error("busy");
          },
        },
      ]),
      layers: [...watch.layers, again],
      limits: { maxRetries: 4 },
    });
    const result = await agent.run("go");
    expect(result.stopReason).toBe("end");
    expect(started).toBe(2 + 4);
    expect(watch.outcomes.map(({ result }) => [result.status, result.errorCategory])).toEqual([
      ["exception", "exception"],
      ["policy_blocked", "limit_exceeded"],
    ]);
  });

  test("run one tool after the other where nobody says otherwise", async () => {
    let running = 0;
    const { agent } = agentWith({}, [calls(3), { text: "done" }], async () => {
      running += 1;
      await Promise.resolve();
      const together = running;
      running -= 1;
      return together;
    });
    const result = await agent.run("go");
    expect(result.calls.map(({ content }) => content)).toEqual(["1", "1", "1"]);
  });
});

describe("time", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("ends a deaf tool at the deadline, refuses the calls after it, and asks no model again", async () => {
    const { agent, watch, started } = agentWith(
      { deadlineMs: 1_000 },
      [calls(2), { text: "never" }],
      () => new Promise(() => {}),
    );
    const run = agent.run("go");
    await vi.advanceTimersByTimeAsync(999);
    expect(watch.outcomes).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1);
    const result = await run;
    expect(result).toMatchObject({ stopReason: "deadline", modelCalls: 1, toolCalls: 2 });
    expect(watch.outcomes.map(({ result }) => [result.status, result.executed])).toEqual([
      ["aborted", true],
      ["policy_blocked", false],
    ]);
    expect(watch.outcomes[1]?.result).toMatchObject(refused);
    expect(started()).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("ends a deaf model at the deadline", async () => {
    const watch = watching();
    const model = { name: "deaf", generate: () => new Promise<never>(() => {}) };
    const limits = { deadlineMs: 50 };
    const agent = createAgent({ name: "clerk", model, tools: createToolRegistry([]), layers: watch.layers, limits });
    const run = agent.run("go");
    await vi.advanceTimersByTimeAsync(50);
    expect(await run).toMatchObject({ stopReason: "deadline", modelCalls: 1, toolCalls: 0 });
    expect(watch.seen("model")[0]?.thrown).toMatchObject({ name: "AbortError" });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("notices a deadline that passed while the process was busy", async () => {
    const { agent } = agentWith({ deadlineMs: 10 }, [calls(1), calls(1), { text: "never" }], () => {
      const { now } = performance;
      vi.spyOn(performance, "now").mockImplementation(() => now.call(performance) + 60_000);
      return "slow";
    });
    const result = await agent.run("go");
    vi.restoreAllMocks();
    expect(result).toMatchObject({ stopReason: "deadline", modelCalls: 1, toolCalls: 1 });
  });

  test("ends a call at its own time limit as a timeout, and the run goes on", async () => {
    const { agent, watch } = agentWith(
      { callTimeoutMs: 100 },
      [calls(1), { text: "sorry" }],
      () => new Promise(() => {}),
    );
    const run = agent.run("go");
    await vi.advanceTimersByTimeAsync(100);
    const result = await run;
    expect(result.stopReason).toBe("end");
    expect(result.calls[0]?.result).toMatchObject({ status: "timeout", errorCategory: "timeout", executed: true });
    expect(watch.outcomes).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("prefers a tool's own time limit", async () => {
    const agent = createAgent({
      name: "clerk",
      model: scriptedModel({ steps: [calls(1), { text: "sorry" }] }),
      tools: createToolRegistry([{ name: "work", timeoutMs: 10, execute: () => new Promise(() => {}) }]),
      layers: [],
      limits: { callTimeoutMs: 60_000 },
    });
    const run = agent.run("go");
    await vi.advanceTimersByTimeAsync(10);
    expect((await run).calls[0]?.result?.status).toBe("timeout");
  });

  test("ends a layer that waits for ever just as well", async () => {
    const watch = watching();
    const agent = createAgent({
      name: "clerk",
      model: scriptedModel({ steps: [calls(1), { text: "never" }] }),
      tools: createToolRegistry([{ name: "work", execute: () => "done" }]),
      layers: [...watch.layers, defineLayer({ name: "ask_nobody", call: () => new Promise(() => {}) })],
      limits: { deadlineMs: 100 },
    });
    const run = agent.run("go");
    await vi.advanceTimersByTimeAsync(100);
    expect((await run).stopReason).toBe("deadline");
    expect(watch.outcomes[0]).toMatchObject({ result: { status: "aborted", executed: false } });
    expect(watch.outcomes[0]?.runs.map(({ name, status }) => [name, status])).toEqual([
      ["with_abort", "aborted"],
      ["ask_nobody", "abandoned"],
    ]);
  });

  test("leaves a call behind after the grace where the dispatcher has nothing that ends it", async () => {
    const watch = watching();
    const hanging = gate();
    const agent = createAgent({
      name: "clerk",
      model: scriptedModel({ steps: [calls(1), { text: "never" }] }),
      tools: createToolRegistry([{ name: "work", execute: () => hanging.opened }]),
      dispatcher: createDispatcher(watch.layers),
      limits: { deadlineMs: 100, abortGraceMs: 20 },
    });
    const run = agent.run("go");
    await vi.advanceTimersByTimeAsync(119);
    expect(watch.seen("run")).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1);
    const result = await run;
    expect(result).toMatchObject({ stopReason: "deadline", toolCalls: 1, failedToolCalls: 1 });
    expect(result.calls[0]?.result).toBeNull();
    expect(watch.outcomes).toHaveLength(0);
    hanging.open();
    await vi.advanceTimersByTimeAsync(0);
    expect(watch.outcomes).toHaveLength(1);
  });

  test("lets go of the caller's signal and of every timer when the run is over", async () => {
    const controller = new AbortController();
    const removed = vi.spyOn(controller.signal, "removeEventListener");
    const added = vi.spyOn(controller.signal, "addEventListener");
    const { agent } = agentWith({ deadlineMs: 60_000, callTimeoutMs: 60_000 }, [calls(3), { text: "done" }]);
    await agent.run("go", { signal: controller.signal });
    expect(vi.getTimerCount()).toBe(0);
    expect(added).toHaveBeenCalledTimes(1);
    expect(removed).toHaveBeenCalledTimes(1);
  });
});

describe("the caller's signal", () => {
  test("ends the run as aborted; the running call is aborted, the others are refused", async () => {
    const controller = new AbortController();
    const { agent, watch, started } = agentWith({}, [calls(3), { text: "never" }], (_, { signal }) => {
      queueMicrotask(() => controller.abort("enough"));
      return new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    });
    const result = await agent.run("go", { signal: controller.signal });
    expect(result).toMatchObject({ stopReason: "aborted", modelCalls: 1, toolCalls: 3 });
    expect(watch.outcomes.map(({ result }) => [result.status, result.executed])).toEqual([
      ["aborted", true],
      ["aborted", false],
      ["aborted", false],
    ]);
    expect(started()).toBe(1);
    expect(watch.seen("run")[0]?.report.errorType).toBe("aborted");
  });

  test("ends a run that has not begun before any model call", async () => {
    const { agent, watch } = agentWith({}, [calls(1)]);
    const result = await agent.run("go", { signal: AbortSignal.abort() });
    expect(result).toMatchObject({ stopReason: "aborted", modelCalls: 0, toolCalls: 0 });
    expect(watch.operations.map(({ kind }) => kind)).toEqual(["run"]);
  });

  test("reaches the model, and a model that rejects because of it ends the run quietly", async () => {
    const controller = new AbortController();
    const model = {
      name: "polite",
      generate: (_: unknown, { signal }: { readonly signal?: AbortSignal }) => {
        queueMicrotask(() => controller.abort());
        return new Promise<never>((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
      },
    };
    const agent = createAgent({ name: "clerk", model, tools: createToolRegistry([]), layers: [] });
    expect((await agent.run("go", { signal: controller.signal })).stopReason).toBe("aborted");
  });

  test("fired mid-run tells a late tool's settlement to observers, and its receipt stays as it was written", async () => {
    const late: string[] = [];
    const watch = watching(undefined, ({ dispatch }) => late.push(dispatch.id));
    const controller = new AbortController();
    const hanging = gate();
    const agent = createAgent({
      name: "clerk",
      model: scriptedModel({ steps: [calls(1), { text: "never" }] }),
      tools: createToolRegistry([
        {
          name: "work",
          execute() {
            queueMicrotask(() => controller.abort());
            return hanging.opened;
          },
        },
      ]),
      layers: watch.layers,
    });
    const result = await agent.run("go", { signal: controller.signal });
    expect(result.calls[0]?.result).toMatchObject({ status: "aborted", executed: true });
    expect(late).toEqual([]);
    hanging.open();
    await vi.waitFor(() => expect(late).toEqual([watch.outcomes[0]?.dispatch.id]));
    expect(watch.outcomes).toHaveLength(1);
  });

  test("adds no layer, signal or timer of its own where a dispatcher is given and nothing limits time", async () => {
    const seen: (AbortSignal | undefined)[] = [];
    const dispatcher = createDispatcher([]);
    const agent = createAgent({
      name: "clerk",
      model: scriptedModel({ steps: [calls(1), { text: "done" }] }),
      tools: createToolRegistry([{ name: "work", execute: (_, { signal }) => seen.push(signal) }]),
      dispatcher,
    });
    await agent.run("go");
    expect(seen).toEqual([undefined]);
    expect(agent.dispatcher).toBe(dispatcher);
    expect(dispatcher.describe().layers).toEqual([]);
  });
});

describe("withAbort", () => {
  test("leaves calls without a signal, and those that end in time, as they are", async () => {
    const dispatch = createDispatcher([withAbort()]);
    const value = { any: "thing" };
    expect((await dispatch({ toolName: "work" }, () => value)).result).toBe(value);
    const { signal } = new AbortController();
    expect((await dispatch({ toolName: "work", signal }, () => value)).result).toBe(value);
  });

  test("answers without running anything where the signal has fired before", async () => {
    const dispatch = createDispatcher([withAbort()]);
    const result = await dispatch({ toolName: "work", signal: AbortSignal.abort() }, () => "never");
    expect(result).toMatchObject({ status: "aborted", executed: false, toolCallId: null });
  });
});
