// The governance stack of a merge captain: every bundled layer, in the order in which it belongs. `npx toolspan stack examples/captain/stack.js` draws it.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  argsKey,
  composeRedactors,
  redactKeys,
  withConsent,
  withDryRun,
  withHandoffArtifact,
  withIdempotency,
  withRateLimit,
  withRedaction,
  withRequiredReason,
  withRetry,
  withScopedExecutor,
  withSummary,
  withTimeout,
} from "@toolspan/middleware";
import { redactSecrets } from "@toolspan/middleware/redact-secrets";
import { withAuditLog } from "@toolspan/receipts";
import { withTelemetry } from "@toolspan/telemetry";

export const stateDir = process.env.TOOLSPAN_STATE_DIR ?? mkdtempSync(join(tmpdir(), "toolspan-captain-"));

/** @type {import("@toolspan/telemetry").ToolCallSpan[]} */
export const spans = [];
/** @type {import("@toolspan/middleware").HandoffRecord[]} */
export const handoffs = [];
/** @type {string[]} */
export const questions = [];

/** Stands for a person, or for the persona's autonomy policy: whatever destroys something is denied. */
/** @type {import("@toolspan/middleware").ConsentPrompt} */
const autonomyPolicy = ({ toolName, annotations }) => {
  questions.push(toolName);
  return { approved: annotations?.destructiveHint !== true, decidedBy: "autonomy_policy" };
};

// The line for the user is withSummary's; the reason has a key of its own, which receipts read.
export const reason = withRequiredReason({ schemaRequired: false, auditKey: "reason" });

/** @type {import("@toolspan/core").ToolCaller[]} */
export const stack = [
  withAuditLog({ sink: "local", redact: ["token", "content"], stateDir }), // one receipt per call
  withTelemetry({ sinks: ["jsonl", (span) => spans.push(span)], dir: join(stateDir, "spans") }), // one trace per run
  withSummary(({ toolName }, { ok, status }) => `${toolName.replaceAll("_", " ")}: ${ok ? "done" : status}`),
  withScopedExecutor({
    stage: "merge",
    deniedTools: ["force_push"],
    toolArgs: { merge_pull_request: { base: { oneOf: ["main"] } } },
  }),
  withConsent(autonomyPolicy, { ignoreArgs: ["reason"] }), // a reworded reason is not a new question
  reason.caller,
  withRedaction(composeRedactors(redactKeys(["token", "password"]), redactSecrets())),
  withHandoffArtifact({ source: "merge_captain", sink: (handoff) => void handoffs.push(handoff) }),
  withIdempotency(argsKey()),
  withRateLimit({ maxCalls: 6 }), // the persona's tool budget
  withDryRun({ only: ["merge_pull_request"] }), // shadow tools: rehearsed, never run
  withRetry({ backoffMs: 1 }),
  withTimeout({ maxMs: 50, onBreach: "abort" }),
];
