// The whole way with the real programs: an agent's tool calls to the Collector, from there to Jaeger, Prometheus and the file of receipts.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../peers/program.ts";
import { toolspan } from "../suite/command.ts";
import { type AgentProgram, CONVERSATIONS, startAgentProgram } from "./agent-program.ts";
import { collectedReceipts, localReceipts, receiptFiles } from "./collected-receipts.ts";
import { findTraces, type StoredSpan, traceOf, wholeTrace } from "./jaeger-traces.ts";
import { fileSpans, spanFiles } from "./span-files.ts";
import { startWorkbench, type Workbench } from "./workbench.ts";

/** The layers of `programs/airline.mjs`, outermost first. */
const LAYERS = ["with_summary", "with_consent", "with_redaction", "with_rate_limit", "with_timeout"];
const PHASE_MS = 4000;

interface Receipt {
  readonly record: string;
  readonly dispatch_id: string;
  readonly session_id: string;
  readonly status: string;
  readonly tool_name: string;
  readonly trace_id: string;
  readonly span_id: string;
}

let bench: Workbench;
let airline: AgentProgram;
let dispatches = 0;
let ended: Awaited<ReturnType<AgentProgram["end"]>>;
/** As the program's own files have them. */
let receipts: readonly Receipt[];
let written: readonly StoredSpan[];

beforeAll(async () => {
  bench = await startWorkbench();
  airline = await startAgentProgram("airline.mjs", bench.environmentFor("airline"));
  for (const [from, to] of [
    [0, 14],
    [14, 28],
  ]) {
    const before = await scrapes();
    dispatches += (await airline.ask<{ dispatches: number }>({ play: { from, to, overMs: PHASE_MS } })).dispatches;
    expect((await scrapes()) - before, "scrapes in this phase").toBeGreaterThanOrEqual(3);
  }
  ended = await airline.end();
  const stateDir = bench.stateDir("airline");
  receipts = [...localReceipts(stateDir).values()]
    .flat()
    .map((line) => JSON.parse(line) as Receipt)
    .filter(({ record }) => record === "receipt");
  written = spanFiles(stateDir).flatMap(fileSpans);
}, 300_000);
afterAll(() => bench?.close());

async function scrapes(): Promise<number> {
  const query = new URLSearchParams({ query: 'count_over_time(up{job="toolspan"}[1h])' });
  const answer = await fetch(`${bench.prometheus.url}/api/v1/query?${query}`);
  const { data } = (await answer.json()) as { data: { result: { value: [number, string] }[] } };
  return Number(data.result[0]?.value[1] ?? 0);
}

function byTraceId(spans: readonly StoredSpan[]): ReadonlyMap<string, readonly StoredSpan[]> {
  const traces = new Map<string, StoredSpan[]>();
  for (const span of spans) traces.set(span.traceId, [...(traces.get(span.traceId) ?? []), span]);
  return traces;
}

const childrenOf = (spans: readonly StoredSpan[], { spanId }: StoredSpan): readonly StoredSpan[] =>
  spans.filter(({ parentSpanId }) => parentSpanId === spanId);

/** The names from a root down, each the one child of the one before. */
function chainBelow(spans: readonly StoredSpan[], root: StoredSpan): readonly string[] {
  const [child, ...others] = childrenOf(spans, root).filter(({ name }) => name !== "tool_call.with_audit_log");
  expect(others.map(({ name }) => name)).toEqual([]);
  return child === undefined ? [] : [child.name, ...chainBelow(spans, child)];
}

const EXECUTE = /^execute_tool /;
const onion = (denied: boolean): readonly string[] =>
  denied
    ? ["tool_call.with_summary", "tool_call.with_consent"]
    : [...LAYERS.map((name) => `tool_call.${name}`), "tool_call.dispatch"];

describe("Jaeger", () => {
  test("has a span of its own for every tool call of the recorded conversations, each with its receipt", async () => {
    expect(ended).toEqual({ complete: true, lost: {} });
    expect(receipts).toHaveLength(dispatches);
    const traces = [...new Set(receipts.map(({ trace_id }) => trace_id))].sort();
    const byTrace = byTraceId(written);
    expect(traces.filter((id) => !byTrace.has(id))).toEqual([]);
    const stored = new Map<string, StoredSpan>();
    for (const [id, spans] of byTrace) {
      for (const span of await wholeTrace(bench.jaeger.url, id, spans.length)) stored.set(span.spanId, span);
    }
    for (const { trace_id, span_id, tool_name } of receipts) {
      expect(stored.get(span_id)).toMatchObject({ traceId: trace_id, name: `execute_tool ${tool_name}` });
    }
    expect([...stored.values()].filter(({ name }) => EXECUTE.test(name))).toHaveLength(dispatches);
  });

  test("nests layers in the order of composition: every call by its chain, every child inside its parent's time", async () => {
    for (const [id, spans] of byTraceId(written)) {
      const stored = await wholeTrace(bench.jaeger.url, id, spans.length);
      const byId = new Map(stored.map((span) => [span.spanId, span]));
      for (const span of stored) {
        const parent = byId.get(span.parentSpanId);
        if (parent === undefined) expect(span.parentSpanId, span.name).toBe("");
        else
          expect(parent.startNs < span.startNs && span.endNs < parent.endNs, `${span.name} in ${parent.name}`).toBe(
            true,
          );
      }
      for (const root of stored.filter(({ name }) => EXECUTE.test(name))) {
        const denied = root.attributes["toolspan.status"] === "consent_denied";
        expect(chainBelow(stored, root), root.name).toEqual(onion(denied));
      }
    }
  });

  test("shows one conversation span by span", async () => {
    const [{ trace_id } = { trace_id: "" }] = receipts.filter(({ session_id }) => session_id === "airline-12-0");
    const stored = await traceOf(bench.jaeger.url, trace_id);
    const [root, ...others] = stored.filter(({ parentSpanId }) => parentSpanId === "");
    expect(others).toEqual([]);
    expect(`\n${printed(stored, root as StoredSpan)}`).toMatchSnapshot();
    const starts = stored.map(({ startNs }) => startNs);
    expect(new Set(starts).size).toBe(starts.length);
  });

  test("finds a denied call by tag, and its deepest layer span is the layer that denied it", async () => {
    const denied = receipts.filter(({ status }) => status === "consent_denied");
    expect(denied.length).toBeGreaterThan(0);
    const found = await findTraces(bench.jaeger.url, {
      service: "airline",
      tags: { "toolspan.status": "consent_denied" },
    });
    expect(found).toEqual([...new Set(denied.map(({ trace_id }) => trace_id))].sort());
    for (const { trace_id, span_id } of denied) {
      const spans = await traceOf(bench.jaeger.url, trace_id);
      const root = spans.find(({ spanId }) => spanId === span_id) as StoredSpan;
      expect(root.statusCode).toBe(2);
      expect(root.attributes["error.type"]).toBe("consent_denied");
      let deepest = root;
      for (let next = layerBelow(spans, root); next !== undefined; next = layerBelow(spans, deepest)) deepest = next;
      expect(deepest.attributes).toMatchObject({
        "toolspan.layer.name": "with_consent",
        "toolspan.layer.status": "denied",
        "toolspan.layer.short_circuited": true,
      });
    }
  });

  test("shows a call over standard input and output as one trace of both programs", async () => {
    const host = await startAgentProgram("mcp-host.mjs", bench.environmentFor("weather"), []);
    const { complete, lost } = await host.end();
    expect({ complete, lost }).toEqual({ complete: true, lost: {} });
    const [id = "", ...more] = await until("Jaeger knows the host's trace", async () => {
      const found = await findTraces(bench.jaeger.url, { service: "weather-host" });
      return found.length > 0 ? found : undefined;
    });
    expect(more).toEqual([]);
    const spans = await until("the trace has both programs", async () => {
      const found = await traceOf(bench.jaeger.url, id);
      return found.some(({ service }) => service === "weather-server") ? found : undefined;
    });
    const [served, ...others] = spans.filter(({ service, name }) => service === "weather-server" && EXECUTE.test(name));
    expect(others).toEqual([]);
    const caller = spans.find(({ spanId }) => spanId === served?.parentSpanId);
    expect(caller).toMatchObject({ service: "weather-host", name: "tool_call.dispatch" });
    expect(await findTraces(bench.jaeger.url, { service: "weather-server" })).toEqual([id]);
    expect(
      [...localReceipts(bench.stateDir("weather")).values()]
        .flat()
        .map((line) => JSON.parse(line) as Receipt)
        .filter(({ record }) => record === "receipt")
        .map(({ trace_id }) => trace_id),
    ).toEqual([id, id]);
  });
});

describe("files of spans", () => {
  test("are shown by Jaeger as they are on disk, once `toolspan export` has replayed them", async () => {
    const state = bench.stateDir("demo");
    const demo = await toolspan(["demo", "--out", state, "--runs", CONVERSATIONS]);
    expect(demo, demo.stderr).toMatchObject({ code: 0 });
    const traces = byTraceId(spanFiles(state).flatMap(fileSpans));
    expect(traces.size).toBeGreaterThan(20);
    const exported = await toolspan(["export", state, "--spans", "--endpoint", bench.collector.otlpHttp]);
    expect(exported, exported.stdout + exported.stderr).toMatchObject({ code: 0 });
    for (const [id, spans] of traces) expect(await wholeTrace(bench.jaeger.url, id, spans.length)).toEqual(spans);
  });
});

describe("receipts", () => {
  test("arrive in the Collector's file byte for byte, every line of every log", async () => {
    const stateDir = bench.stateDir("airline");
    const exported = await toolspan(["export", stateDir, "--endpoint", bench.collector.receipts]);
    expect(exported, exported.stderr).toMatchObject({ code: 0 });
    const { lines } = collectedReceipts(bench.collector.folder);
    const local = localReceipts(stateDir);
    expect([...lines.keys()].sort()).toEqual([...local.keys()].sort());
    for (const [log, expected] of local) expect(lines.get(log), log).toEqual(expected);
  });

  test("have heads there that verify as anchors of the local logs", async () => {
    const files = receiptFiles(bench.collector.folder).flatMap((file) => ["--anchors", file]);
    const verified = await toolspan(["verify", bench.stateDir("airline"), ...files]);
    expect(verified, verified.stdout + verified.stderr).toMatchObject({ code: 0 });
  });
});

function layerBelow(spans: readonly StoredSpan[], parent: StoredSpan): StoredSpan | undefined {
  return childrenOf(spans, parent).find(({ attributes }) => attributes["toolspan.layer.name"] !== undefined);
}

function printed(spans: readonly StoredSpan[], span: StoredSpan, depth = 0): string {
  const { name, attributes, statusCode } = span;
  const status = attributes["toolspan.layer.status"] ?? attributes["toolspan.status"];
  const line = `${"  ".repeat(depth)}${name}${status === undefined ? "" : ` · ${status}`}${statusCode === 2 ? " · ERROR" : ""}\n`;
  return (
    line +
    childrenOf(spans, span)
      .map((child) => printed(spans, child, depth + 1))
      .join("")
  );
}
