// Without an OpenTelemetry SDK: everything works, nothing spins, ids are null or private, and it is said once.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { context, trace } from "@opentelemetry/api";
import {
  createDispatcher,
  type Diagnostic,
  defineLayer,
  diagnostics,
  type ToolCaller,
  type TraceRef,
} from "@toolspan/core";
import { jsonlSink, withTelemetry } from "@toolspan/telemetry";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startOtelSdk } from "../support/otel-sdk.ts";
import { attributesOf, spansOf, type WireSpan } from "../support/otlp-receiver.ts";
import { spanTree, type TreeSpan, windowFaults } from "../support/span-tree.ts";

let folder: string;
let said: Diagnostic[];
let unlisten: () => void;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "toolspan-private-"));
  said = [];
  unlisten = diagnostics.listen((diagnostic) => said.push(diagnostic));
  diagnostics.reset();
});
afterEach(() => {
  unlisten();
  rmSync(folder, { recursive: true });
});

const pass = defineLayer({ name: "with_a", call: (call, next) => next(call) });
const onDisk = (): readonly WireSpan[] =>
  readdirSync(folder).flatMap((name) =>
    readFileSync(join(folder, name), "utf8").trimEnd().split("\n").flatMap(spansOf),
  );
const toTree = (span: WireSpan): TreeSpan => ({
  name: span.name,
  spanId: span.spanId,
  parentSpanId: span.parentSpanId,
  start: BigInt(span.startTimeUnixNano),
  end: BigInt(span.endTimeUnixNano),
  status: span.status.code ?? 0,
  attributes: attributesOf(span),
});

/** A layer that keeps the trace which recorders would read. */
function traceKeeper(): { readonly layer: ToolCaller; readonly traces: (TraceRef | null)[] } {
  const traces: (TraceRef | null)[] = [];
  const layer = defineLayer({
    name: "with_keeper",
    call: (call, next, scope) => {
      traces.push(scope.dispatch.trace);
      return next(call);
    },
  });
  return { layer, traces };
}

test('"otel" without a provider works, has a null trace, makes no timer, and says so once', async () => {
  const keeper = traceKeeper();
  const timers = process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
  const dispatch = createDispatcher([withTelemetry({ sink: "otel", env: {} }), keeper.layer, pass]);
  const before = process.cpuUsage();
  for (let i = 0; i < 3; i += 1) expect((await dispatch({ toolName: "t" }, () => i)).result).toBe(i);
  await dispatch.run({ agentName: "a" }, () => dispatch({ toolName: "t" }, () => 1));
  expect(keeper.traces).toEqual([null, null, null, null]);
  const idle = process.cpuUsage(before);
  await new Promise((resolve) => setTimeout(resolve, 200));
  const spun = process.cpuUsage(before);
  expect(spun.user + spun.system - idle.user - idle.system).toBeLessThan(100_000);
  expect(process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length).toBeLessThanOrEqual(timers);
  expect(said.map(({ source, kind }) => `${source} ${kind}`)).toEqual(["telemetry.otel no_provider"]);
});

test("under a remote parent without a provider there is no trace either: those ids are the caller's", async () => {
  const keeper = traceKeeper();
  const parent = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", traceFlags: 1 };
  const sdk = await startOtelSdk();
  trace.disable();
  await context.with(trace.setSpanContext(context.active(), parent), () =>
    createDispatcher([withTelemetry({ sink: "otel", env: {} }), keeper.layer])({ toolName: "t" }, () => 1),
  );
  await sdk.shutdown();
  expect(keeper.traces).toEqual([null]);
});

test("jsonl has a private tracer: runs, model calls, dispatches and nested dispatches nest without any SDK", async () => {
  const keeper = traceKeeper();
  const dispatch = createDispatcher([
    withTelemetry({ sink: "jsonl", dir: folder, serviceName: "clerk", env: {} }),
    keeper.layer,
  ]);
  await dispatch.run({ agentName: "a" }, async () => {
    await dispatch.model({ model: "m", iteration: 1 }, async () => Promise.resolve());
    await dispatch({ toolName: "outer" }, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      await Promise.all([dispatch({ toolName: "inner" }, () => 1), dispatch({ toolName: "inner" }, undefined)]);
    });
  });
  await dispatch.close();
  const spans = onDisk().map(toTree);
  expect(spanTree(spans)).toMatchInlineSnapshot(`
    "invoke_agent a
      chat m
      execute_tool outer
        tool_call.with_keeper
          tool_call.dispatch
            execute_tool inner
              tool_call.with_keeper
                tool_call.dispatch
            execute_tool inner ERROR no_executor
              tool_call.with_keeper
                tool_call.dispatch ERROR no_executor"
  `);
  expect(windowFaults(spans)).toEqual([]);
  expect(new Set(onDisk().map(({ traceId }) => traceId)).size).toBe(1);
  expect(keeper.traces.map((ref) => ref?.spanId)).toEqual(
    expect.arrayContaining(
      onDisk()
        .filter(({ name }) => name === "execute_tool outer")
        .map(({ spanId }) => spanId),
    ),
  );
  expect(said).toEqual([]);
});

test("1,000 interleaved dispatches with nested ones never mix their spans", async () => {
  const dispatch = createDispatcher([withTelemetry({ sink: "jsonl", dir: folder, env: {} }), pass]);
  const hop = (): Promise<void> =>
    new Promise((resolve) => (Math.random() < 0.5 ? setImmediate(resolve) : queueMicrotask(resolve)));
  await Promise.all(
    Array.from({ length: 1000 }, (_, i) =>
      dispatch({ toolName: "outer", callId: `outer ${i}` }, async () => {
        await hop();
        await dispatch({ toolName: "inner", callId: `inner ${i}` }, hop);
        await hop();
      }),
    ),
  );
  await dispatch.close();
  const spans = onDisk();
  const byTrace = new Map<string, WireSpan[]>();
  for (const span of spans) byTrace.set(span.traceId, [...(byTrace.get(span.traceId) ?? []), span]);
  expect(byTrace.size).toBe(1000);
  for (const inTrace of byTrace.values()) {
    const ids = inTrace
      .flatMap((span) => attributesOf(span)["gen_ai.tool.call.id"] ?? [])
      .map((id) => String(id).split(" "));
    expect(ids.map(([kind]) => kind).toSorted()).toEqual(["inner", "outer"]);
    expect(ids[0]?.[1]).toBe(ids[1]?.[1]);
    expect(windowFaults(inTrace.map(toTree))).toEqual([]);
  }
}, 60_000);

test("a private trace follows the sampler of the environment", async () => {
  const dispatch = createDispatcher([
    withTelemetry({ sink: "jsonl", dir: folder, env: { OTEL_TRACES_SAMPLER: "always_off" } }),
  ]);
  await dispatch({ toolName: "t" }, () => 1);
  await dispatch.close();
  expect(readdirSync(folder)).toEqual([]);
});

test("OTEL_SDK_DISABLED leaves the private tracer off", async () => {
  const dispatch = createDispatcher([
    withTelemetry({ sink: "jsonl", dir: folder, env: { OTEL_SDK_DISABLED: "true" } }),
  ]);
  await dispatch({ toolName: "t" }, () => 1);
  await dispatch.close();
  expect(readdirSync(folder)).toEqual([]);
});

test("with a host's SDK, jsonl writes the host's very spans and follows its sampling", async () => {
  const sdk = await startOtelSdk();
  const dispatch = createDispatcher([withTelemetry({ sinks: ["otel", "jsonl"], dir: folder, env: {} }), pass]);
  await trace.getTracer("host").startActiveSpan("request", async (request) => {
    await dispatch({ toolName: "t" }, () => 1);
    request.end();
  });
  await dispatch.close();
  const hosts = sdk.spans().filter(({ name }) => name !== "request");
  expect(onDisk().map(({ traceId, spanId, name }) => [traceId, spanId, name])).toEqual(
    hosts.map((span) => [span.spanContext().traceId, span.spanContext().spanId, span.name]),
  );
  await sdk.shutdown();
  const off = await startOtelSdk({ sampler: (line) => line.alwaysOff });
  const silent = createDispatcher([
    withTelemetry({ sinks: ["otel", jsonlSink({ dir: folder, fileName: "off.jsonl" })] }),
  ]);
  await silent({ toolName: "t" }, () => 1);
  await silent.close();
  await off.shutdown();
  expect(readdirSync(folder)).not.toContain("off.jsonl");
});

test("isolated leaves a host's tracer, sampler and active span alone", async () => {
  const sdk = await startOtelSdk({ sampler: (line) => line.alwaysOff });
  const dispatch = createDispatcher([withTelemetry({ sink: "jsonl", dir: folder, isolated: true, env: {} }), pass]);
  await trace.getTracer("host").startActiveSpan("request", async (request) => {
    await dispatch.run({ agentName: "a" }, () =>
      dispatch({ toolName: "t" }, () => dispatch({ toolName: "inner" }, () => 1)),
    );
    request.end();
  });
  await dispatch.close();
  expect(sdk.spans()).toEqual([]);
  expect(spanTree(onDisk().map(toTree))).toMatchInlineSnapshot(`
    "invoke_agent a
      execute_tool t
        tool_call.with_a
          tool_call.dispatch
            execute_tool inner
              tool_call.with_a
                tool_call.dispatch"
  `);
  await sdk.shutdown();
});

test("an observer that is not isolated does not take an isolated span for its parent", async () => {
  const sdk = await startOtelSdk();
  const outer = createDispatcher([withTelemetry({ sink: "jsonl", dir: folder, isolated: true, env: {} })]);
  const inner = createDispatcher([withTelemetry({ sink: "otel", env: {} })]);
  await outer({ toolName: "outer" }, () => inner({ toolName: "inner" }, () => 1));
  await outer.close();
  const root = sdk.spans().find(({ name }) => name === "execute_tool inner");
  expect(root?.parentSpanContext).toBeUndefined();
  expect(onDisk().map(({ traceId }) => traceId)).not.toContain(root?.spanContext().traceId);
  await sdk.shutdown();
});

test("a host whose spans cannot be read back still gives jsonl its ids and everything we said", async () => {
  const ended: string[] = [];
  let made = 0;
  const opaque = () => {
    made += 1;
    const ids = {
      traceId: "0af7651916cd43dd8448eb211c80319c",
      spanId: made.toString(16).padStart(16, "0"),
      traceFlags: 1,
    };
    const span = {
      spanContext: () => ids,
      isRecording: () => true,
      setAttribute: () => span,
      setAttributes: () => span,
      addEvent: () => span,
      setStatus: () => span,
      end: () => void ended.push(ids.spanId),
    };
    return span;
  };
  const tracerProvider = { getTracer: () => ({ startSpan: opaque }) } as never;
  const dispatch = createDispatcher([
    withTelemetry({ sinks: ["otel", "jsonl"], tracerProvider, dir: folder, env: {} }),
    pass,
  ]);
  await dispatch({ toolName: "t" }, () => {
    throw new TypeError("x");
  });
  await dispatch.close();
  expect(spanTree(onDisk().map(toTree))).toMatchInlineSnapshot(`
    "execute_tool t ERROR TypeError
      tool_call.with_a
        tool_call.dispatch ERROR TypeError"
  `);
  expect(onDisk().map(({ spanId }) => spanId)).toEqual(ended);
});

test("another copy of the API that holds the provider is found and named once", async () => {
  const key = Symbol.for("opentelemetry.js.api.1");
  const globals = globalThis as { [key]?: unknown };
  const former = globals[key];
  globals[key] = { version: "1.0.0", trace: {} };
  try {
    const dispatch = createDispatcher([withTelemetry({ sink: "otel", env: {} })]);
    await dispatch({ toolName: "t" }, () => 1);
    await dispatch({ toolName: "t" }, () => 1);
  } finally {
    globals[key] = former;
  }
  expect(said.map(({ kind, message }) => [kind, message.includes("1.0.0")])).toEqual([["duplicate_api", true]]);
});
