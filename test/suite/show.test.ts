// `toolspan show`: a conversation by its id, a file of spans, a file of receipts.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { build } from "../support/workspace.ts";
import { toolspan } from "./command.ts";
import { filesIn } from "./otlp-file.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });

const folder = mkdtempSync(join(tmpdir(), "toolspan-show-"));
beforeAll(async () => {
  build();
  expect((await toolspan(["demo", "--out", folder, "--json"])).code).toBe(0);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The tree alone: names with their indentation, times and bars left out. */
function treeIn(stdout: string): string {
  return stdout
    .split("\n")
    .filter((line) => /[█·]{10}/.test(line))
    .map((line) => line.replace(/ +[█·]+ +\S+ \S+ +\S+ \S+/, " →").replace(/ →$/, ""))
    .join("\n");
}

test("a session is drawn as it ran, with every layer and its outcome", async () => {
  const { code, stdout, stderr } = await toolspan(["show", "airline-48-0", "--out", folder]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(treeIn(stdout)).toMatchInlineSnapshot(`
    "invoke_agent airline
    ├ chat gpt-4o
    ├ chat gpt-4o
    ├ execute_tool get_reservation_details → ok
    │ ├ tool_call.with_timeout → ok
    │ │ └ tool_call.with_consent → approved
    │ │   └ tool_call.dispatch → ok
    │ └ tool_call.with_audit_log
    ├ chat gpt-4o
    ├ chat gpt-4o
    ├ chat gpt-4o
    └ execute_tool transfer_to_human_agents → ok
      ├ tool_call.with_timeout → ok
      │ └ tool_call.with_consent → approved
      │   └ tool_call.dispatch → ok
      └ tool_call.with_audit_log"
  `);
  expect(stdout).toContain(`2 receipts in ${folder}/receipts/airline-48-0.jsonl`);
});

test("for machines: spans in the order drawn, with their parents, self time and status", async () => {
  const { stdout } = await toolspan(["show", "airline-15-0", "--out", folder, "--json"]);
  const { traces, receipts, receipt_count } = JSON.parse(stdout) as {
    readonly traces: readonly { readonly session_id: string; readonly spans: readonly Record<string, unknown>[] }[];
    readonly receipts: readonly Record<string, unknown>[];
    readonly receipt_count: number;
  };
  expect(traces).toHaveLength(1);
  const spans = traces[0]?.spans ?? [];
  expect(spans[0]).toMatchObject({ name: "invoke_agent airline", parent_span_id: null, failed: false });
  expect(spans.filter(({ failed }) => failed === true).map(({ name }) => name)).toEqual([
    "execute_tool update_reservation_flights",
    "tool_call.dispatch",
  ]);
  expect(receipts.map(({ status }) => status)).toEqual(["ok", "error", "ok"]);
  expect(receipt_count).toBe(3);
});

test("a file of spans is drawn: its twenty latest traces, and how many there are before them", async () => {
  const { code, stdout } = await toolspan(["show", filesIn(folder, "spans")[0] ?? ""]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^8 earlier traces not shown\n/);
  expect(stdout.match(/invoke_agent airline/g)).toHaveLength(20);
});

test("a log of receipts is a table where no spans are at hand", async () => {
  const { code, stdout } = await toolspan(["show", join(folder, "receipts/airline-15-0.jsonl")]);
  expect(code).toBe(0);
  const rows = stdout.trimEnd().split("\n").slice(2);
  expect(rows.map((row) => row.replace(/^\S+ +(\S+) +.*(?:s) (.*)$/, "$1: $2"))).toEqual([
    "get_reservation_details: ok",
    "update_reservation_flights: error, tool_error",
    "cancel_reservation: ok",
  ]);
});

test("what stands in spans and receipts is escaped", async () => {
  const evil = "\u001B]0;title\u0007\u202E";
  const hostile = mkdtempSync(join(tmpdir(), "toolspan-hostile-"));
  const span = {
    traceId: "a",
    spanId: "b",
    name: evil,
    startTimeUnixNano: "1",
    endTimeUnixNano: "2",
    attributes: [{ key: "error.type", value: { stringValue: evil } }],
  };
  const receipt = {
    record: "receipt",
    dispatch_id: evil,
    session_id: evil,
    tool_name: evil,
    status: evil,
    error_type: evil,
    started_at: evil,
  };
  writeFileSync(
    join(hostile, "spans.jsonl"),
    `${JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] })}\n`,
  );
  writeFileSync(join(hostile, "receipts.jsonl"), `${JSON.stringify(receipt)}\n`);
  for (const name of ["spans.jsonl", "receipts.jsonl"]) {
    const { code, stdout } = await toolspan(["show", join(hostile, name)]);
    expect(code).toBe(0);
    expect(stdout).toContain("\\x1b]0;title\\x07\\u{202e}");
    expect(stdout.replaceAll("\n", "")).not.toMatch(/\p{Cc}|\p{Cf}/u);
  }
  rmSync(hostile, { recursive: true });
});
