// Laws of streaming tools in a run: the model gets a stream as a whole, and the dispatch ends with it.
import { createAgent, type Limits, scriptedModel } from "@toolspan/agent";
import { createToolRegistry, type ToolDefinition } from "@toolspan/core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { watching } from "./watching.ts";

function agentOver(execute: NonNullable<ToolDefinition["execute"]>, limits: Limits = {}) {
  const watch = watching();
  const agent = createAgent({
    name: "clerk",
    model: scriptedModel({ steps: [{ toolCalls: [{ name: "watch_log" }] }, { text: "done" }] }),
    tools: createToolRegistry([{ name: "watch_log", execute }]),
    layers: watch.layers,
    limits,
  });
  return { agent, watch };
}

describe("a streaming tool", () => {
  test("is read to its end, and text pieces are one text", async () => {
    const { agent, watch } = agentOver(async function* () {
      yield "one ";
      yield "two";
    });
    const result = await agent.run("go");
    expect(result.calls[0]).toMatchObject({ content: "one two", streamed: ["one ", "two"], result: { status: "ok" } });
    expect(result.calls[0]?.result?.executionDurationMs).not.toBeNull();
    expect(watch.outcomes).toHaveLength(1);
  });

  test("gives what is not text as one JSON array, and nothing as nothing", async () => {
    const numbers = agentOver(async function* () {
      yield 1;
      yield { two: 2n };
    });
    expect((await numbers.agent.run("go")).calls[0]?.content).toBe('[1,{"two":"2"}]');
    const nothing = agentOver(async function* () {});
    expect((await nothing.agent.run("go")).calls[0]).toMatchObject({ content: "", result: { status: "ok" } });
  });

  test("that breaks off has failed; the model sees how far it came and why it stopped", async () => {
    const { agent, watch } = agentOver(async function* () {
      yield "one ";
      throw new Error("line cut");
    });
    const result = await agent.run("go");
    expect(result.calls[0]).toMatchObject({ content: "one \n[line cut]", result: { status: "exception", ok: false } });
    expect(result).toMatchObject({ stopReason: "end", failedToolCalls: 1 });
    expect(watch.outcomes[0]?.result.status).toBe("exception");
  });
});

describe("an aborted stream", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("that listens is closed, and the run ends with it", async () => {
    let cleanedUp = false;
    const { agent, watch } = agentOver(
      async function* (_args, { signal }) {
        try {
          yield "one";
          await new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
        } finally {
          cleanedUp = true;
        }
      },
      { deadlineMs: 100 },
    );
    const run = agent.run("go");
    await vi.advanceTimersByTimeAsync(100);
    expect(await run).toMatchObject({ stopReason: "deadline", calls: [{ result: { status: "aborted" } }] });
    expect(cleanedUp).toBe(true);
    expect(watch.outcomes).toHaveLength(1);
  });

  test("that knows of no signal is closed through its iterator", async () => {
    const { agent, watch } = agentOver(
      () => {
        let close = (_: IteratorResult<string>): void => {};
        return {
          next: () =>
            new Promise<IteratorResult<string>>((resolve) => {
              close = resolve;
            }),
          async return() {
            close({ done: true, value: undefined });
            return { done: true, value: undefined };
          },
          [Symbol.asyncIterator]() {
            return this;
          },
        };
      },
      { deadlineMs: 100 },
    );
    const run = agent.run("go");
    await vi.advanceTimersByTimeAsync(100);
    const result = await run;
    expect(result.stopReason).toBe("deadline");
    expect(result.calls[0]?.result).not.toBeNull();
    expect(watch.outcomes).toHaveLength(1);
  });

  test("that is deaf is left behind after the grace", async () => {
    const { agent } = agentOver(
      async function* () {
        yield "one";
        await new Promise(() => {});
      },
      { deadlineMs: 100, abortGraceMs: 20 },
    );
    const run = agent.run("go");
    await vi.advanceTimersByTimeAsync(120);
    expect(await run).toMatchObject({ stopReason: "deadline", calls: [{ result: null }] });
  });
});
