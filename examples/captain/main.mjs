// A governance stack: every call says why, destructive ones need consent, the run has a budget, merging is only rehearsed,
// slow tools are given up. Whatever becomes of a call, it leaves a span, a receipt and an audit event.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createAgent, scriptedModel } from "@toolspan/agent";
import { createToolRegistry, toolsUseMiddleware } from "@toolspan/core";
import { withConsent, withDryRun, withRateLimit, withRequiredReason, withTimeout } from "@toolspan/middleware";
import { withAuditLog } from "@toolspan/receipts";
import { withTelemetry } from "@toolspan/telemetry";

const stateDir = mkdtempSync(join(tmpdir(), "toolspan-captain-"));
const inputSchema = { type: "object", properties: { number: { type: "integer" }, token: { type: "string" } } };

const tools = createToolRegistry([
  { name: "read_diff", inputSchema, execute: () => "+1 -1", annotations: { readOnlyHint: true } },
  { name: "wait_for_checks", inputSchema, execute: (_, { signal }) => setTimeout(60_000, "green", { signal }) },
  { name: "merge_pull_request", inputSchema, execute: () => assert.fail("merging is rehearsed, never run") },
  {
    name: "delete_branch",
    inputSchema,
    execute: () => assert.fail("nobody consented"),
    annotations: { destructiveHint: true },
  },
]);

const model = scriptedModel({
  steps: [
    calls(["read_diff", { number: 7 }]),
    calls(["read_diff", { number: 7, reason: "See what changes" }]),
    calls(["wait_for_checks", { number: 7, reason: "Merge only what is green" }]),
    calls(
      ["merge_pull_request", { number: 7, token: "s3cret-token", reason: "The change is reviewed" }],
      ["delete_branch", { number: 7, reason: "It is merged" }],
    ),
    calls(["read_diff", { number: 8, reason: "Look at the next one" }]),
    { text: "7 could be merged; its branch stays." },
  ],
});

/** @type {import("@toolspan/telemetry").ToolCallSpan[]} */
const spans = [];
/** @type {import("@toolspan/core").ToolCallAuditEvent[]} */
const events = [];

/** @type {import("@toolspan/middleware").ConsentPrompt} */
const autonomyPolicy = ({ annotations }) => ({
  approved: annotations?.destructiveHint !== true,
  decidedBy: "autonomy_policy",
});
const reason = withRequiredReason({ schemaRequired: false });

const captain = createAgent({
  name: "merge_captain",
  model,
  tools: toolsUseMiddleware(tools, reason.schemaTransform),
  layers: [
    withAuditLog({ sink: "local", redact: ["token", "content"], stateDir }),
    withTelemetry({ sinks: ["jsonl", (span) => spans.push(span)], dir: join(stateDir, "spans") }),
    withConsent(autonomyPolicy),
    reason.caller,
    withRateLimit({ maxCalls: 3 }),
    withDryRun({ only: ["merge_pull_request"] }),
    withTimeout({ maxMs: 50, onBreach: "abort" }),
  ],
  onAudit: (event) => events.push(event),
});

const run = await captain.run("Get pull request 7 merged.", { sessionId: "pull-request-7" });
await captain.dispatcher.close();

const log = readFileSync(join(stateDir, "receipts/pull-request-7.jsonl"), "utf8").trimEnd().split("\n");
const receipts = log.map((line) => JSON.parse(line)).filter(({ record }) => record === "receipt");

console.log(`${captain.dispatcher.describe()}\n`);
for (const { tool_name, status, reason } of receipts)
  console.log(tool_name.padEnd(19), status.padEnd(17), reason ?? "");

// Loop, trace and receipts tell one story.
const outcomes = ["schema_violation", "ok", "timeout", "dry_run", "consent_denied", "rate_limited"];
assert.equal(run.stopReason, "end");
assert.deepEqual(statuses(run.calls.map(({ result }) => result)), outcomes);
assert.deepEqual(statuses(spans), outcomes);
assert.deepEqual(statuses(receipts), outcomes);
assert.deepEqual(
  receipts.map(({ dispatch_id, trace_id, span_id }) => ({ dispatch_id, otel: { trace_id, span_id } })),
  spans.map(({ dispatch_id, otel }) => ({ dispatch_id, otel })),
);

// The trace: the layers that ran, outermost first, each with what it decided.
assert.deepEqual(spans.map(layers), [
  "abort ok, consent approved, required_reason rejected",
  "abort ok, consent approved, required_reason ok, rate_limit ok, dry_run ok, timeout ok",
  "abort ok, consent approved, required_reason ok, rate_limit ok, dry_run ok, timeout timeout",
  "abort ok, consent approved, required_reason ok, rate_limit ok, dry_run dry_run",
  "abort ok, consent denied",
  "abort ok, consent approved, required_reason ok, rate_limit rate_limited",
]);

// The receipts: why each call was made, and that a token was given, never which.
assert.equal(receipts[3].reason, "The change is reviewed");
assert.deepEqual(receipts[3].args_redacted, ["token"]);
assert.ok(!log.join().includes("s3cret-token"));

// The audit events: who decided.
assert.deepEqual(
  events.map(({ audit }) => `${audit.consent?.decision} by ${audit.consent?.decided_by}`),
  ["approved", "approved", "approved", "approved", "denied", "approved"].map((word) => `${word} by autonomy_policy`),
);

/** @param {...[string, object]} asked */
function calls(...asked) {
  return { toolCalls: asked.map(([name, args]) => ({ name, args })) };
}

/** @param {readonly ({ readonly status: string } | null)[]} items */
function statuses(items) {
  return items.map((item) => item?.status);
}

/** @param {import("@toolspan/telemetry").ToolCallSpan} span */
function layers({ child_spans }) {
  return child_spans.map(({ name, status }) => `${name.replace("tool_call.with_", "")} ${status}`).join(", ");
}
