// One tool call through a stack of layers: its span and its receipt, both on disk.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDispatcher } from "@toolspan/core";
import { autoApprove, withConsent, withTimeout } from "@toolspan/middleware";
import { withAuditLog } from "@toolspan/receipts";
import { withTelemetry } from "@toolspan/telemetry";

// Left out, both would go to .toolspan in your project.
process.env.TOOLSPAN_STATE_DIR = mkdtempSync(join(tmpdir(), "toolspan-first-call-"));

/** @type {Record<string, (args: any) => unknown>} */
const tools = { add: ({ a, b }) => a + b };

const dispatch = createDispatcher([
  withAuditLog("local"),
  withTelemetry("jsonl"),
  withTimeout({ maxMs: 30_000 }),
  withConsent(autoApprove),
]);

const call = { toolName: "add", toolArgs: { a: 19, b: 23 } };
const result = await dispatch(call, ({ toolName, toolArgs }) => tools[toolName]?.(toolArgs));
await dispatch.close();

const spans = linesIn("spans").flatMap(({ resourceSpans }) => resourceSpans[0].scopeSpans[0].spans);
const receipt = linesIn("receipts").find(({ record }) => record === "receipt");
const root = spans.at(-1);

console.log(`result   ${result.result}`);
console.log(`receipt  ${result.audit?.receipt_uri}`);
console.log(`span     ${root.name}, ${spans.length - 1} spans inside`);

assert.equal(result.result, 42);
assert.equal(receipt.status, "ok");
assert.equal(receipt.span_id, root.spanId);

/** @param {string} kind */
function linesIn(kind) {
  const folder = join(process.env.TOOLSPAN_STATE_DIR ?? "", kind);
  const [file = ""] = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
  const lines = readFileSync(join(folder, file), "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line));
}
