// Laws of replays: one transcript is one run, and each call gets the answer of its place.
import { createReadStream, readFileSync } from "node:fs";
import {
  type CallReport,
  classifyTranscript,
  createAgent,
  readTranscripts,
  replayTranscript,
  type Transcript,
  toTranscript,
} from "@toolspan/agent";
import { createDispatcher, type DispatchResult } from "@toolspan/core";
import { beforeAll, describe, expect, test } from "vitest";
import { type Watching, watching } from "./watching.ts";

const AIRLINE = new URL("../../examples/airline/airline-gpt4o-28.jsonl", import.meta.url);

interface RecordedMessage {
  readonly role: string;
  readonly content: string | null;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string } }[];
}

async function replay(
  transcript: Transcript,
  watch: Watching,
  dispatcher = createDispatcher(watch.layers, { classify: classifyTranscript }),
) {
  const { input, model, tools, modelCalls, toolCalls } = replayTranscript(transcript, {
    model: "gpt-4o",
    provider: "openai",
  });
  const limits = { maxModelCalls: modelCalls, maxToolCalls: toolCalls };
  const agent = createAgent({ name: "airline", model, tools, dispatcher, limits });
  return agent.run(input, transcript.id === undefined ? {} : { sessionId: transcript.id });
}

function groupById(calls: readonly CallReport[]): ReadonlyMap<string | null, readonly CallReport[]> {
  const groups = new Map<string | null, CallReport[]>();
  for (const call of calls) groups.set(call.callId, [...(groups.get(call.callId) ?? []), call]);
  return groups;
}

describe("the recorded airline conversations", () => {
  const recorded = readFileSync(AIRLINE, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly id: string; readonly messages: readonly RecordedMessage[] });
  const watch = watching();
  const runs: Awaited<ReturnType<typeof replay>>[] = [];

  beforeAll(async () => {
    const dispatcher = createDispatcher(watch.layers, { classify: classifyTranscript });
    for await (const { run } of readTranscripts(createReadStream(AIRLINE))) {
      if (run !== undefined) runs.push(await replay(run, watch, dispatcher));
    }
  });

  test("are 28 runs with 312 model calls and 146 dispatches, as many receipts, and every one ends by itself", () => {
    expect(runs).toHaveLength(28);
    expect(runs.every(({ stopReason }) => stopReason === "end")).toBe(true);
    expect(watch.seen("run")).toHaveLength(28);
    expect(watch.seen("model")).toHaveLength(312);
    expect(watch.seen("dispatch")).toHaveLength(146);
    expect(watch.outcomes).toHaveLength(146);
    expect(new Set(watch.outcomes.map(({ dispatch: { id } }) => id)).size).toBe(146);
  });

  test("come out message by message as they were recorded", () => {
    const replayed = runs.map(({ messages }) => messages.map(({ role, content }) => ({ role, content })));
    expect(replayed).toEqual(recorded.map(({ messages }) => messages.map(({ role, content }) => ({ role, content }))));
  });

  test("count as failed exactly where the answer begins with Error:, and that answer stays the result", () => {
    const answers = recorded.flatMap(({ messages }) => messages.filter(({ role }) => role === "tool"));
    const failures = answers.map(({ content }) => content?.startsWith("Error:"));
    expect(failures.filter(Boolean).length).toBeGreaterThan(0);
    expect(watch.outcomes.map(({ result: { ok } }) => !ok)).toEqual(failures);
    expect(watch.outcomes.map(({ result: { result } }) => result)).toEqual(answers.map(({ content }) => content));
    for (const { result } of watch.outcomes.filter(({ result: { ok } }) => !ok)) {
      expect(result).toMatchObject({ status: "error", errorCategory: "tool_error" });
    }
  });

  test("keep, for the eight call ids that come twice within their run, each call's own answer and receipt", () => {
    const repeated = runs.flatMap(({ calls }) => [...groupById(calls).values()].filter((same) => same.length > 1));
    expect(repeated).toHaveLength(8);
    const recordedAnswers = new Map(
      watch.outcomes.map(({ dispatch: { call }, result }) => [
        `${call.turn.runId} ${call.turn.iteration}`,
        result.result,
      ]),
    );
    for (const [first, second] of repeated) {
      expect(first?.iteration).not.toBe(second?.iteration);
      expect(first?.content).not.toBe(second?.content);
    }
    for (const { runId, calls } of runs) {
      for (const { iteration, content } of calls) expect(recordedAnswers.get(`${runId} ${iteration}`)).toBe(content);
    }
  });

  test("say of every call its conversation, model call, place and model", () => {
    for (const [position, { calls, runId }] of runs.entries()) {
      const outcomes = watch.outcomes.filter(({ dispatch }) => dispatch.call.turn.runId === runId);
      expect(outcomes).toHaveLength(calls.length);
      for (const { dispatch } of outcomes) {
        const { turn, known } = dispatch.call;
        expect(turn).toMatchObject({
          sessionId: recorded[position]?.id,
          turnIndex: turn.iteration - 1,
          toolCallIndex: 0,
          model: "gpt-4o",
          provider: "openai",
          agentName: "airline",
        });
        expect(known).toBe(true);
      }
    }
  });
});

describe("a replay", () => {
  const call = (name: string, id: string, args = "{}") => ({
    id,
    type: "function",
    function: { name, arguments: args },
  });
  const asks = (...calls: readonly unknown[]) => ({ role: "assistant", content: null, tool_calls: calls });
  const answer = (content: string) => ({ role: "tool", tool_call_id: "x", content });
  const results = (watch: Watching): readonly DispatchResult[] => watch.outcomes.map(({ result }) => result);

  test("fails a call that has no answer as executor_error, and goes on", async () => {
    const watch = watching();
    const transcript = toTranscript([
      { role: "user", content: "go" },
      asks(call("a", "1"), call("b", "2")),
      answer("only a"),
      { role: "assistant", content: "done" },
    ]);
    const run = await replay(transcript, watch);
    expect(results(watch).map(({ status, executed }) => [status, executed])).toEqual([
      ["ok", true],
      ["executor_error", false],
    ]);
    expect(run).toMatchObject({ stopReason: "end", modelCalls: 2, failedToolCalls: 1 });
  });

  test("refuses arguments that are no JSON although an answer was recorded, and keeps the later answers in place", async () => {
    const watch = watching();
    await replay(toTranscript([asks(call("a", "1", "{"), call("b", "1")), answer("to a"), answer("to b")]), watch);
    expect(results(watch).map(({ status, result }) => [status, result])).toEqual([
      ["schema_violation", undefined],
      ["ok", "to b"],
    ]);
  });

  test("leaves answers as text, also where they are JSON or nearly an error", async () => {
    const watch = watching();
    await replay(
      toTranscript([asks(call("a", "1"), call("a", "1")), answer('{"error":1}'), answer(" Error: x")]),
      watch,
    );
    expect(results(watch).map(({ status, result }) => [status, result])).toEqual([
      ["ok", '{"error":1}'],
      ["ok", " Error: x"],
    ]);
  });

  test("carries on over assistant turns that follow each other, and ends with the recording", async () => {
    const watch = watching();
    const transcript = toTranscript([
      { role: "assistant", content: "one" },
      { role: "assistant", content: "two" },
      asks(call("a", "1")),
      answer("three"),
    ]);
    const run = await replay(transcript, watch);
    expect(run).toMatchObject({ stopReason: "end", modelCalls: 3, toolCalls: 1 });
  });

  test("can be run again and at the same time: it holds no state", async () => {
    const watch = watching();
    const transcript = toTranscript([asks(call("a", "1")), answer("x"), asks(call("a", "1")), answer("y")]);
    const both = await Promise.all([replay(transcript, watch), replay(transcript, watch)]);
    for (const { calls } of both) expect(calls.map(({ content }) => content)).toEqual(["x", "y"]);
  });

  test("obeys limits like any run", async () => {
    const watch = watching();
    const { input, model, tools } = replayTranscript(
      toTranscript([asks(call("a", "1"), call("a", "2")), answer("x"), answer("y")]),
    );
    const agent = createAgent({ name: "airline", model, tools, layers: watch.layers, limits: { maxToolCalls: 1 } });
    expect((await agent.run(input)).stopReason).toBe("max_tool_calls");
    expect(results(watch).map(({ status }) => status)).toEqual(["ok", "policy_blocked"]);
  });
});
