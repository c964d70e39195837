// What withTelemetry takes, what it refuses, and the span record that its sinks get.
import { createDispatcher, defineLayer, diagnostics, type ToolCallInput, ToolspanError } from "@toolspan/core";
import { fixedClock, memorySink } from "@toolspan/core/testing";
import { stderrSink, type TelemetryArgument, type ToolCallSpan, withTelemetry } from "@toolspan/telemetry";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type OtelSdk, startOtelSdk } from "../support/otel-sdk.ts";

let sdk: OtelSdk | undefined;
let unlisten: () => void;
beforeEach(() => {
  unlisten = diagnostics.listen(() => {});
});
afterEach(async () => {
  unlisten();
  await sdk?.shutdown();
  sdk = undefined;
});

const call: ToolCallInput = {
  toolName: "search",
  toolArgs: { q: 1 },
  callId: "call_1",
  declaredExecutor: "local",
  turn: { iteration: 3, sessionId: "session-1" },
};
const layer = defineLayer({
  name: "with_gate",
  call: (given, next, scope) => {
    scope.report({ status: "approved", attributes: { count: 1 } });
    return next(given);
  },
});

test.each<[string, (sink: (span: ToolCallSpan) => void) => TelemetryArgument]>([
  ["a function", (sink) => sink],
  ["{ sink }", (sink) => ({ sink })],
  ["{ sinks }", (sink) => ({ sinks: ["noop", sink, "otel"] })],
  ["a sink object", (sink) => ({ sink: { export: sink, forceFlush: async () => {}, shutdown: async () => {} } })],
])("%s gets one record per dispatch", async (_, argument) => {
  const seen: string[] = [];
  const dispatch = createDispatcher([withTelemetry(argument((span) => void seen.push(span.name)))]);
  await dispatch(call, () => 1);
  await dispatch(call, undefined);
  await dispatch.refuse(call, { status: "policy_blocked" });
  expect(seen).toEqual(["tool_call.search", "tool_call.search", "tool_call.search"]);
});

test.each(["otel", "stderr", "jsonl", "noop"] as const)("%s is known by name", (name) => {
  expect(withTelemetry(name)).toBeTypeOf("function");
  expect(withTelemetry({ sink: name })).toBeTypeOf("function");
});

test.each<[string, unknown]>([
  ["an unknown word", "console"],
  ["nothing", undefined],
  ["a number", 5],
  ["a list", [() => {}]],
  ["options without a sink", { persona: "x" }],
  ["both sink and sinks", { sink: "otel", sinks: ["otel"] }],
  ["no sinks at all", { sinks: [] }],
  ["a sink that is none", { sinks: ["otel", 5] }],
  ["an option in snake_case", { sink: "otel", extra_attributes: {} }],
  ["a persona that is no string", { sink: "otel", persona: 5 }],
  ["attributes that are no scalars", { sink: "otel", extraAttributes: { list: [1] } }],
  ["attributes that are no numbers", { sink: "otel", extraAttributes: { n: Number.NaN } }],
  ["a layerSpans that is unknown", { sink: "otel", layerSpans: "deep" }],
  ["a budget that is too small", { sink: "otel", maxContentBytes: 10 }],
  ["a hasher that is none", { sink: "otel", hasher: {} }],
  ["an onError that is no function", { sink: "otel", onError: "log" }],
])("%s is refused when made, without a word of its value beyond itself", (_, argument) => {
  let thrown: unknown;
  try {
    withTelemetry(argument as TelemetryArgument);
  } catch (error) {
    thrown = error;
  }
  expect(ToolspanError.is(thrown, "TOOLSPAN_INVALID_OPTION")).toBe(true);
  expect((thrown as Error).message).toMatch(/^withTelemetry: .+ must be .+, received .+$/);
});

test("options beside a sink are refused when made, not ignored", () => {
  const make = withTelemetry as (...given: readonly unknown[]) => unknown;
  expect(() => make("otel", { captureContent: false })).toThrow(
    expect.objectContaining({
      code: "TOOLSPAN_INVALID_OPTION",
      message: "withTelemetry: its only argument must be a sink, or options with sink, received more",
    }),
  );
});

test("called by hand it refuses", () => {
  expect(() => withTelemetry("noop")(undefined as never, undefined as never, undefined as never)).toThrow(
    expect.objectContaining({ code: "TOOLSPAN_NOT_IN_DISPATCHER" }),
  );
});

test("the span record has the documented fields", async () => {
  const records = memorySink<ToolCallSpan>();
  const clock = fixedClock({ stepNanos: 1_000_000 });
  const dispatch = createDispatcher(
    [
      withTelemetry({
        sink: records,
        persona: "merge_captain",
        mode: "apply",
        parentSpanId: "turn-7",
        extraAttributes: { team: "blue" },
        env: {},
      }),
      layer,
    ],
    { createClock: () => clock },
  );
  await dispatch(call, () => 1);
  const [record] = records.items;
  expect({ ...record, dispatch_id: "id" }).toMatchInlineSnapshot(`
    {
      "attributes": {
        "args_hash": "sha256:6ae0f660046dadcf5fe8462c0e00a062db4c8d67be82f4098c5ea4208d19b076",
        "executor": "local",
        "gen_ai.tool.call.id": "call_1",
        "gen_ai.tool.executor": "local",
        "gen_ai.tool.name": "search",
        "iteration": 3,
        "mode": "apply",
        "ok": true,
        "persona": "merge_captain",
        "session_id": "session-1",
        "status": "ok",
        "team": "blue",
        "tool_call_id": "call_1",
        "tool_name": "search",
      },
      "child_spans": [
        {
          "args_changed": false,
          "attempt": 1,
          "attributes": {
            "count": 1,
          },
          "depth": 0,
          "duration_ms": 3,
          "ended_at": "2025-01-01T00:00:00.004000000Z",
          "index": 0,
          "name": "tool_call.with_gate",
          "self_time_ms": 2,
          "short_circuited": false,
          "started_at": "2025-01-01T00:00:00.001000000Z",
          "status": "approved",
        },
      ],
      "dispatch_id": "id",
      "duration_ms": 6,
      "end_time_iso": "2025-01-01T00:00:00.006000000Z",
      "end_time_ms": 1735689600006,
      "end_time_unix_nano": "1735689600006000000",
      "events": [
        {
          "at": "2025-01-01T00:00:00.000000000Z",
          "name": "tool_call.dispatched",
        },
        {
          "at": "2025-01-01T00:00:00.005000000Z",
          "attributes": {
            "ok": true,
            "status": "ok",
          },
          "name": "tool_call.result_returned",
        },
      ],
      "kind": "tool_call",
      "name": "tool_call.search",
      "otel": null,
      "parent_span_id": "turn-7",
      "span_id": "call_1",
      "start_time_iso": "2025-01-01T00:00:00.000000000Z",
      "start_time_ms": 1735689600000,
      "start_time_unix_nano": "1735689600000000000",
      "status": "ok",
      "trace_id": "session-1",
    }
  `);
});

test("child spans equal audit.layers, one to one", async () => {
  const records = memorySink<ToolCallSpan>();
  const audited = defineLayer({
    name: "with_audit",
    call: async (given, next) => ({ ...(await next(given)), audit: { summary: "s" } }),
  });
  const { audit } = await createDispatcher([withTelemetry(records), audited, layer])(call, () => {
    throw new TypeError("x");
  });
  const children = records.items[0]?.child_spans.map(({ duration_ms: _, name, ...rest }) => ({
    name: name.replace("tool_call.", ""),
    ...rest,
  }));
  expect(children).toEqual(audit?.layers);
  expect(children).toHaveLength(2);
});

test("without a session the trace is named after the call, without a call id after the dispatch; an override wins", async () => {
  const records = memorySink<ToolCallSpan>();
  const dispatch = createDispatcher([withTelemetry(records)]);
  await dispatch({ toolName: "t", callId: "c" }, () => 1);
  await dispatch({ toolName: "t" }, () => 1);
  const [named, unnamed] = records.items;
  expect(named?.trace_id).toBe("tool_call:c");
  expect(unnamed?.trace_id).toBe(`tool_call:${unnamed?.dispatch_id}`);
  await createDispatcher([withTelemetry({ sink: records, traceIdOverride: "mine" })])(call, () => 1);
  expect(records.items[2]?.trace_id).toBe("mine");
});

test("a refused scope shows as an event of the record", async () => {
  const records = memorySink<ToolCallSpan>();
  await createDispatcher([withTelemetry({ sink: records, env: {} })]).refuse(call, { status: "policy_blocked" });
  expect(records.items[0]?.events.map(({ name, attributes }) => [name, attributes])).toEqual([
    ["tool_call.dispatched", undefined],
    ["tool_call.scope_violation", { category: "policy_blocked" }],
    ["tool_call.result_returned", { status: "policy_blocked", ok: false }],
  ]);
});

test("one dispatch has one trace and span id over all sinks", async () => {
  sdk = await startOtelSdk();
  const [one, two] = [memorySink<ToolCallSpan>(), memorySink<ToolCallSpan>()];
  const lines: string[] = [];
  const stderr = stderrSink({ write: (line) => void lines.push(line) });
  await createDispatcher([withTelemetry({ sinks: ["otel", one, stderr] }), withTelemetry(two)])(call, () => 1);
  const root = sdk
    .spans()
    .find(({ name }) => name === "execute_tool search")
    ?.spanContext();
  expect(one.items[0]?.otel).toEqual({ trace_id: root?.traceId, span_id: root?.spanId });
  expect(two.items[0]?.otel).toEqual(one.items[0]?.otel);
  expect(lines.join()).toContain(`trace=${root?.traceId} span=${root?.spanId}`);
});

test("hashArgs: false leaves the hash out everywhere", async () => {
  sdk = await startOtelSdk();
  const records = memorySink<ToolCallSpan>();
  await createDispatcher([withTelemetry({ sinks: ["otel", records], hashArgs: false })])(call, () => 1);
  expect(JSON.stringify(records.items)).not.toContain("sha256");
  expect(JSON.stringify(sdk.spans().map(({ attributes }) => attributes))).not.toContain("sha256");
});

test("stderr writes one line per dispatch, in which text from models cannot steer a terminal", async () => {
  const lines: string[] = [];
  const write = vi.spyOn(process.stderr, "write").mockImplementation((line) => lines.push(String(line)) > 0);
  try {
    const dispatch = createDispatcher([withTelemetry({ sink: "stderr", prefix: ">> " }), layer]);
    await dispatch({ toolName: "evil\u001b[31m name", callId: "c\n1" }, () => {
      throw new TypeError("x");
    });
  } finally {
    write.mockRestore();
  }
  const [line] = lines;
  expect(line).toMatch(
    /^>> tool_call\.evil\\u\{1b\}\[31m\\u\{20\}name exception \d+\.\d{3}ms call=c\\u\{a\}1 trace=\S+ error=TypeError layers=with_gate=approved\n$/,
  );
});

test("flush waits for what a function promised, close ends sinks", async () => {
  const records = memorySink<ToolCallSpan>();
  let done = false;
  let finish = (): void => {};
  const slow = (): Promise<void> =>
    new Promise((resolve) => {
      finish = () => {
        done = true;
        resolve();
      };
    });
  const dispatch = createDispatcher([withTelemetry({ sinks: [slow, records] })]);
  await dispatch(call, () => 1);
  expect(done).toBe(false);
  const flushed = dispatch.flush();
  finish();
  await flushed;
  expect([done, records.flushes, records.closed]).toEqual([true, 1, false]);
  await dispatch.close();
  expect(records.closed).toBe(true);
});

test("TOOLSPAN_DISABLED stops telemetry, not the call", async () => {
  sdk = await startOtelSdk();
  const records = memorySink<ToolCallSpan>();
  const telemetry = withTelemetry({ sinks: ["otel", records], env: { TOOLSPAN_DISABLED: "1" } });
  const dispatch = createDispatcher([telemetry, layer]);
  expect((await dispatch(call, () => 5)).result).toBe(5);
  expect(await dispatch.run({}, async () => 6)).toBe(6);
  expect(await dispatch.model({ model: "m", iteration: 1 }, async () => 7)).toBe(7);
  await dispatch.close();
  expect([records.items, sdk.spans()]).toEqual([[], []]);
});
