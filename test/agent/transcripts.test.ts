// Laws of recorded conversations: read line by line, refused by place, and never half believed.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { readTranscripts, type TranscriptLine, toTranscript } from "@toolspan/agent";
import { ToolspanError } from "@toolspan/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

const user = { role: "user", content: "hi" };
const call = (name: string, id: string | null = "c1", args = "{}") => ({
  id,
  type: "function",
  function: { name, arguments: args },
});
const asks = (...calls: readonly unknown[]) => ({ role: "assistant", content: null, tool_calls: calls });
const answer = (content: unknown) => ({ role: "tool", tool_call_id: "c1", name: "t", content });

async function read(
  source: Parameters<typeof readTranscripts>[0],
  options?: Parameters<typeof readTranscripts>[1],
): Promise<readonly TranscriptLine[]> {
  const lines: TranscriptLine[] = [];
  for await (const line of readTranscripts(source, options)) lines.push(line);
  return lines;
}

function refusal(recorded: unknown): string {
  try {
    toTranscript(recorded);
  } catch (error) {
    if (ToolspanError.is(error, "TOOLSPAN_INVALID_TRANSCRIPT")) return error.details.place;
    throw error;
  }
  return "accepted";
}

describe("toTranscript", () => {
  test("arranges messages by turns of the model and pairs answers by position, whatever their ids", () => {
    const recorded = {
      id: "run-1",
      reward: 0,
      messages: [
        { role: "system", content: "be kind" },
        user,
        asks(call("a", "same"), call("b", "same")),
        { ...answer("answer a"), tool_call_id: "other" },
        { ...answer("answer b"), tool_call_id: "same" },
        { role: "assistant", content: "done", tool_calls: null },
        { role: "user", content: "thanks" },
      ],
    };
    expect(toTranscript(recorded)).toEqual({
      id: "run-1",
      input: [{ role: "system", content: "be kind" }, user],
      turns: [
        {
          content: null,
          toolCalls: [
            { id: "same", name: "a", rawArgs: "{}" },
            { id: "same", name: "b", rawArgs: "{}" },
          ],
          answers: ["answer a", "answer b"],
          followedBy: [],
        },
        { content: "done", toolCalls: [], answers: [], followedBy: [{ role: "user", content: "thanks" }] },
      ],
    });
  });

  test("takes a bare array of messages, calls without id, content parts, and answers in text parts", () => {
    const parts = [{ type: "text", text: "hi" }];
    const { id, input, turns } = toTranscript([
      { role: "user", content: parts },
      asks(call("a", null)),
      answer([
        { type: "text", text: "one " },
        { type: "text", text: "two" },
      ]),
    ]);
    expect([id, input, turns[0]?.toolCalls[0]?.id, turns[0]?.answers]).toEqual([
      undefined,
      [{ role: "user", content: parts }],
      null,
      ["one two"],
    ]);
  });

  test("leaves a call without an answer to the replay", () => {
    expect(toTranscript([user, asks(call("a"), call("b")), answer("only one")]).turns[0]?.answers).toEqual([
      "only one",
    ]);
  });

  test.each<[string, unknown, string]>([
    ["a number", 1, ""],
    ["no messages", {}, "/messages"],
    ["messages that are no list", { messages: {} }, "/messages"],
    ["a message that is null", { messages: [user, null] }, "/messages/1"],
    ["an unknown role", { messages: [{ role: "function", content: "x" }] }, "/messages/0/role"],
    ["a user who says a number", { messages: [{ role: "user", content: 1 }] }, "/messages/0/content"],
    ["calls that are no list", { messages: [{ ...asks(), tool_calls: {} }] }, "/messages/0/tool_calls"],
    ["a call without function", { messages: [asks({ id: "1" })] }, "/messages/0/tool_calls/0/function"],
    [
      "arguments that are parsed already",
      { messages: [asks({ id: "1", function: { name: "a", arguments: {} } })] },
      "/messages/0/tool_calls/0/function/arguments",
    ],
    ["an id that is a number", { messages: [asks({ ...call("a"), id: 1 })] }, "/messages/0/tool_calls/0/id"],
    ["an answer before any call", { messages: [user, answer("x")] }, "/messages/1"],
    ["an answer more than calls", { messages: [asks(call("a")), answer("x"), answer("y")] }, "/messages/2"],
    ["an answer after the user spoke", { messages: [asks(call("a")), user, answer("x")] }, "/messages/2"],
    ["an answer that is null", { messages: [asks(call("a")), answer(null)] }, "/messages/1/content"],
    ["a conversation in which no model speaks", { messages: [user] }, "/messages"],
    ["a run id that is an object", { id: {}, messages: [user, asks()] }, "/id"],
  ])("refuses %s and names the place", (_, recorded, place) => {
    expect(refusal(recorded)).toBe(place);
  });

  test("never repeats what stands in a conversation", () => {
    const error = (): unknown => toTranscript({ messages: [{ role: "CANARY", content: "CANARY" }] });
    expect(error).toThrow(/^transcript, \/messages\/0\/role: expected one of .*, received a string$/);
  });
});

describe("readTranscripts", () => {
  const good = (id: string): string => JSON.stringify({ id, messages: [user, { role: "assistant", content: "ok é" }] });

  test("yields every line in order; a malformed one is its error and the next ones are still read", async () => {
    const text = [good("a"), "{not json", "", good("b"), JSON.stringify({ messages: 1 }), good("c")].join("\n");
    const lines = await read([text]);
    expect(lines.map(({ line, run, error }) => [line, run?.id ?? error?.message])).toEqual([
      [1, "a"],
      [2, "transcript line 2: expected a JSON object or array, received other text"],
      [4, "b"],
      [5, "transcript line 5, /messages: expected an array of messages, received a number"],
      [6, "c"],
    ]);
  });

  test("reads the same from chunks of any size, with or without a last newline, and with CRLF", async () => {
    const bytes = new TextEncoder().encode(`${good("a")}\r\n${good("b")}\n${good("c")}`);
    const whole = await read([bytes]);
    expect(whole.map(({ run }) => run?.id)).toEqual(["a", "b", "c"]);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 40 }), fc.boolean(), async (size, ends) => {
        const all = ends ? Buffer.concat([bytes, Buffer.from("\n")]) : bytes;
        const chunks = Array.from({ length: Math.ceil(all.length / size) }, (_, n) =>
          all.subarray(n * size, (n + 1) * size),
        );
        expect(await read(chunks)).toEqual(whole);
      }),
      { numRuns: 30 },
    );
  });

  test("reports bytes that are no UTF-8 and goes on", async () => {
    const lines = await read([Buffer.from([0x22, 0xff, 0x22, 0x0a]), good("a")]);
    expect(lines.map(({ line, run, error }) => [line, run?.id ?? error?.details.expected])).toEqual([
      [1, "UTF-8"],
      [2, "a"],
    ]);
  });

  test("passes over a line that is too long without keeping it, and goes on", async () => {
    let most = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (let n = 0; n < 300; n += 1) {
        yield Buffer.alloc(1024 * 1024, 0x20);
        if (n % 50 !== 0) continue;
        collect();
        most = Math.max(most, process.memoryUsage().arrayBuffers);
      }
      yield Buffer.from(`\n${good("a")}\n`);
    }
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const before = process.memoryUsage().arrayBuffers;
    const lines = await read(endless(), { maxLineBytes: 2 * 1024 * 1024 });
    expect(lines.map(({ line, run, error }) => [line, run?.id ?? error?.details.received])).toEqual([
      [1, "a longer line"],
      [2, "a"],
    ]);
    expect(most - before).toBeLessThan(64 * 1024 * 1024);
  });

  test("passes on what the source throws", async () => {
    async function* broken(): AsyncGenerator<string> {
      yield good("a");
      throw new RangeError("unplugged");
    }
    await expect(read(broken())).rejects.toThrow("unplugged");
  });
});
