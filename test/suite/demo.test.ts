// The demo from end to end: 28 recorded runs through the real command, and everything that it left on disk.
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runPython, whyNoPython } from "../interop/python.ts";
import { build } from "../support/workspace.ts";
import { type Ran, toolspan } from "./command.ts";
import { attribute, isWithin, type OtlpTree, receiptsIn, requestsIn, spansIn, textsIn, treesOf } from "./otlp-file.ts";
import { AIRLINE, parsed, recordedCalls, recordedRuns, stringsIn } from "./transcripts.ts";

const folder = mkdtempSync(join(tmpdir(), "toolspan-demo-"));
const calls = recordedCalls();
const isFailure = (answer: string): boolean => answer.startsWith("Error:");
let ran: Ran;

beforeAll(async () => {
  build();
  ran = await toolspan(["demo", "--out", folder, "--json"]);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const roots = (): readonly OtlpTree[] => treesOf(spansIn(folder));
const dispatches = (): readonly OtlpTree[] =>
  roots().flatMap(({ children }) =>
    children.filter(({ span }) => attribute(span, "gen_ai.operation.name") === "execute_tool"),
  );
const everyNode = (tree: OtlpTree): readonly OtlpTree[] => [tree, ...tree.children.flatMap(everyNode)];

describe("what it says", () => {
  test("exits 0 and prints one JSON object, nothing else", () => {
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stderr).toBe("");
    expect(ran.stdout.trimEnd().split("\n")).toHaveLength(1);
    expect(JSON.parse(ran.stdout)).toMatchObject({
      runs: 28,
      dispatches: 146,
      spans: 146,
      receipts: 146,
      failed_tools: 5,
      malformed_lines: 0,
      broken_runs: 0,
      counts_agree: true,
      stack: "[withAuditLog, withTelemetry, withTimeout, withConsent(auto)]",
      state_folder: folder,
    });
  });

  test("keeps one receipt log for each conversation that called a tool", () => {
    const withCalls = new Set(calls.map(({ session }) => session));
    const logs = readdirSync(join(folder, "receipts")).filter((name) => name.endsWith(".jsonl"));
    expect(logs.sort()).toEqual([...withCalls].map((session) => `${session}.jsonl`).sort());
  });
});

describe("its traces", () => {
  test("are one per run: invoke_agent with its chats and tool calls", () => {
    const trees = roots();
    expect(trees).toHaveLength(28);
    for (const { span, children } of trees) {
      expect(span.name).toBe("invoke_agent airline");
      const run = recordedRuns().find(({ id }) => id === attribute(span, "gen_ai.conversation.id"));
      expect(run, String(attribute(span, "gen_ai.conversation.id"))).toBeDefined();
      const expected = (run?.messages ?? []).flatMap(({ role, tool_calls = [] }) =>
        role === "assistant" ? ["chat gpt-4o", ...tool_calls.map((call) => `execute_tool ${call.function.name}`)] : [],
      );
      expect(children.map((child) => child.span.name)).toEqual(expected);
    }
  });

  test("hold one root per dispatch, layers nested in composition order", () => {
    const found = dispatches();
    expect(found).toHaveLength(146);
    for (const tree of found) {
      const shape = everyNode(tree).map(({ span }) => span.name);
      expect(shape.slice(1)).toEqual([
        "tool_call.with_timeout",
        "tool_call.with_consent",
        "tool_call.dispatch",
        "tool_call.with_audit_log",
      ]);
      const [timeout, auditLog] = tree.children;
      expect(tree.children.map(({ span }) => span.name)).toEqual([
        "tool_call.with_timeout",
        "tool_call.with_audit_log",
      ]);
      expect(timeout?.children.map(({ span }) => span.name)).toEqual(["tool_call.with_consent"]);
      expect(timeout?.children[0]?.children.map(({ span }) => span.name)).toEqual(["tool_call.dispatch"]);
      expect(auditLog?.children).toEqual([]);
    }
  });

  test("put every child inside its parent's window, siblings of one call one after the other", () => {
    for (const root of roots()) {
      for (const node of everyNode(root)) {
        for (const child of node.children) expect(isWithin(child.span, node.span), child.span.name).toBe(true);
      }
    }
  });

  test("start their spans strictly one after the other", () => {
    for (const root of roots()) {
      const starts = everyNode(root).map(({ span }) => BigInt(span.startTimeUnixNano));
      expect(new Set(starts).size).toBe(starts.length);
      expect(starts).toEqual(starts.toSorted((a, b) => (a < b ? -1 : 1)));
    }
  });

  test("mark the five recorded failures ERROR with a type, and everything else Unset", () => {
    const failed = dispatches().filter(({ span }) => span.status?.code === 2);
    expect(failed).toHaveLength(5);
    for (const tree of dispatches()) {
      const isFailed = tree.span.status?.code === 2;
      expect(attribute(tree.span, "error.type") !== undefined).toBe(isFailed);
      expect(attribute(tree.span, "toolspan.status")).toBe(isFailed ? "error" : "ok");
      if (!isFailed) for (const { span } of everyNode(tree)) expect(span.status?.code ?? 0).toBe(0);
    }
  });

  test("name conversation and agent on every dispatch", () => {
    for (const { span } of dispatches()) {
      expect(attribute(span, "gen_ai.agent.name")).toBe("airline");
      expect(String(attribute(span, "gen_ai.conversation.id"))).toMatch(/^airline-\d+-0$/);
    }
  });

  test("hold no string of six or more characters from any argument or answer", () => {
    const allowed = new Set([...calls.map(({ tool }) => tool), ...recordedRuns().map(({ id }) => id)]);
    const secrets = new Set(
      calls.flatMap(({ args, answer }) => [
        ...stringsIn(parsed(args), 6),
        ...stringsIn(parsed(answer), 6),
        ...(answer.length < 6 ? [] : [answer]),
      ]),
    );
    expect(secrets.size).toBeGreaterThan(500);
    const text = textsIn(folder, "spans").join("\n");
    const shown = [...allowed].reduce((rest, word) => rest.replaceAll(word, "_"), text);
    const found = [...secrets].filter(
      (secret) => !allowed.has(secret) && shown.includes(JSON.stringify(secret).slice(1, -1)),
    );
    expect(found).toEqual([]);
  });

  test("are lines that OpenTelemetry's file exporter would write", () => {
    for (const request of requestsIn(folder)) {
      expect(Object.keys(request)).toEqual(["resourceSpans"]);
      for (const { resource, scopeSpans } of request.resourceSpans) {
        expect(resource.attributes.map(({ key }) => key)).toEqual(
          expect.arrayContaining(["service.name", "service.instance.id"]),
        );
        for (const { scope, spans } of scopeSpans) {
          expect(scope.name).toBe("@toolspan/telemetry");
          for (const span of spans) {
            expect(span.traceId).toMatch(/^[0-9a-f]{32}$/);
            expect(span.spanId).toMatch(/^[0-9a-f]{16}$/);
            if (span.parentSpanId !== undefined) expect(span.parentSpanId).toMatch(/^[0-9a-f]{16}$/);
            expect(span.startTimeUnixNano).toMatch(/^\d{19}$/);
            expect(span.endTimeUnixNano).toMatch(/^\d{19}$/);
            expect(span.kind).toBe(span.name.startsWith("chat ") ? 3 : 1);
            for (const { value } of span.attributes) {
              if (value.intValue !== undefined) expect(value.intValue).toMatch(/^-?\d+$/);
              expect(Object.keys(value)).toHaveLength(1);
            }
          }
        }
      }
    }
  });
});

describe("its receipts", () => {
  test("are joined with the spans by dispatch id, one to one, on the same trace and span", () => {
    const receipts = new Map(receiptsIn(folder).map((receipt) => [receipt.dispatch_id, receipt]));
    expect(receipts.size).toBe(146);
    for (const { span } of dispatches()) {
      const receipt = receipts.get(attribute(span, "toolspan.dispatch_id"));
      expect(receipt).toMatchObject({
        trace_id: span.traceId,
        span_id: span.spanId,
        session_id: attribute(span, "gen_ai.conversation.id"),
        status: attribute(span, "toolspan.status"),
      });
    }
  });

  test("keep the answers of repeated call ids apart", () => {
    const key = (session: unknown, id: unknown): string => `${String(session)} ${String(id)}`;
    const keys = calls.map(({ session, id }) => key(session, id));
    const repeated = new Set(keys.filter((each, at) => keys.indexOf(each) !== at));
    expect(repeated.size).toBe(8);
    const receipts = receiptsIn(folder).filter(({ session_id, tool_call_id }) =>
      repeated.has(key(session_id, tool_call_id)),
    );
    expect(receipts).toHaveLength(16);
    const expected = calls.filter(({ session, id }) => repeated.has(key(session, id)));
    for (const { session, iteration, position, tool, answer } of expected) {
      const own = receipts.filter(
        (receipt) =>
          receipt.session_id === session && receipt.iteration === iteration && receipt.emit_order === position,
      );
      expect(own).toHaveLength(1);
      expect(own[0]).toMatchObject({ tool_name: tool, status: isFailure(answer) ? "error" : "ok" });
    }
    expect(new Set(receipts.map(({ span_id }) => span_id)).size).toBe(16);
  });

  test("name failures as the tool's own", () => {
    const failed = receiptsIn(folder).filter(({ ok }) => ok === false);
    expect(failed).toHaveLength(5);
    for (const receipt of failed) {
      expect(receipt).toMatchObject({ status: "error", error_category: "tool_error" });
      expect(receipt.result_hash).toMatch(/^sha256:/);
    }
  });

  test.skipIf(whyNoPython !== undefined)(
    `have the hashes that Python's rfc8785 computes from the transcripts${whyNoPython === undefined ? "" : ` (skipped: ${whyNoPython})`}`,
    () => {
      const { stdout, status } = runPython("check_receipts.py", [AIRLINE, join(folder, "receipts")]);
      expect(stdout).toBe("146 receipts of 26 runs checked (146 executed), 0 mismatches\n");
      expect(status).toBe(0);
    },
  );
});
