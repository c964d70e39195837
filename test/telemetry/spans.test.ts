// What a dispatch looks like in the host's tracer: one root, a span per layer, the handler inside its own.
import { createRequire } from "node:module";
import { context, createContextKey, ROOT_CONTEXT, SpanStatusCode, trace } from "@opentelemetry/api";
import { createDispatcher, defineLayer, type Layer, type ToolCallInput } from "@toolspan/core";
import { withTelemetry } from "@toolspan/telemetry";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type OtelSdk, startOtelSdk } from "../support/otel-sdk.ts";
import { fromSdk, spanTree, windowFaults } from "../support/span-tree.ts";

let sdk: OtelSdk;
beforeEach(async () => {
  sdk = await startOtelSdk();
});
afterEach(() => sdk.shutdown());

const pass = (name: string): Layer => defineLayer({ name, call: (call, next) => next(call) });
const search: ToolCallInput = {
  toolName: "search",
  toolArgs: { q: "x" },
  callId: "call_1",
  turn: { iteration: 2, sessionId: "session-1", runId: "run-1", agentName: "clerk" },
};
const tree = (): string => spanTree(sdk.spans().map(fromSdk));
const spanNamed = (name: string) => {
  const found = sdk.spans().filter((span) => span.name === name);
  expect(found).toHaveLength(1);
  return found[0]!;
};
const eventNames = (name: string): readonly string[] => spanNamed(name).events.map((event) => event.name);

test("layers nest in the order in which they run, the handler's own spans inside the leaf", async () => {
  const dispatch = createDispatcher([withTelemetry("otel"), pass("with_a"), pass("with_b")]);
  await dispatch.run({ agentName: "clerk" }, async () => {
    await dispatch.model({ model: "gpt", iteration: 1 }, async () => "answer");
    await dispatch(search, async () => {
      await Promise.resolve();
      trace.getTracer("host").startSpan("query").end();
    });
  });
  expect(tree()).toMatchInlineSnapshot(`
    "invoke_agent clerk
      chat gpt
      execute_tool search
        tool_call.with_a
          tool_call.with_b
            tool_call.dispatch
              query"
  `);
});

test("under the host's active span stands the run, and a nested dispatch under its caller's leaf", async () => {
  const dispatch = createDispatcher([withTelemetry("otel"), pass("with_a")]);
  await trace.getTracer("host").startActiveSpan("request", async (request) => {
    await dispatch(search, () => dispatch({ toolName: "inner" }, () => 1));
    request.end();
  });
  expect(tree()).toMatchInlineSnapshot(`
    "request
      execute_tool search
        tool_call.with_a
          tool_call.dispatch
            execute_tool inner
              tool_call.with_a
                tool_call.dispatch"
  `);
});

test('layerSpans "flat" puts layers and leaf side by side under the root', async () => {
  const dispatch = createDispatcher([
    withTelemetry({ sink: "otel", layerSpans: "flat" }),
    pass("with_a"),
    pass("with_b"),
  ]);
  await dispatch(search, () => 1);
  expect(tree()).toMatchInlineSnapshot(`
    "execute_tool search
      tool_call.with_a
      tool_call.with_b
      tool_call.dispatch"
  `);
});

test('layerSpans "off" leaves the root, and the handler runs inside it', async () => {
  const dispatch = createDispatcher([withTelemetry({ sink: "otel", layerSpans: "off" }), pass("with_a")]);
  await dispatch(search, () => trace.getTracer("host").startSpan("query").end());
  expect(tree()).toMatchInlineSnapshot(`
    "execute_tool search
      query"
  `);
});

test("the root carries the convention's attributes and our own, the layers theirs", async () => {
  const dispatch = createDispatcher([
    withTelemetry({ sink: "otel", persona: "merge_captain", mode: "apply", extraAttributes: { team: "blue" } }),
    defineLayer({
      name: "with_gate",
      call: (call, next, scope) => {
        scope.report({ status: "approved", attributes: { count: 1, cap: 5, status: "mine" } });
        scope.event("asked", { by: "policy" });
        return next({ ...call, toolArgs: { q: "y" } });
      },
    }),
  ]);
  await dispatch({ ...search, declaredExecutor: "local" }, () => ({ found: 1 }));
  const root = spanNamed("execute_tool search");
  expect(root.kind).toBe(0);
  const { "toolspan.dispatch_id": id, "toolspan.args_hash": hash, ...rest } = root.attributes;
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  expect(hash).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(rest).toEqual({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "search",
    "gen_ai.tool.type": "function",
    "gen_ai.tool.call.id": "call_1",
    "gen_ai.agent.name": "clerk",
    "gen_ai.conversation.id": "session-1",
    "toolspan.session_id": "session-1",
    "toolspan.run_id": "run-1",
    "toolspan.iteration": 2,
    "toolspan.persona": "merge_captain",
    "toolspan.mode": "apply",
    "toolspan.status": "ok",
    "toolspan.executor": "local",
    "toolspan.attempts": 1,
    team: "blue",
  });
  const layer = spanNamed("tool_call.with_gate");
  const { "toolspan.layer.self_time_ms": selfTime, ...said } = layer.attributes;
  expect(selfTime).toBeGreaterThan(0);
  expect(said).toEqual({
    "toolspan.layer.name": "with_gate",
    "toolspan.layer.index": 0,
    "toolspan.layer.status": "approved",
    "toolspan.layer.short_circuited": false,
    "toolspan.layer.args_changed": true,
    "toolspan.layer.attempt": 1,
    "toolspan.layer.count": 1,
    "toolspan.layer.cap": 5,
  });
  expect(layer.events.map(({ name, attributes }) => ({ name, attributes }))).toEqual([
    { name: "asked", attributes: { by: "policy" } },
  ]);
  expect(spanNamed("tool_call.dispatch").attributes).toEqual({
    "toolspan.attempt": 1,
    "toolspan.status": "ok",
    "toolspan.args_changed": true,
  });
  const { version } = createRequire(import.meta.url)("@toolspan/telemetry/package.json") as { version: string };
  expect(root.instrumentationScope).toMatchObject({
    name: "@toolspan/telemetry",
    version,
    schemaUrl: "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev",
  });
});

test("a conversation id is never made up", async () => {
  await createDispatcher([withTelemetry("otel")])({ toolName: "search" }, () => 1);
  expect(spanNamed("execute_tool search").attributes).not.toHaveProperty("gen_ai.conversation.id");
});

test("a throw inside a tool shows on its span: ERROR, error.type, exception event without a word of the error", async () => {
  const dispatch = createDispatcher([withTelemetry("otel"), pass("with_a")]);
  await dispatch(search, () => {
    throw new TypeError("secret words");
  });
  expect(tree()).toMatchInlineSnapshot(`
    "execute_tool search ERROR TypeError
      tool_call.with_a
        tool_call.dispatch ERROR TypeError"
  `);
  const root = spanNamed("execute_tool search");
  expect(root.status).toEqual({ code: SpanStatusCode.ERROR });
  expect(root.events.map(({ name, attributes }) => [name, attributes])).toEqual([
    ["tool_call.dispatched", {}],
    ["exception", { "exception.type": "TypeError" }],
    ["tool_call.result_returned", { "toolspan.status": "exception" }],
  ]);
});

test("an error that an outer layer recovers stays on the leaf; layer and root are not failed", async () => {
  const fallback = defineLayer({
    name: "with_fallback",
    call: async (call, next, scope) => {
      const result = await next(call);
      if (result.ok) return result;
      scope.report({ status: "recovered" });
      return { ok: true, status: "ok", toolName: call.toolName, result: "spare" };
    },
  });
  await createDispatcher([withTelemetry("otel"), fallback])(search, () => {
    throw new RangeError("no");
  });
  expect(tree()).toMatchInlineSnapshot(`
    "execute_tool search
      tool_call.with_fallback
        tool_call.dispatch ERROR RangeError"
  `);
  expect(spanNamed("tool_call.with_fallback").attributes["toolspan.layer.status"]).toBe("recovered");
});

test.each([
  ["a soft error", { isError: true }, {}, SpanStatusCode.ERROR, "tool_error"],
  ["a key that says nothing", { error: undefined, ok: 1 }, {}, SpanStatusCode.UNSET, undefined],
  [
    "what a classifier calls failed",
    { status: "failure" },
    { classify: () => ({ status: "error", errorCategory: "quota" }) as const },
    SpanStatusCode.ERROR,
    "quota",
  ],
])("status follows the one classification: %s", async (_, result, options, code, errorType) => {
  await createDispatcher([withTelemetry("otel")], options)(search, () => result);
  const root = spanNamed("execute_tool search");
  expect(root.status.code).toBe(code);
  expect(root.attributes["error.type"]).toBe(errorType);
});

test("suspended is neither success nor failure", async () => {
  const suspend = defineLayer({
    name: "with_approval",
    call: (call) => ({ ok: false, status: "suspended", toolName: call.toolName, observation: "waiting" }),
  });
  await createDispatcher([withTelemetry("otel"), suspend])(search, () => 1);
  expect(spanNamed("execute_tool search").status.code).toBe(SpanStatusCode.UNSET);
  expect(spanNamed("tool_call.with_approval").attributes["toolspan.layer.short_circuited"]).toBe(true);
});

test("a stream that fails half-way is an error, whatever the reader does with it", async () => {
  const { result, settled } = await createDispatcher([withTelemetry("otel")])(search, async function* () {
    yield 1;
    throw new EvalError("half-way");
  });
  const read: unknown[] = [];
  await expect(async () => {
    for await (const item of result as AsyncIterable<unknown>) read.push(item);
  }).rejects.toThrow("half-way");
  await settled;
  expect(read).toEqual([1]);
  expect(tree()).toMatchInlineSnapshot(`
    "execute_tool search ERROR EvalError
      tool_call.dispatch ERROR EvalError"
  `);
});

test("spans that a streaming tool opens after each yield are inside its leaf, wherever the stream is read", async () => {
  const dispatch = createDispatcher([withTelemetry("otel")]);
  const { result, settled } = await dispatch(search, async function* () {
    for (const step of ["one", "two"]) {
      yield step;
      trace.getTracer("host").startSpan(`after ${step}`).end();
    }
  });
  await context.with(ROOT_CONTEXT, async () => {
    for await (const _ of result as AsyncIterable<unknown>) await Promise.resolve();
  });
  await settled;
  expect(tree()).toMatchInlineSnapshot(`
    "execute_tool search
      tool_call.dispatch
        after one
        after two"
  `);
});

test("every started span ends exactly once, whatever becomes of the call", async () => {
  const dispatch = createDispatcher([withTelemetry("otel"), pass("with_a")]);
  await dispatch(search, () => 1);
  await dispatch(search, () => {
    throw new Error("x");
  });
  await dispatch(search, undefined);
  await dispatch.refuse(search, { status: "policy_blocked", errorCategory: "limit_exceeded" });
  await dispatch({ toolName: "nope", known: false }, undefined);
  const names = sdk.spans().map(({ name }) => name);
  expect(names.filter((name) => name.startsWith("execute_tool"))).toHaveLength(5);
  expect(new Set(sdk.spans().map((span) => span.spanContext().spanId)).size).toBe(names.length);
  expect(names.filter((name) => name === "tool_call.with_a")).toHaveLength(4);
});

test("a call stopped by its scope says so in an event", async () => {
  const dispatch = createDispatcher([withTelemetry("otel")]);
  await dispatch.refuse(search, { status: "scope_violation", error: "secret words" });
  expect(spanNamed("execute_tool search").events.map(({ name, attributes }) => [name, attributes])).toContainEqual([
    "tool_call.scope_violation",
    { category: "scope_violation" },
  ]);
});

test("the same tool twice in parallel keeps its own children, with or without a call id", async () => {
  const dispatch = createDispatcher([withTelemetry("otel"), pass("with_a")]);
  const run = (mark: string, callId: string | null) =>
    dispatch({ ...search, callId, toolArgs: { mark } }, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      trace.getTracer("host").startSpan(`child ${mark}`).end();
      return mark;
    });
  await Promise.all([run("a", "same"), run("b", "same"), run("c", null)]);
  const roots = sdk.spans().filter(({ name }) => name === "execute_tool search");
  const traces = roots.map((root) => {
    const inside = sdk.spans().filter((span) => span.spanContext().traceId === root.spanContext().traceId);
    return inside.filter(({ name }) => name.startsWith("child")).map(({ name }) => name);
  });
  expect(traces.toSorted()).toEqual([["child a"], ["child b"], ["child c"]]);
});

test("allow-listed metadata reaches every span, and nothing else of it does", async () => {
  const dispatch = createDispatcher([withTelemetry({ sink: "otel", metaKeys: ["tenant", "list"] }), pass("with_a")]);
  await dispatch({ ...search, meta: { tenant: "a", secret: "s", list: [1] } }, () => 1);
  expect(sdk.spans()).toHaveLength(3);
  for (const { attributes } of sdk.spans()) {
    expect(attributes).toMatchObject({ "toolspan.meta.tenant": "a" });
    expect(Object.keys(attributes).filter((key) => key.startsWith("toolspan.meta."))).toEqual(["toolspan.meta.tenant"]);
  }
});

test("a remote parent is continued", async () => {
  const parent = {
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: "b7ad6b7169203331",
    traceFlags: 1,
    isRemote: true,
  };
  const dispatch = createDispatcher([withTelemetry("otel")]);
  await context.with(trace.setSpanContext(ROOT_CONTEXT, parent), () => dispatch(search, () => 1));
  expect(spanNamed("execute_tool search").parentSpanContext).toMatchObject({ spanId: parent.spanId, isRemote: true });
  expect(spanNamed("execute_tool search").spanContext().traceId).toBe(parent.traceId);
});

test("a name that no registry knows is folded in the span's name and kept in its attribute", async () => {
  await createDispatcher([withTelemetry("otel")])({ toolName: "invented", known: false }, undefined);
  expect(spanNamed("execute_tool _OTHER").attributes["gen_ai.tool.name"]).toBe("invented");
});

test("a second withTelemetry adds its sinks and no second root", async () => {
  const seen: string[] = [];
  const dispatch = createDispatcher([
    withTelemetry("otel"),
    pass("with_a"),
    withTelemetry((span) => void seen.push(span.otel?.span_id ?? "none")),
  ]);
  await dispatch(search, () => 1);
  expect(seen).toEqual([spanNamed("execute_tool search").spanContext().spanId]);
});

test("eight layers under a microsecond start in strictly rising order, each inside its parent", async () => {
  const layers = Array.from({ length: 8 }, (_, i) => pass(`with_${i}`));
  const dispatch = createDispatcher([withTelemetry("otel"), ...layers]);
  await dispatch.run({ agentName: "a" }, async () => {
    await Promise.all([dispatch(search, () => 1), dispatch(search, () => 2)]);
  });
  const spans = sdk.spans().map(fromSdk);
  expect(spans).toHaveLength(21);
  expect(windowFaults(spans)).toEqual([]);
});

test("a wall clock stepped in mid-run leaves every child inside its parent", async () => {
  const dispatch = createDispatcher([withTelemetry("otel"), pass("with_a")]);
  const now = Date.now;
  try {
    await dispatch.run({ agentName: "a" }, async () => {
      await dispatch(search, () => 1);
      Date.now = () => now() - 3_600_000;
      await dispatch.model({ model: "m", iteration: 1 }, async () => 1);
      await dispatch(search, async () => {
        Date.now = () => now() + 7_200_000;
        await dispatch({ toolName: "inner" }, () => 1);
      });
    });
  } finally {
    Date.now = now;
  }
  expect(windowFaults(sdk.spans().map(fromSdk))).toEqual([]);
});

test("a handler that settles after everybody left is a span of its own, linked to the root", async () => {
  const abort = defineLayer({
    name: "with_deadline",
    call: async (call, next) => {
      void next(call);
      await Promise.resolve();
      return { ok: false, status: "timeout", toolName: call.toolName, observation: "too slow" };
    },
  });
  let finish = (): void => {};
  const dispatch = createDispatcher([withTelemetry("otel"), abort]);
  const settled = new Promise<void>((resolve) => {
    void dispatch(search, async () => {
      await new Promise<void>((go) => {
        finish = go;
      });
      setImmediate(resolve);
      throw new SyntaxError("late");
    }).then(() => finish());
  });
  await settled;
  expect(tree()).toMatchInlineSnapshot(`
    "execute_tool search ERROR timeout
      tool_call.with_deadline ERROR timeout
        tool_call.dispatch
    tool_call.late_settlement ERROR SyntaxError"
  `);
  const late = spanNamed("tool_call.late_settlement");
  expect(late.links.map(({ context }) => context.spanId)).toEqual([
    spanNamed("execute_tool search").spanContext().spanId,
  ]);
  expect(late.parentSpanContext).toBeUndefined();
});

test("tracing never delays a result: it is there while a span inside it is still open", async () => {
  const dispatch = createDispatcher([withTelemetry("otel")]);
  let child: { end(): void } | undefined;
  const result = await dispatch(search, () => {
    child = trace.getTracer("host").startSpan("open");
    throw new Error("now");
  });
  expect(result.status).toBe("exception");
  expect(eventNames("execute_tool search")).toContain("exception");
  child?.end();
});

test("what a sampler leaves out has ids, no inner spans, and still counts in records", async () => {
  await sdk.shutdown();
  sdk = await startOtelSdk({ sampler: (line) => line.alwaysOff });
  const seen: unknown[] = [];
  const dispatch = createDispatcher([
    withTelemetry({ sinks: ["otel", (span) => seen.push(span.otel)] }),
    pass("with_a"),
  ]);
  let inside: boolean | undefined;
  await dispatch(search, () => {
    inside = trace.getTracer("host").startSpan("query").isRecording();
  });
  expect(sdk.spans()).toEqual([]);
  expect(inside).toBe(false);
  expect(seen).toEqual([
    { trace_id: expect.stringMatching(/^[0-9a-f]{32}$/), span_id: expect.stringMatching(/^[0-9a-f]{16}$/) },
  ]);
});

test("the context inside a span keeps what the host put there, and gives way to what is put in it", async () => {
  const key = createContextKey("host's own");
  const dispatch = createDispatcher([withTelemetry("otel"), pass("with_a")]);
  const seen: unknown[] = [];
  await context.with(context.active().setValue(key, "baggage"), () =>
    dispatch(search, async () => {
      const active = context.active();
      seen.push(active.getValue(key), trace.getSpan(active)?.isRecording());
      const more = active.setValue(key, "changed");
      seen.push(more.getValue(key), trace.getSpan(more) === trace.getSpan(active), active.getValue(key));
      const without = active.deleteValue(key);
      seen.push(without.getValue(key), trace.getSpan(without) === trace.getSpan(active));
      seen.push(trace.getSpan(trace.deleteSpan(active)), trace.deleteSpan(active).getValue(key));
      const other = trace.getTracer("host").startSpan("other");
      seen.push(trace.getSpan(trace.setSpan(active, other)) === other);
      other.end();
    }),
  );
  expect(seen).toEqual(["baggage", true, "changed", true, "baggage", undefined, true, undefined, "baggage", true]);
});
