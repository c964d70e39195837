// Metrics: names, units, buckets and labels of the conventions, and figures that agree with the spans.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { plainHasher } from "@toolspan/canonical/hash";
import {
  createDispatcher,
  defineLayer,
  type Meter,
  recorderCaller,
  type ToolCaller,
  type ToolCallInput,
} from "@toolspan/core";
import { fixedClock } from "@toolspan/core/testing";
import { withRedaction } from "@toolspan/middleware/with-redaction";
import { withAuditLog } from "@toolspan/receipts";
import { telemetryLost, withTelemetry } from "@toolspan/telemetry";
import { afterEach, beforeEach, expect, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import { type OtelSdk, startOtelSdk } from "../support/otel-sdk.ts";

let sdk: OtelSdk;
beforeEach(async () => {
  sdk = await startOtelSdk();
});
afterEach(() => sdk.shutdown());

const call: ToolCallInput = { toolName: "search", toolArgs: 1, turn: { iteration: 1, agentName: "clerk" } };
const points = async (name: string) => (await sdk.collectMetrics()).get(name)?.dataPoints ?? [];
const counts = async (name: string) =>
  (await points(name)).map(({ attributes, value }) => [Object.values(attributes).join(" "), value]);

test("the tool's duration has the convention's name, unit, buckets and labels, and equals the root span's duration", async () => {
  await createDispatcher([withTelemetry("otel")])(call, () => new Promise((resolve) => setImmediate(resolve)));
  const metric = (await sdk.collectMetrics()).get("gen_ai.execute_tool.duration");
  expect(metric?.descriptor).toMatchObject({ unit: "s", type: "HISTOGRAM" });
  const [point] = metric?.dataPoints ?? [];
  expect(point?.attributes).toEqual({
    "gen_ai.tool.name": "search",
    "gen_ai.tool.type": "function",
    "gen_ai.agent.name": "clerk",
  });
  const root = sdk.spans().find(({ name }) => name === "execute_tool search");
  const [seconds, nanos] = root?.duration ?? [0, 0];
  expect(point?.value).toMatchObject({
    count: 1,
    sum: (seconds * 1e9 + nanos) / 1e9,
    buckets: {
      boundaries: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
    },
  });
});

test("a failure has one error.type, the same on span and metric", async () => {
  await createDispatcher([withTelemetry("otel")])(call, () => {
    throw new TypeError("x");
  });
  const [point] = await points("gen_ai.execute_tool.duration");
  expect(point?.attributes["error.type"]).toBe("TypeError");
  expect(sdk.spans().at(-1)?.attributes["error.type"]).toBe("TypeError");
});

test("a soft error counts like a thrown one", async () => {
  await createDispatcher([withTelemetry("otel")])(call, () => ({ isError: true }));
  const [point] = await points("gen_ai.execute_tool.duration");
  expect(point?.attributes["error.type"]).toBe("tool_error");
  expect(await counts("toolspan.tool_calls")).toContainEqual(["search clerk error", 1]);
});

test("calls are counted by tool and status, from series that stand at 0 for known tools", async () => {
  const dispatch = createDispatcher([withTelemetry({ sink: "otel", tools: ["search", "unused"] })]);
  await dispatch(call, () => 1);
  await dispatch(call, () => 1);
  await dispatch(call, undefined);
  expect(await counts("toolspan.tool_calls")).toEqual([
    ["search ok", 0],
    ["search error", 0],
    ["unused ok", 0],
    ["unused error", 0],
    ["search clerk ok", 2],
    ["search clerk error", 0],
    ["search clerk executor_error", 1],
  ]);
});

test("known tools stand at 0 before the first call", async () => {
  createDispatcher([withTelemetry({ sink: "otel", tools: ["unused"] })]);
  expect(await counts("toolspan.tool_calls")).toContainEqual(["unused ok", 0]);
});

test("calls of no agent have no agent's label", async () => {
  await createDispatcher([withTelemetry("otel")])({ toolName: "search" }, () => 1);
  expect(await counts("toolspan.tool_calls")).toContainEqual(["search ok", 1]);
});

test("calls under way are counted up and down", async () => {
  let during: unknown;
  await createDispatcher([withTelemetry("otel")])(call, async () => {
    during = await counts("toolspan.tool_calls.active");
  });
  expect(during).toEqual([["search clerk", 1]]);
  expect(await counts("toolspan.tool_calls.active")).toEqual([["search clerk", 0]]);
});

test("ten thousand invented names make one series", async () => {
  const dispatch = createDispatcher([withTelemetry({ sink: "otel", layerSpans: "off", hashArgs: false })]);
  for (let i = 0; i < 10_000; i += 1) await dispatch({ toolName: `invented_${i}`, known: false }, undefined);
  const series = await points("gen_ai.execute_tool.duration");
  expect(series.map(({ attributes }) => attributes["gen_ai.tool.name"])).toEqual(["_OTHER"]);
  expect(new Set(sdk.spans().map(({ name }) => name))).toEqual(new Set(["execute_tool _OTHER"]));
}, 120_000);

test("twelve hundred tools have a series each, under the SDK's limit of two thousand", async () => {
  const tools = Array.from({ length: 1200 }, (_, i) => `tool_${i}`);
  const dispatch = createDispatcher([withTelemetry({ sink: "otel", layerSpans: "off", hashArgs: false, tools })]);
  for (const toolName of tools) await dispatch({ ...call, toolName }, () => 1);
  const series = await points("toolspan.tool_calls");
  expect(series.filter(({ attributes }) => "otel.metric.overflow" in attributes)).toEqual([]);
  expect(series.filter(({ value }) => value === 1)).toHaveLength(1200);
}, 60_000);

test("a layer that takes 100 ms shows where the time went", async () => {
  const clock = fixedClock();
  const slow = defineLayer({
    name: "with_slow",
    call: (given, next) => {
      clock.advance(100);
      return next(given);
    },
  });
  await createDispatcher([withTelemetry("otel"), slow], { createClock: () => clock })(call, () => 1);
  const [point] = await points("toolspan.layer.duration");
  expect(point?.attributes).toEqual({
    "toolspan.layer.name": "with_slow",
    "toolspan.layer.status": "ok",
    "toolspan.layer.short_circuited": false,
  });
  expect(point?.value).toMatchObject({ sum: expect.closeTo(0.1, 6) });
  const span = sdk.spans().find(({ name }) => name === "tool_call.with_slow");
  expect(span?.attributes["toolspan.layer.self_time_ms"]).toBeCloseTo(100, 3);
});

test("a replay is a call, not another execution", async () => {
  const cache = defineLayer({
    name: "with_cache",
    call: ({ toolName }) => ({ ok: true, status: "ok", toolName, result: 1, replayed: true }),
  });
  await createDispatcher([withTelemetry("otel"), cache])(call, () => 1);
  expect(await points("gen_ai.execute_tool.duration")).toEqual([]);
  expect(await counts("toolspan.tool_calls")).toContainEqual(["search clerk ok", 1]);
  expect(sdk.spans().at(-1)?.attributes["toolspan.replayed"]).toBe(true);
});

test("a layer's status word of high cardinality does not become a label", async () => {
  const chatty = defineLayer({
    name: "with_chatty",
    call: (given, next, scope) => {
      scope.report({ status: "refused because the customer said so" });
      return next(given);
    },
  });
  await createDispatcher([withTelemetry("otel"), chatty])(call, () => 1);
  const [point] = await points("toolspan.layer.duration");
  expect(point?.attributes["toolspan.layer.status"]).toBe("_OTHER");
});

test("runs and model calls have the convention's durations and counts", async () => {
  const dispatch = createDispatcher([withTelemetry("otel")]);
  await dispatch.run({ agentName: "clerk", model: "gpt" }, async (report) => {
    await dispatch.model({ model: "gpt", provider: "openai", iteration: 1 }, async (said) =>
      said({ responseModel: "gpt-1", inputTokens: 3, outputTokens: 4, finishReasons: ["stop"] }),
    );
    report({ toolCalls: 2, modelCalls: 1, errorType: "limit_exceeded" });
  });
  const [run] = await points("gen_ai.invoke_agent.duration");
  expect(run?.attributes).toEqual({
    "gen_ai.agent.name": "clerk",
    "gen_ai.request.model": "gpt",
    "error.type": "limit_exceeded",
  });
  const [chat] = await points("gen_ai.client.operation.duration");
  expect(chat?.attributes).toEqual({
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt",
    "gen_ai.response.model": "gpt-1",
  });
  const [toolCalls] = await points("gen_ai.invoke_agent.tool_calls");
  expect(toolCalls?.value).toMatchObject({ sum: 2, count: 1 });
  const [chatSpan, runSpan] = sdk.spans();
  expect(chatSpan?.kind).toBe(2);
  expect(chatSpan?.attributes).toMatchObject({
    "gen_ai.usage.input_tokens": 3,
    "gen_ai.usage.output_tokens": 4,
    "gen_ai.response.finish_reasons": ["stop"],
  });
  expect(runSpan?.status.code).toBe(2);
});

test("what a sampler leaves out is measured all the same, layers too", async () => {
  await sdk.shutdown();
  sdk = await startOtelSdk({ sampler: (line) => line.alwaysOff });
  const layer = defineLayer({ name: "with_a", call: (given, next) => next(given) });
  await createDispatcher([withTelemetry("otel"), layer])(call, () => 1);
  expect(await counts("toolspan.tool_calls")).toContainEqual(["search clerk ok", 1]);
  expect(await points("toolspan.layer.duration")).toHaveLength(1);
});

test("a meter provider that is given is used in place of the registered one", async () => {
  const own = await startOtelSdk({ register: false });
  await createDispatcher([withTelemetry({ sink: "otel", meterProvider: own.meterProvider })])(call, () => 1);
  expect((await own.collectMetrics()).has("toolspan.tool_calls")).toBe(true);
  expect(await points("toolspan.tool_calls")).toEqual([]);
  await own.shutdown();
});

test("readers of one gauge make one figure: bytes and records add up, of ages the highest counts", async () => {
  const made = [1, 2].map(() => withTelemetry("otel"));
  const meters = made.map((caller) => recordersMeter(caller));
  const forget = meters.map((meter, position) => {
    meter.gauge("toolspan.receipts.spool.oldest_age", () => 5 - position);
    return meter.gauge("toolspan.receipts.spool.bytes", () => 10 + position);
  });
  expect(await counts("toolspan.receipts.spool.bytes")).toEqual([["", 21]]);
  expect(await counts("toolspan.receipts.spool.oldest_age")).toEqual([["", 5]]);
  meters[0]?.gauge("toolspan.receipts.spool.bytes", () => {
    throw new Error("unreadable");
  });
  forget[0]?.();
  expect(await counts("toolspan.receipts.spool.bytes")).toEqual([["", 11]]);
});

test("a gauge whose readers are gone says what they read at last, until another one reads", async () => {
  const meter = recordersMeter(withTelemetry("otel"));
  let lines = 40;
  const forget = meter.gauge("toolspan.receipts.unsealed", () => lines);
  expect(await counts("toolspan.receipts.unsealed")).toEqual([["", 40]]);
  lines = 0;
  forget();
  lines = 7;
  expect(await counts("toolspan.receipts.unsealed")).toEqual([["", 0]]);
  meter.gauge("toolspan.receipts.unsealed", () => 3);
  expect(await counts("toolspan.receipts.unsealed")).toEqual([["", 3]]);
});

test("a recorder that closes says that nothing is unsealed, and what no endpoint has taken", async () => {
  const stateDir = mkdtempSync(join(tmpdir(), "toolspan-gauges-"));
  const delivery = { endpoint: `http://127.0.0.1:${await freePort()}` };
  const audit = withAuditLog({ sink: "both", stateDir, hash: "sha256", delivery, flushTimeoutMs: 300 });
  const dispatch = createDispatcher([audit, withTelemetry("otel")]);
  for (let i = 0; i < 20; i += 1) await dispatch(call, () => i);
  expect(Number((await points("toolspan.receipts.unsealed"))[0]?.value)).toBeGreaterThan(0);
  const left = await audit.close();
  expect(await counts("toolspan.receipts.unsealed")).toEqual([["", 0]]);
  expect(left?.lines).toBeGreaterThanOrEqual(20);
  expect(left?.bytes).toBeGreaterThan(20 * 100);
  expect(await counts("toolspan.receipts.spool.bytes")).toEqual([["", left?.bytes]]);
  rmSync(stateDir, { recursive: true });
});

test("a gauge that was registered before the provider is read once something is measured", async () => {
  await sdk.shutdown();
  const meter = recordersMeter(withTelemetry("otel"));
  meter.gauge("toolspan.receipts.unsealed", () => 7);
  meter.gauge("toolspan.receipts.spool.bytes", () => 1)();
  sdk = await startOtelSdk();
  meter.add("toolspan.receipts.records", 1, { level: "durable", outcome: "ok" });
  expect(await counts("toolspan.receipts.unsealed")).toEqual([["", 7]]);
  expect(await counts("toolspan.receipts.spool.bytes")).toEqual([]);
});

/** The meter that recorders of a dispatcher with this observer get. */
function recordersMeter(telemetry: ToolCaller): Meter {
  let given: Meter | undefined;
  const recorder = recorderCaller({
    name: "with_meter",
    record: () => ({ receipt: { level: "written" } }),
    defaultHasher: plainHasher(),
    flush: async () => {},
    close: async () => {},
    useMeter: (meter) => {
      given = meter;
    },
  });
  createDispatcher([telemetry, recorder]);
  if (given === undefined) throw new Error("metrics.test: the recorder got no meter");
  return given;
}

test("content that was cut or masked is counted, and is no loss", async () => {
  const masked = withRedaction(({ phase, args }) => (phase === "in" && args === "pw" ? { args: "***" } : {}));
  const dispatch = createDispatcher([
    withTelemetry({ sink: "otel", captureContent: true, maxContentBytes: 64 }),
    masked,
  ]);
  const before = telemetryLost();
  await dispatch({ ...call, toolArgs: { text: "x".repeat(1000) } }, () => "y".repeat(1000));
  await dispatch({ ...call, toolArgs: "pw" }, () => 1);
  expect(await counts("toolspan.telemetry.altered")).toEqual([
    ["content truncated", 2],
    ["content masked", 1],
  ]);
  expect(telemetryLost()).toEqual(before);
});
