// Stories of the bundled layers with everything that records them: spans, metrics, receipts and audit events of the same calls.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAgent, type Message, type ScriptStep, scriptedModel } from "@toolspan/agent";
import {
  createDispatcher,
  createToolRegistry,
  type Dispatcher,
  defineLayer,
  type ToolCallAuditEvent,
  type ToolCaller,
  type ToolCallInput,
  toolsUseMiddleware,
} from "@toolspan/core";
import {
  argsKey,
  autoApprove,
  lruIdempotencyStore,
  type Redactor,
  withConsent,
  withIdempotency,
  withRateLimit,
  withRedaction,
  withRequiredReason,
  withRetry,
  withScopedExecutor,
  withSummary,
  withTimeout,
} from "@toolspan/middleware";
import { withAuditLog } from "@toolspan/receipts";
import { type ToolCallSpan, withTelemetry } from "@toolspan/telemetry";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type OtelSdk, startOtelSdk } from "../support/otel-sdk.ts";
import { fromSdk, spanTree } from "../support/span-tree.ts";

let sdk: OtelSdk;
let stateDir: string;
const open: Dispatcher[] = [];
beforeEach(async () => {
  sdk = await startOtelSdk();
  stateDir = mkdtempSync(join(tmpdir(), "toolspan-layers-"));
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((dispatcher) => dispatcher.close()));
  await sdk.shutdown();
  rmSync(stateDir, { recursive: true, force: true });
});

const turn = { iteration: 1, sessionId: "s1", runId: "r1" };
const call: ToolCallInput = { toolName: "search", toolArgs: { q: "x" }, callId: "c1", turn };

interface Seen {
  readonly dispatch: Dispatcher;
  readonly events: readonly ToolCallAuditEvent[];
  readonly records: readonly ToolCallSpan[];
  receipts(): Promise<readonly Record<string, unknown>[]>;
}

/** A dispatcher over `layers` with a tracer, span records, receipts on disk and a listener. */
function seen(layers: readonly ToolCaller[], captureContent = false): Seen {
  const events: ToolCallAuditEvent[] = [];
  const records: ToolCallSpan[] = [];
  const observer = withTelemetry({ sinks: ["otel", (record) => void records.push(record)], captureContent });
  const dispatch = createDispatcher([withAuditLog({ sink: "local", stateDir }), observer, ...layers], {
    onAudit: (event) => events.push(event),
  });
  open.push(dispatch);
  return { dispatch, events, records, receipts: () => receiptsOf(dispatch) };
}

async function receiptsOf(dispatch: Dispatcher): Promise<readonly Record<string, unknown>[]> {
  await dispatch.close();
  const log = readFileSync(join(stateDir, "receipts/s1.jsonl"), "utf8").trimEnd().split("\n");
  return log.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ record }) => record === "receipt");
}

const tree = (...keys: readonly string[]): string =>
  spanTree(sdk.spans().map(fromSdk), ({ attributes }) =>
    keys.flatMap((key) => (attributes[key] === undefined ? [] : String(attributes[key]))).join(" "),
  );

test("a failure from which an outer layer recovers stays one where it happened", async () => {
  const fallback = defineLayer({
    name: "with_fallback",
    traits: { rewritesArgs: "no" },
    async call(passed, next, scope) {
      const result = await next(passed);
      if (result.ok) return result;
      scope.report({ status: "recovered" });
      return { ok: true, status: "ok", toolName: passed.toolName, result: "from the cache" };
    },
  });
  const { dispatch, receipts } = seen([fallback, withTimeout({ maxMs: 60_000 })]);
  await dispatch(call, () => {
    throw new RangeError("down");
  });
  expect(tree("toolspan.layer.status")).toBe(
    [
      "execute_tool search",
      "  tool_call.with_fallback recovered",
      "    tool_call.with_timeout ok",
      "      tool_call.dispatch ERROR RangeError",
      "  tool_call.with_audit_log",
    ].join("\n"),
  );
  expect(await receipts()).toMatchObject([{ status: "ok", ok: true, error_type: null, attempts: 1 }]);
});

test("attempts of a retry are siblings, and one receipt counts them", async () => {
  let runs = 0;
  const { dispatch, receipts } = seen([withRetry({ backoffMs: 0 })]);
  const result = await dispatch({ ...call, idempotent: true }, () => {
    runs += 1;
    if (runs < 3) throw new TypeError("flaky");
    return "done";
  });
  expect(result.result).toBe("done");
  expect(tree("toolspan.layer.status", "toolspan.layer.number", "toolspan.layer.decision")).toBe(
    [
      "execute_tool search",
      "  tool_call.with_retry retried",
      "    tool_call.with_retry_attempt retry 1 retry",
      "      tool_call.dispatch ERROR TypeError",
      "    tool_call.with_retry_attempt retry 2 retry",
      "      tool_call.dispatch ERROR TypeError",
      "    tool_call.with_retry_attempt ok 3 accept",
      "      tool_call.dispatch",
      "  tool_call.with_audit_log",
    ].join("\n"),
  );
  expect(await receipts()).toMatchObject([{ status: "ok", attempts: 3 }]);
});

test("a tool whose effect came before its failure is not run again", async () => {
  let effects = 0;
  const { dispatch, receipts } = seen([withRetry({ backoffMs: 0 })]);
  await dispatch({ ...call, idempotent: false }, () => {
    effects += 1;
    throw new Error("after the effect");
  });
  expect(effects).toBe(1);
  expect(await receipts()).toMatchObject([{ status: "exception", attempts: 1 }]);
});

test("a replay says so on span, record and receipt, names the first, and is no second execution", async () => {
  const { dispatch, records, receipts } = seen([withIdempotency(argsKey(), { store: lruIdempotencyStore() })]);
  const handler = vi.fn(() => "found");
  await dispatch(call, handler);
  await dispatch({ ...call, callId: "another" }, handler);
  expect(handler).toHaveBeenCalledTimes(1);
  const [first, second] = records;
  expect(second?.attributes).toMatchObject({ replayed: true });
  expect(second?.child_spans[0]?.attributes).toMatchObject({ replayed_from: first?.dispatch_id });
  const roots = sdk.spans().filter(({ name }) => name === "execute_tool search");
  expect(roots.map(({ attributes }) => attributes["toolspan.replayed"])).toEqual([undefined, true]);
  const metrics = await sdk.collectMetrics();
  expect(metrics.get("gen_ai.execute_tool.duration")?.dataPoints).toMatchObject([{ value: { count: 1 } }]);
  const [ran, replayed] = await receipts();
  expect(ran).toMatchObject({ replayed: false, attempts: 1 });
  expect(replayed).toMatchObject({
    replayed: true,
    attempts: 0,
    executed_args_hash: null,
    result_hash: ran?.result_hash,
    audit: { metadata: { replayed_from: ran?.dispatch_id } },
  });
});

test("a refused call leaves its receipt and no trace of an execution: deny, then expire, then approve", async () => {
  const answers = [false, new Promise<boolean>(() => {}), true];
  const asked = withConsent(() => answers.shift() ?? false, { promptTimeoutMs: 5, denials: "ask" });
  const { dispatch, receipts } = seen([asked]);
  for (let i = 0; i < 3; i += 1) await dispatch(call, () => 1);
  expect(sdk.spans().filter(({ name }) => name === "tool_call.dispatch")).toHaveLength(1);
  const written = await receipts();
  expect(
    written.map(({ status, attempts, executed_args_hash }) => [status, attempts, executed_args_hash !== null]),
  ).toEqual([
    ["consent_denied", 0, false],
    ["consent_denied", 0, false],
    ["ok", 1, true],
  ]);
});

test("consent given for arguments that are rewritten afterwards lets nothing run", async () => {
  const rewrite = defineLayer({
    name: "with_rewrite",
    traits: { rewritesArgs: "any" },
    call: (passed, next) => next({ ...passed, toolArgs: { q: "something else" } }),
  });
  const layers = [withConsent(autoApprove), rewrite];
  expect(() => createDispatcher(layers, { onFinding: "throw" })).toThrow("with_consent judges arguments");
  const { dispatch, receipts } = seen(layers);
  const handler = vi.fn();
  await dispatch(call, handler);
  expect(handler).not.toHaveBeenCalled();
  expect(await receipts()).toMatchObject([
    { status: "policy_blocked", error_category: "consent_voided", executed_args_hash: null },
  ]);
});

test("a tool that goes on after its deadline was asked to stop, and is told of as late, not as another outcome", async () => {
  let stopped = false;
  let finish: (value: string) => void = () => {};
  const { dispatch, receipts } = seen([withTimeout({ maxMs: 10, onBreach: "abort" })]);
  const result = await dispatch(call, ({ signal }) => {
    signal?.addEventListener("abort", () => {
      stopped = true;
    });
    return new Promise((resolve) => {
      finish = resolve;
    });
  });
  expect([result.status, result.executed, stopped]).toEqual(["timeout", true, true]);
  finish("written all the same");
  await vi.waitUntil(() => sdk.spans().some(({ name }) => name === "tool_call.late_settlement"));
  const late = sdk.spans().find(({ name }) => name === "tool_call.late_settlement");
  const root = sdk.spans().find(({ name }) => name === "execute_tool search");
  expect(late?.links.map(({ context }) => context.spanId)).toEqual([root?.spanContext().spanId]);
  expect(await receipts()).toMatchObject([{ status: "timeout", attempts: 1 }]);
  const log = readFileSync(join(stateDir, "receipts/s1.jsonl"), "utf8");
  expect(log).toContain('"record":"late_settlement"');
});

test("tracing delays no result: a throw arrives while a child span is still open", async () => {
  const { trace } = await import("@opentelemetry/api");
  const { dispatch } = seen([withTimeout({ maxMs: 60_000 })]);
  const children: { end(): void }[] = [];
  const result = await dispatch(call, () => {
    children.push(trace.getTracer("host").startSpan("stream that is still read"));
    throw new Error("at once");
  });
  expect(result.error).toBe("at once");
  expect(sdk.spans().map(({ name }) => name)).not.toContain("stream that is still read");
  for (const child of children) child.end();
});

describe("a secret", () => {
  const SECRET = "canary-5ecret";
  const redactor: Redactor = ({ phase, args, result }) => {
    const value = phase === "in" ? args : result;
    const json = JSON.stringify(value);
    if (json === undefined || !json.includes(SECRET)) return {};
    const masked = JSON.parse(json.replaceAll(SECRET, "[masked]")) as unknown;
    return { [phase === "in" ? "args" : "result"]: masked, redactedFields: ["token"] };
  };

  test("that stands in an error is in no sink, even where content is recorded", async () => {
    const { dispatch, events, records, receipts } = seen(
      [withSummary((_, { error }) => error ?? ""), withRedaction(redactor)],
      true,
    );
    const result = await dispatch({ ...call, toolArgs: { token: SECRET }, description: "Searches" }, () => {
      throw new Error(`refused: ${SECRET}`);
    });
    const spans = sdk.spans().map(({ name, attributes, events: said, status }) => ({ name, attributes, said, status }));
    const everything = JSON.stringify([result, records, events, spans, await receipts()]);
    expect(everything).not.toContain(SECRET);
    expect(everything).toContain("refused: [masked]");
    expect(everything).toContain("gen_ai.tool.call.arguments");
  });

  test("that a tool returned is not in what the model reads next, nor in the recorded conversation", async () => {
    const asked: (readonly Message[])[] = [];
    const steps: ScriptStep[] = [
      { toolCalls: [{ name: "read", args: {} }] },
      (request) => {
        asked.push(request.messages);
        return { toolCalls: [{ name: "read", args: { again: true } }] } as never;
      },
      (request) => {
        asked.push(request.messages);
        return { text: "done" } as never;
      },
    ];
    const agent = createAgent({
      name: "reader",
      model: scriptedModel({ steps }),
      tools: createToolRegistry([{ name: "read", execute: () => ({ password: SECRET }) }]),
      layers: [withTelemetry({ sink: "otel", captureContent: true }), withRedaction(redactor)],
    });
    open.push(agent.dispatcher);
    const run = await agent.run("read it");
    expect(asked).toHaveLength(2);
    const spans = sdk.spans().map(({ attributes }) => attributes);
    expect(JSON.stringify([asked, run, spans])).not.toContain(SECRET);
    expect(JSON.stringify(asked[1])).toContain("[masked]");
    expect(JSON.stringify(spans)).toContain("gen_ai.input.messages");
  });
});

describe("in a run of the loop", () => {
  const inputSchema = {
    type: "object",
    properties: { number: { type: "integer" } },
    required: ["number"],
    additionalProperties: false,
  };

  async function runOnce(args: Record<string, unknown>, options: Parameters<typeof withRequiredReason>[0] = {}) {
    const execute = vi.fn((_: Record<string, unknown>) => "ok");
    const reason = withRequiredReason(options);
    const tools = createToolRegistry([{ name: "read_diff", inputSchema, execute }]);
    const agent = createAgent({
      name: "captain",
      model: scriptedModel({ steps: [{ toolCalls: [{ name: "read_diff", args }] }, { text: "done" }] }),
      tools: toolsUseMiddleware(tools, reason.schemaTransform),
      layers: [reason.caller],
    });
    open.push(agent.dispatcher);
    const run = await agent.run("go");
    const { status, error, audit } = run.calls[0]?.result ?? {};
    const [shown] = toolsUseMiddleware(tools, reason.schemaTransform).tools;
    return { status, error, audit, shown: shown?.inputSchema, got: execute.mock.calls.map(([given]) => given) };
  }

  test("a reason is asked for by the schema, given, validated, and never seen by the tool", async () => {
    const { status, audit, shown, got } = await runOnce({ number: 7, reason: "See what changes" });
    expect(shown).toMatchObject({ required: ["number", "reason"], additionalProperties: false });
    expect([status, got, audit?.summary]).toEqual(["ok", [{ number: 7 }], "See what changes"]);
  });

  test("a call without one is refused for that, and one with bad arguments for these", async () => {
    const untold = await runOnce({ number: 7 });
    expect([untold.status, untold.got]).toEqual(["schema_violation", []]);
    expect(untold.error).toContain("say why");
    const wrong = await runOnce({ number: "seven", reason: "See" });
    expect([wrong.status, wrong.got]).toEqual(["schema_violation", []]);
    expect(wrong.error).toContain("/number");
    expect(wrong.error).not.toContain("reason");
    const stranger = await runOnce({ number: 7, reason: "See", colour: "red" });
    expect([stranger.status, stranger.got]).toEqual(["schema_violation", []]);
  });

  test.each<[string, Parameters<typeof withRequiredReason>[0], Record<string, unknown>, Record<string, unknown>]>([
    ["kept", { strip: false }, { number: 7, reason: "See" }, { number: 7, reason: "See" }],
    ["optional and left out", { schemaRequired: false, onMissing: "fill_blank" }, { number: 7 }, { number: 7 }],
    [
      "kept, optional and left out",
      { strip: false, schemaRequired: false, onMissing: "fill_blank" },
      { number: 7 },
      { number: 7 },
    ],
    ["of another name", { field: "why" }, { number: 7, why: "See" }, { number: 7 }],
  ])("a reason that is %s passes validation too", async (_, options, args, given) => {
    const { status, got } = await runOnce(args, options);
    expect([status, got]).toEqual(["ok", [given]]);
  });

  test("one audit event per call in which a layer set audit, with its layers, in session and run; none for the others", async () => {
    const events: ToolCallAuditEvent[] = [];
    const quiet = defineLayer({
      name: "with_quiet",
      traits: { rewritesArgs: "no" },
      call: (passed, next) => next(passed),
    });
    const makeAgent = (layers: readonly ToolCaller[]) => {
      const agent = createAgent({
        name: "captain",
        model: scriptedModel({
          steps: [
            {
              toolCalls: [
                { name: "read_diff", args: { number: 1 } },
                { name: "merge", args: { number: 2 } },
              ],
            },
            { toolCalls: [{ name: "unknown_tool", args: {} }] },
            { text: "done" },
          ],
        }),
        tools: createToolRegistry([
          { name: "read_diff", inputSchema, execute: () => "+1" },
          { name: "merge", inputSchema, execute: () => "merged" },
        ]),
        layers,
        onAudit: (event) => events.push(event),
      });
      open.push(agent.dispatcher);
      return agent;
    };
    await makeAgent([quiet, withRateLimit({ maxCalls: 9 })]).run("go", { sessionId: "quiet" });
    expect(events).toEqual([]);
    const asked = withConsent(({ toolName }) => toolName === "read_diff");
    const scope = withScopedExecutor({ stage: "merge" });
    const run = await makeAgent([scope, withSummary(({ toolName }) => `Used ${toolName}`), asked, quiet]).run("go", {
      sessionId: "s1",
    });
    expect(
      events.map(({ type, session_id, tool_name, tool_call_id }) => [type, session_id, tool_name, tool_call_id]),
    ).toEqual([
      ["tool_call_audit", "s1", "read_diff", run.calls[0]?.callId],
      ["tool_call_audit", "s1", "merge", run.calls[1]?.callId],
    ]);
    expect(new Set(events.map(({ dispatch_id }) => dispatch_id)).size).toBe(2);
    expect(events.map(({ audit }) => [audit.summary, audit.consent?.decision, audit.scope?.stage])).toEqual([
      ["Used read_diff", "approved", "merge"],
      ["Used merge", "denied", "merge"],
    ]);
    expect(events.map(({ audit }) => audit.layers?.map(({ name, status }) => `${name} ${status}`))).toEqual([
      ["with_abort ok", "with_scoped_executor ok", "with_summary ok", "with_consent approved", "with_quiet ok"],
      ["with_abort ok", "with_scoped_executor ok", "with_summary ok", "with_consent denied"],
    ]);
    expect(run.calls.map(({ result }) => result?.audit)).toEqual([events[0]?.audit, events[1]?.audit, undefined]);
  });

  test("a scope that raises ends the run with its error, and everything is recorded before", async () => {
    const agent = createAgent({
      name: "captain",
      model: scriptedModel({ steps: [{ toolCalls: [{ name: "merge", args: { number: 1 } }] }, { text: "never" }] }),
      tools: createToolRegistry([{ name: "merge", inputSchema, execute: () => "merged" }]),
      layers: [
        withAuditLog({ sink: "local", stateDir }),
        withTelemetry("otel"),
        withScopedExecutor({ stage: "research", allowedTools: ["read_diff"], onViolation: "raise" }),
      ],
    });
    open.push(agent.dispatcher);
    await expect(agent.run("go", { sessionId: "s1" })).rejects.toMatchObject({ code: "TOOLSPAN_SCOPE_VIOLATION" });
    expect(await receiptsOf(agent.dispatcher)).toMatchObject([{ status: "scope_violation", attempts: 0 }]);
    const root = sdk.spans().find(({ name }) => name === "execute_tool merge");
    expect(root?.events.map(({ name }) => name)).toContain("tool_call.scope_violation");
  });
});
