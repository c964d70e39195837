// One tool call through a stack of layers: its span and its receipt, both on disk.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDispatcher } from "@toolspan/core";
import { autoApprove, withConsent, withTimeout } from "@toolspan/middleware";
import { withAuditLog } from "@toolspan/receipts";
import { withTelemetry } from "@toolspan/telemetry";

// Without this, both go to .toolspan in your project.
const folder = (process.env.TOOLSPAN_STATE_DIR = mkdtempSync(join(tmpdir(), "toolspan-first-call-")));

const tools = { add: ({ a, b }) => a + b };

const dispatch = createDispatcher([
  withAuditLog("local"),
  withTelemetry("jsonl"),
  withTimeout({ maxMs: 30_000 }),
  withConsent(autoApprove),
]);

const call = { toolName: "add", toolArgs: { a: 19, b: 23 } };
const result = await dispatch(call, ({ toolArgs }) => tools.add(toolArgs));
await dispatch.close();

const read = (name) => {
  const [file = ""] = readdirSync(join(folder, name)).filter((file) => file.endsWith(".jsonl"));
  return readFileSync(join(folder, name, file), "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
};
const receipt = read("receipts").find(({ record }) => record === "receipt");
const spans = read("spans").flatMap((line) => line.resourceSpans[0].scopeSpans[0].spans);

assert.equal(result.result, 42);
assert.equal(receipt.status, "ok");
assert.equal(receipt.span_id, spans.at(-1).spanId);

console.log(`result   ${result.result}`);
console.log(`receipt  ${result.audit?.receipt_uri}`);
console.log(`span     ${spans.at(-1).name}, with ${spans.length - 1} spans inside`);
