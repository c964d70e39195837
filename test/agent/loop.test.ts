// Laws of the loop: what is asked is answered, recorded and placed, and nothing is dropped.

import { createAgent, type Model, type ModelRequest, type ScriptStep, scriptedModel } from "@toolspan/agent";
import { CAUSE, createToolRegistry, defineLayer, defineTool, ToolspanError } from "@toolspan/core";
import { describe, expect, test } from "vitest";
import { watching } from "./watching.ts";

const add = defineTool<{ a: number; b: number }>({
  name: "add",
  description: "Adds two numbers.",
  inputSchema: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
    additionalProperties: false,
  },
  execute: ({ a, b }) => a + b,
});

const fail = defineTool({
  name: "fail",
  execute() {
    throw new TypeError("no such luck");
  },
});

function agentWith(steps: readonly ScriptStep[], extra: Partial<Parameters<typeof createAgent>[0]> = {}) {
  const watch = watching();
  const model = scriptedModel({ name: "script-1", provider: "test", steps });
  const tools = createToolRegistry([add, fail]);
  const agent = createAgent({ name: "clerk", model, tools, layers: watch.layers, ...extra } as never);
  return { agent, watch };
}

describe("the loop", () => {
  test("gives tool results back to the model until it answers without calls", async () => {
    const seen: ModelRequest[] = [];
    const { agent, watch } = agentWith([
      { text: "let me see", toolCalls: [{ name: "add", args: { a: 1, b: 2 } }] },
      (request) => {
        seen.push(request);
        return { text: "3", usage: { inputTokens: 7, outputTokens: 1 } };
      },
    ]);
    const result = await agent.run("1 + 2?", { sessionId: "s1", runId: "r1" });
    expect(result.stopReason).toBe("end");
    expect(result.messages).toEqual([
      { role: "user", content: "1 + 2?" },
      {
        role: "assistant",
        content: "let me see",
        toolCalls: [{ id: "call_1_0", name: "add", arguments: '{"a":1,"b":2}' }],
      },
      { role: "tool", toolCallId: "call_1_0", toolName: "add", content: "3", isError: false },
      { role: "assistant", content: "3" },
    ]);
    expect(seen[0]?.messages).toEqual(result.messages.slice(0, 3));
    expect(seen[0]?.tools).toEqual([
      expect.objectContaining({ name: "add", description: "Adds two numbers." }),
      expect.objectContaining({ name: "fail" }),
    ]);
    expect(result).toMatchObject({ runId: "r1", modelCalls: 2, toolCalls: 1, failedToolCalls: 0, inputTokens: 7 });
    expect(watch.outcomes).toHaveLength(1);
  });

  test("runs inside one agent run, each model call inside one model operation", async () => {
    const { agent, watch } = agentWith([
      { toolCalls: [{ name: "add", args: { a: 1, b: 2 } }] },
      { text: "3", usage: { inputTokens: 7, outputTokens: 1 } },
    ]);
    await agent.run("1 + 2?", { sessionId: "s1", runId: "r1" });
    expect(watch.operations.map(({ kind }) => kind)).toEqual(["model", "dispatch", "model", "run"]);
    const [run] = watch.seen("run");
    expect(run?.info).toEqual({
      agentName: "clerk",
      sessionId: "s1",
      runId: "r1",
      model: "script-1",
      provider: "test",
    });
    expect(run?.report).toEqual({ modelCalls: 2, toolCalls: 1, inputTokens: 7, outputTokens: 1 });
    expect(watch.seen("model").map(({ info }) => (info as { iteration: number }).iteration)).toEqual([1, 2]);
    expect(watch.seen("model").map(({ report }) => report.finishReasons)).toEqual([["tool_calls"], ["stop"]]);
  });

  test("tells every call where in the conversation it stands", async () => {
    const { agent, watch } = agentWith([
      { text: "hello", followUp: { messages: [{ role: "user", content: "go on" }], last: false } },
      {
        toolCalls: [
          { name: "add", args: { a: 1, b: 2 } },
          { name: "add", id: null, args: { a: 3, b: 4 } },
        ],
      },
      { text: "done" },
    ]);
    await agent.run("hi", { sessionId: "s1", runId: "r1", meta: { tenant: "a" } });
    const common = { iteration: 2, turnIndex: 1, sessionId: "s1", runId: "r1", agentName: "clerk" };
    expect(watch.outcomes.map(({ dispatch: { call } }) => [call.callId, call.turn, call.meta])).toEqual([
      ["call_2_0", { ...common, toolCallIndex: 0, model: "script-1", provider: "test" }, { tenant: "a" }],
      [null, { ...common, toolCallIndex: 1, model: "script-1", provider: "test" }, { tenant: "a" }],
    ]);
  });

  test("refuses arguments that are no JSON, keeps them raw for the record and encodable in the conversation", async () => {
    const { agent, watch } = agentWith([{ toolCalls: [{ name: "add", rawArgs: '{"a":1,' }] }, { text: "sorry" }]);
    const result = await agent.run("go");
    expect(result.calls[0]?.result).toMatchObject({
      status: "schema_violation",
      errorCategory: "unparsable_arguments",
      executed: false,
    });
    expect(watch.outcomes[0]?.dispatch.call).toMatchObject({ toolArgs: undefined, rawArgs: '{"a":1,', known: true });
    expect(result.messages[1]).toMatchObject({ toolCalls: [{ arguments: "{}" }] });
    expect(result.messages[2]).toMatchObject({ role: "tool", isError: true });
    expect(result.stopReason).toBe("end");
  });

  test("takes empty text for no arguments", async () => {
    const { agent, watch } = agentWith([{ toolCalls: [{ name: "fail", rawArgs: "" }] }, { text: "done" }]);
    const result = await agent.run("go");
    expect(watch.outcomes[0]?.dispatch.call).toMatchObject({ toolArgs: {}, rawArgs: "" });
    expect(result.messages[1]).toMatchObject({ toolCalls: [{ arguments: "{}" }] });
  });

  test("refuses arguments that do not fit the schema before the tool runs, naming place and rule but no value", async () => {
    const { agent, watch } = agentWith([
      { toolCalls: [{ name: "add", args: { a: "SECRET", b: 2, SECRETS: 1 } }] },
      { text: "sorry" },
    ]);
    const result = await agent.run("go");
    expect(result.calls[0]?.result).toMatchObject({ status: "schema_violation", executed: false });
    expect(result.calls[0]?.content).toContain('/a: Instance type "string" is invalid. Expected "number".');
    expect(result.calls[0]?.content).toContain("/SECRETS: is not allowed here");
    expect(result.calls[0]?.content).not.toContain('"SECRET"');
    expect(watch.outcomes).toHaveLength(1);
  });

  test("refuses a tool that nobody registered, as unknown, and goes on", async () => {
    const { agent, watch } = agentWith([{ toolCalls: [{ name: "drop_table", args: {} }] }, { text: "sorry" }]);
    const result = await agent.run("go");
    expect(result.calls[0]?.result).toMatchObject({ status: "tool_not_found", executed: false });
    expect(watch.outcomes[0]?.dispatch.call.known).toBe(false);
    expect(result).toMatchObject({ stopReason: "end", toolCalls: 1, failedToolCalls: 1 });
  });

  test("tells the model of a tool that threw and goes on", async () => {
    const { agent } = agentWith([{ toolCalls: [{ name: "fail" }] }, { text: "sorry" }]);
    const result = await agent.run("go");
    expect(result.messages[2]).toEqual({
      role: "tool",
      toolCallId: "call_1_0",
      toolName: "fail",
      content: "no such luck",
      isError: true,
    });
  });

  test("throws the tool's own value where a layer asks for it, once every call of the turn is recorded", async () => {
    const raise = defineLayer({
      name: "raise",
      call: async (call, next) => {
        const result = await next(call);
        return CAUSE in result ? { ...result, rethrow: true } : result;
      },
    });
    const watch = watching();
    const thrown = new RangeError("mine");
    const agent = createAgent({
      name: "clerk",
      model: scriptedModel({ steps: [{ toolCalls: [{ name: "boom" }, { name: "boom" }] }, { text: "never" }] }),
      tools: createToolRegistry([
        {
          name: "boom",
          execute() {
            throw thrown;
          },
        },
      ]),
      layers: [...watch.layers, raise],
    });
    await expect(agent.run("go")).rejects.toBe(thrown);
    expect(watch.outcomes.map(({ result: { status, errorCategory } }) => [status, errorCategory])).toEqual([
      ["exception", "exception"],
      ["policy_blocked", "run_stopped"],
    ]);
    expect(watch.seen("run")[0]?.thrown).toBe(thrown);
  });

  test("rejects with what the model rejected with", async () => {
    const thrown = new Error("overloaded");
    const { agent, watch } = agentWith([
      () => {
        throw thrown;
      },
    ]);
    await expect(agent.run("go")).rejects.toBe(thrown);
    expect(watch.seen("model")[0]?.thrown).toBe(thrown);
    expect(watch.seen("run")[0]?.thrown).toBe(thrown);
  });

  test.each([
    ["nothing", undefined, "the turn"],
    ["calls that are no list", { content: null, toolCalls: {} }, "toolCalls"],
    ["parsed arguments", { content: null, toolCalls: [{ id: "1", name: "add", rawArgs: {} }] }, "toolCalls[0].rawArgs"],
    ["a missing id", { content: null, toolCalls: [{ name: "add", rawArgs: "{}" }] }, "toolCalls[0].id"],
    ["content that is a number", { content: 1 }, "content"],
  ])("refuses a model that answers with %s before any tool runs", async (_, turn, place) => {
    const watch = watching();
    const model: Model = { name: "odd", generate: async () => turn as never };
    const agent = createAgent({ name: "clerk", model, tools: createToolRegistry([]), layers: watch.layers });
    const error = await agent.run("go").catch((thrown: unknown) => thrown);
    expect(ToolspanError.is(error, "TOOLSPAN_INVALID_TURN") && error.details.place).toBe(place);
    expect(watch.outcomes).toEqual([]);
  });

  test("keeps overlapping runs of one agent apart", async () => {
    const { agent, watch } = agentWith([
      ({ messages }) => ({ toolCalls: [{ name: "add", args: { a: Number(messages[0]?.content), b: 1000 } }] }),
      { text: "done" },
    ]);
    const runs = await Promise.all(Array.from({ length: 50 }, (_, n) => agent.run(String(n), { sessionId: `s${n}` })));
    expect(runs.map(({ calls }) => calls[0]?.content)).toEqual(Array.from({ length: 50 }, (_, n) => String(n + 1000)));
    expect(new Set(watch.outcomes.map(({ dispatch }) => dispatch.call.turn.sessionId)).size).toBe(50);
    expect(new Set(runs.map(({ runId }) => runId)).size).toBe(50);
  });

  test.each([
    ["no name", { name: "" }],
    ["no model", { model: {} }],
    ["tools that are a list", { tools: [] }],
    ["neither layers nor dispatcher", { layers: undefined }],
    ["a limit of zero model calls", { limits: { maxModelCalls: 0 } }],
    ["a deadline that no timer takes", { limits: { deadlineMs: 2 ** 31 } }],
  ])("refuses %s when made", (_, extra) => {
    expect(() => agentWith([], extra as never)).toThrowError(
      expect.objectContaining({ code: "TOOLSPAN_INVALID_OPTION" }),
    );
  });
});
