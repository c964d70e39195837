// A merge captain under full governance: every call says why, destructive ones need consent, secrets are masked, the same call
// runs once, merging is only rehearsed. Whatever becomes of a call, it leaves a span, a receipt and an audit event.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createAgent, scriptedModel } from "@toolspan/agent";
import { createToolRegistry, toolsUseMiddleware } from "@toolspan/core";
import { verifyLog } from "@toolspan/receipts";
import { handoffs, questions, reason, spans, stack, stateDir } from "./stack.js";

const inputSchema = {
  type: "object",
  properties: { number: { type: "integer" }, base: { type: "string" }, token: { type: "string" } },
  required: ["number"],
  additionalProperties: false,
};
/** @type {Pick<import("@toolspan/core").ToolDefinition, "inputSchema" | "sideEffectLevel">} */
const reading = { inputSchema, sideEffectLevel: "read_only" };
let resets = 2;

const tools = createToolRegistry([
  { ...reading, name: "read_diff", execute: () => "+1 -1" },
  {
    ...reading,
    name: "wait_for_checks",
    execute() {
      resets -= 1;
      if (resets >= 0) throw new Error("connection reset");
      return "green";
    },
  },
  {
    ...reading,
    name: "read_settings",
    execute: () => ({ hook: "https://bot:hunter2-s3cret@example.org/", merge: true }),
  },
  { inputSchema, name: "deploy_preview", execute: (_, { signal }) => setTimeout(60_000, "up", { signal }) },
  {
    inputSchema,
    name: "ask_for_review",
    execute: ({ number }) => ({
      handoff: {
        target: "review_captain",
        task: `Review pull request ${number}`,
        policy_override: { allowed_tools: ["read_diff"], side_effect_level: "read_only" },
      },
    }),
  },
  { inputSchema, name: "merge_pull_request", execute: () => assert.fail("merging is rehearsed, never run") },
  {
    inputSchema,
    name: "delete_branch",
    execute: () => assert.fail("nobody consented"),
    annotations: { destructiveHint: true },
  },
  { inputSchema, name: "force_push", execute: () => assert.fail("outside the stage") },
]);

const model = scriptedModel({
  steps: [
    calls(["read_diff", { number: 7 }]),
    calls(["read_diff", { number: 7, reason: "See what changes" }]),
    calls(["read_diff", { number: 7, reason: "See it once more" }]),
    calls(["wait_for_checks", { number: 7, reason: "Merge only what is green" }]),
    calls(["deploy_preview", { number: 7, reason: "Look at it running" }]),
    calls(["read_settings", { number: 7, reason: "May it be merged?" }]),
    calls(["ask_for_review", { number: 7, reason: "Two pairs of eyes" }]),
    calls(
      ["merge_pull_request", { number: 7, base: "main", token: "s3cret-token", reason: "The change is reviewed" }],
      ["delete_branch", { number: 7, reason: "It is merged" }],
    ),
    calls(["delete_branch", { number: 7, reason: "It really is merged" }]),
    calls(["force_push", { number: 7, reason: "Tidy up" }]),
    calls(["read_diff", { number: 8, reason: "Look at the next one" }]),
    { text: "7 could be merged; its branch stays." },
  ],
});

/** @type {import("@toolspan/core").ToolCallAuditEvent[]} */
const events = [];
const captain = createAgent({
  name: "merge_captain",
  model,
  tools: toolsUseMiddleware(tools, reason.schemaTransform),
  layers: stack,
  onAudit: (event) => events.push(event),
});
assert.deepEqual(captain.dispatcher.lint(), []);

const run = await captain.run("Get pull request 7 merged.", { sessionId: "pull-request-7" });
await captain.dispatcher.close();

const log = readFileSync(join(stateDir, "receipts/pull-request-7.jsonl"), "utf8").trimEnd().split("\n");
const receipts = log.map((line) => JSON.parse(line)).filter(({ record }) => record === "receipt");

console.log(`${captain.dispatcher.describe()}\n`);
for (const { tool_name, status, reason: why, audit } of receipts)
  console.log(tool_name.padEnd(19), status.padEnd(17), (why ?? "").padEnd(26), audit.summary);

// Loop, trace and receipts tell one story.
const outcomes = [
  "schema_violation", // no reason
  "ok",
  "ok", // the same call again: replayed
  "ok", // at the third attempt
  "timeout",
  "ok", // with a password masked
  "ok", // handed over
  "dry_run",
  "consent_denied",
  "consent_denied", // the same call again: nobody is asked
  "scope_violation",
  "rate_limited",
];
assert.equal(run.stopReason, "end");
assert.deepEqual(statuses(run.calls.map(({ result }) => result)), outcomes);
assert.deepEqual(statuses(spans), outcomes);
assert.deepEqual(statuses(receipts), outcomes);
assert.deepEqual(
  receipts.map(({ dispatch_id, trace_id, span_id }) => ({ dispatch_id, otel: { trace_id, span_id } })),
  spans.map(({ dispatch_id, otel }) => ({ dispatch_id, otel })),
);

// The trace: the layers that ran, outermost first, each with what it decided.
const outside = "abort ok, summary ok, scoped_executor ok, consent approved";
const inside = "handoff_artifact ok, idempotency";
const tool = "rate_limit ok, dry_run ok, retry";
const once = `${tool} ok, retry_attempt ok, timeout ok`;
assert.deepEqual(spans.map(layers), [
  `${outside}, required_reason rejected`,
  `${outside}, required_reason ok, redaction ok, ${inside} miss, ${once}`,
  `${outside}, required_reason ok, redaction ok, ${inside} hit`,
  `${outside}, required_reason ok, redaction ok, ${inside} miss, ${tool} retried, ` +
    "retry_attempt retry, timeout ok, retry_attempt retry, timeout ok, retry_attempt ok, timeout ok",
  `${outside}, required_reason ok, redaction ok, ${inside} unstored, ${tool} refused, retry_attempt give_up, timeout timeout`,
  `${outside}, required_reason ok, redaction redacted, ${inside} miss, ${once}`,
  `${outside}, required_reason ok, redaction ok, handoff_artifact handoff, idempotency miss, ${once}`,
  `${outside}, required_reason ok, redaction redacted, ${inside} unstored, rate_limit ok, dry_run dry_run`,
  "abort ok, summary ok, scoped_executor ok, consent denied",
  "abort ok, summary ok, scoped_executor ok, consent denied",
  "abort ok, summary ok, scoped_executor violation",
  `${outside}, required_reason ok, redaction ok, ${inside} unstored, rate_limit rate_limited`,
]);

// The receipts: why each call was made, what ran how often, what was given again, and that a token was given, never which.
assert.deepEqual(
  receipts.map(({ attempts }) => attempts),
  [0, 1, 0, 3, 1, 1, 1, 0, 0, 0, 0, 0],
);
const [, first, second, , , , , merged] = receipts;
assert.deepEqual([first.replayed, second.replayed], [false, true]);
assert.equal(second.audit.metadata.replayed_from, first.dispatch_id);
assert.equal(second.result_hash, first.result_hash);
assert.equal(merged.reason, "The change is reviewed");
assert.deepEqual(merged.args_redacted, ["token"]);
for (const secret of ["s3cret-token", "hunter2-s3cret"]) {
  assert.ok(!JSON.stringify([log, spans, events, run.calls]).includes(secret), secret);
}
const report = await verifyLog(stateDir);
assert.deepEqual([report.integrity, report.findings], ["ok", []]);

// The audit events: one line for the user, who decided, under which stage, and what was handed over.
assert.equal(events.length, outcomes.length);
assert.equal(events[3]?.audit.summary, "wait for checks: done");
assert.deepEqual(
  events.map(({ audit }) => audit.consent?.decision),
  [...Array(8).fill("approved"), "denied", "denied", undefined, "approved"],
);
assert.ok(events.every(({ audit }) => audit.scope?.stage === "merge"));
assert.deepEqual(events[5]?.audit.metadata?.redacted_fields, ["/hook"]);
assert.deepEqual(
  questions.filter((name) => name === "delete_branch"),
  ["delete_branch"],
);
assert.deepEqual(
  handoffs.map(({ target_persona_or_human, policy_override }) => [target_persona_or_human.id, policy_override]),
  [["review_captain", { allowed_tools: ["read_diff"], side_effect_level: "read_only" }]],
);
assert.deepEqual(events[6]?.audit.handoff, handoffs[0]);

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
