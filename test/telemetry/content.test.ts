// Content: off by default everywhere; with opt-in valid, bounded, and measured.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDispatcher, type Dispatcher, defineLayer, diagnostics } from "@toolspan/core";
import { jsonlSink, stderrSink, type TelemetryOptions, type ToolCallSpan, withTelemetry } from "@toolspan/telemetry";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type OtelSdk, startOtelSdk } from "../support/otel-sdk.ts";

const CANARY = "canary-7f3a";

let sdk: OtelSdk;
let folder: string;
let records: ToolCallSpan[];
let lines: string[];
beforeEach(async () => {
  sdk = await startOtelSdk();
  folder = mkdtempSync(join(tmpdir(), "toolspan-content-"));
  records = [];
  lines = [];
});
afterEach(async () => {
  await sdk.shutdown();
  rmSync(folder, { recursive: true });
});

/** One of every sink. */
function everySink(options: Omit<TelemetryOptions, "sink" | "sinks"> = {}) {
  const jsonl = jsonlSink({ dir: folder });
  const stderr = stderrSink({ write: (line) => void lines.push(line) });
  const telemetry = withTelemetry({
    sinks: ["otel", jsonl, stderr, (span) => void records.push(span)],
    env: {},
    ...options,
  });
  return { jsonl, telemetry };
}

/** Every way for content to come by: arguments, raw text, results, errors, reasons, descriptions, messages, metadata. */
async function runEveryPath(dispatch: Dispatcher): Promise<void> {
  const call = {
    toolName: "search",
    toolArgs: { q: CANARY },
    description: CANARY,
    schema: { description: CANARY },
    meta: { note: CANARY },
    callId: "call_1",
  };
  await dispatch.run({ agentName: "a", sessionId: "s" }, async (report) => {
    report({ outputMessages: [CANARY] });
    await dispatch.model({ model: "m", iteration: 1, inputMessages: [CANARY] }, async (said) =>
      said({ outputMessages: CANARY }),
    );
    await dispatch(call, () => ({ text: CANARY }));
    await dispatch(call, () => {
      throw Object.assign(new TypeError(CANARY), { code: CANARY });
    });
    await dispatch({ ...call, toolArgs: undefined, rawArgs: CANARY }, () => ({ isError: true, message: CANARY }));
    await dispatch.refuse(call, {
      status: "scope_violation",
      error: CANARY,
      errorCategory: `${CANARY} is not allowed`,
    });
  });
  await expect(
    dispatch.model({ model: "m", iteration: 1 }, async () => {
      throw new Error(CANARY);
    }),
  ).rejects.toThrow(CANARY);
}

const reasoned = defineLayer({
  name: "with_reason",
  call: async (call, next) => ({
    ...(await next(call)),
    audit: { summary: CANARY, consent: { decision: "approved", reason: CANARY } },
  }),
});

/** Everything that any sink got, as one text. */
async function everything(path: string | null): Promise<string> {
  const spans = sdk
    .spans()
    .map(({ name, attributes, events, status, links }) => ({ name, attributes, events, status, links }));
  const metrics = [...(await sdk.collectMetrics()).values()].map(({ descriptor, dataPoints }) => ({
    descriptor,
    dataPoints,
  }));
  return JSON.stringify({ spans, metrics, records, lines, file: readFileSync(path ?? "", "utf8") });
}

test("without opt-in no argument, result, error text, description, reason or message is in any sink", async () => {
  const { jsonl, telemetry } = everySink();
  const dispatch = createDispatcher([telemetry, reasoned]);
  await runEveryPath(dispatch);
  await dispatch.flush();
  const text = await everything(jsonl.path);
  expect(text).not.toContain(CANARY);
  expect(text).toContain("execute_tool search");
  expect(records).toHaveLength(4);
  expect(records[0]).not.toHaveProperty("call");
});

test("diagnostics of a failing part carry no content either", async () => {
  const said: string[] = [];
  const unlisten = diagnostics.listen(({ message }) => said.push(message));
  diagnostics.reset();
  try {
    const dispatch = createDispatcher([
      withTelemetry(() => {
        throw new Error(CANARY);
      }),
    ]);
    await dispatch({ toolName: "t", toolArgs: CANARY }, () => CANARY);
  } finally {
    unlisten();
  }
  expect(said).toHaveLength(1);
  expect(said.join()).not.toContain(CANARY);
});

test("with opt-in spans carry arguments, result, description and messages as JSON, callables the very objects", async () => {
  const { telemetry } = everySink({ captureContent: true });
  const dispatch = createDispatcher([telemetry]);
  await runEveryPath(dispatch);
  const [ok, failed, unparsable] = sdk.spans().filter(({ name }) => name === "execute_tool search");
  expect(ok?.attributes).toMatchObject({
    "gen_ai.tool.call.arguments": `{"q":"${CANARY}"}`,
    "toolspan.args_size": 19,
    "gen_ai.tool.call.result": `{"text":"${CANARY}"}`,
    "toolspan.result_size": 22,
    "toolspan.result_hash": expect.stringMatching(/^sha256:/),
    "gen_ai.tool.description": CANARY,
  });
  expect(failed?.status).toEqual({ code: 2, message: expect.stringContaining(CANARY) });
  expect(failed?.attributes).not.toHaveProperty("gen_ai.tool.call.result");
  expect(failed?.events.find(({ name }) => name === "exception")?.attributes).toMatchObject({
    "exception.type": "TypeError",
    "exception.message": expect.stringContaining(CANARY),
    "exception.stacktrace": expect.stringMatching(/^\s+at .*content\.test/),
  });
  expect(unparsable?.attributes["gen_ai.tool.call.arguments"]).toBe(`"${CANARY}"`);
  const chat = sdk.spans().find(({ name }) => name === "chat m");
  expect(chat?.attributes).toMatchObject({
    "gen_ai.input.messages": `["${CANARY}"]`,
    "gen_ai.output.messages": `"${CANARY}"`,
  });
  expect(records[0]?.call?.toolArgs).toEqual({ q: CANARY });
  expect(records[0]?.result?.result).toEqual({ text: CANARY });
  expect(records[1]?.attributes.error).toContain(CANARY);
  expect(lines.join()).not.toContain(CANARY);
});

test.each([
  [undefined, false],
  ["", false],
  ["false", false],
  ["no", false],
  ["NO_CONTENT", false],
  ["EVENT_ONLY", false],
  ["true", true],
  ["TRUE", true],
  ["SPAN_ONLY", true],
  ["span_and_event", true],
])("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=%s captures: %s", async (value, expected) => {
  const env = { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: value };
  await createDispatcher([withTelemetry({ sink: "otel", env })])({ toolName: "t", toolArgs: { q: 1 } }, () => 1);
  expect("gen_ai.tool.call.arguments" in (sdk.spans().at(-1)?.attributes ?? {})).toBe(expected);
});

test("the option wins over the variable", async () => {
  const env = { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true" };
  const telemetry = withTelemetry({ sink: "otel", env, captureContent: false });
  await createDispatcher([telemetry])({ toolName: "t", toolArgs: { q: 1 } }, () => 1);
  expect(sdk.spans().at(-1)?.attributes).not.toHaveProperty("gen_ai.tool.call.arguments");
});

test("content that one sink was given does not reach the sinks of another withTelemetry", async () => {
  const seen: ToolCallSpan[] = [];
  const dispatch = createDispatcher([
    withTelemetry({ sink: (span) => void seen.push(span), captureContent: true }),
    withTelemetry({ sinks: ["otel", (span) => void records.push(span)], env: {} }),
  ]);
  await dispatch({ toolName: "t", toolArgs: CANARY }, () => CANARY);
  expect(seen[0]?.call?.toolArgs).toBe(CANARY);
  expect(records[0]).not.toHaveProperty("call");
  expect(JSON.stringify(sdk.spans().map(({ attributes }) => attributes))).not.toContain(CANARY);
});

/** The content attribute that `value` becomes. */
async function contentOf(value: unknown, maxContentBytes: number) {
  const telemetry = withTelemetry({ sink: "otel", captureContent: true, maxContentBytes, hashArgs: false });
  await createDispatcher([telemetry])({ toolName: "t", toolArgs: value }, () => 1);
  const { attributes } = sdk.spans().at(-1)!;
  return {
    json: attributes["gen_ai.tool.call.arguments"] as string,
    size: attributes["toolspan.args_size"] as number,
    truncated: attributes["toolspan.truncated"] as readonly string[] | undefined,
  };
}

test("any value becomes valid JSON and valid UTF-8 within its budget, and says whether it was cut", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc
        .anything({ withBigInt: true, withDate: true, withMap: true, withSet: true, withTypedArray: true })
        .filter((value) => value !== undefined),
      fc.integer({ min: 64, max: 200 }),
      async (value, budget) => {
        const { json, size, truncated } = await contentOf(value, budget);
        JSON.parse(json);
        const bytes = Buffer.byteLength(json);
        expect(bytes).toBeLessThanOrEqual(budget);
        expect(json.isWellFormed()).toBe(true);
        if (truncated === undefined) expect(size).toBe(bytes);
        else expect(size).toBeGreaterThan(bytes - 1);
      },
    ),
    { numRuns: 300 },
  );
});

test("JSON values that fit are written as JSON.stringify writes them", async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value) => {
      expect((await contentOf(value, 1_000_000)).json).toBe(JSON.stringify(value));
    }),
    { numRuns: 200 },
  );
});

test("a cut falls between code points and keeps the full size", async () => {
  const { json, size, truncated } = await contentOf({ text: "🙂".repeat(1000), next: 1 }, 64);
  expect(json).toBe(`{"text":"${"🙂".repeat(12)}…"}`);
  expect(size).toBe(4020);
  expect(truncated).toEqual(["gen_ai.tool.call.arguments"]);
});

test("what JSON does not know is converted by the documented table", async () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  const { json } = await contentOf(
    {
      big: 10n,
      nan: Number.NaN,
      infinite: Number.NEGATIVE_INFINITY,
      none: undefined,
      list: [undefined, () => 1],
      symbol: Symbol("s"),
      date: new Date(0),
      map: new Map([["a", 1]]),
      pairs: new Map([[1, 2]]),
      set: new Set([1]),
      error: new TypeError("m"),
      bytes: new Uint8Array(1_000_000),
      cycle,
      bare: Object.assign(Object.create(null), { a: 1 }),
      get broken(): never {
        throw new Error("x");
      },
      brokenJson: {
        toJSON() {
          throw new Error("x");
        },
      },
    },
    10_000,
  );
  expect(JSON.parse(json)).toEqual({
    big: "10",
    nan: "NaN",
    infinite: "-Infinity",
    list: [null, "[function]"],
    symbol: "[symbol]",
    date: "1970-01-01T00:00:00.000Z",
    map: { a: 1 },
    pairs: [[1, 2]],
    set: [1],
    error: { name: "TypeError", message: "m" },
    bytes: "[1000000 bytes]",
    cycle: { self: "[circular #/cycle]" },
    bare: { a: 1 },
    broken: "[threw]",
    brokenJson: "[threw]",
  });
});

test("a list that claims a billion items and a depth without end hold nothing up", async () => {
  const endless: Record<string, unknown> = {};
  let inner = endless;
  for (let i = 0; i < 10_000; i += 1) {
    inner.next = {};
    inner = inner.next as Record<string, unknown>;
  }
  const sparse: unknown[] = [];
  sparse.length = 1_000_000_000;
  const { json } = await contentOf({ endless, sparse }, 2000);
  expect(json).toContain("[too deep]");
});
