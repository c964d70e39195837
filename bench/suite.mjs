// The whole call as a user of Toolspan makes it: ten layers, telemetry, receipts; and the naive composition of the same.
import { createHash } from "node:crypto";
import { appendFileSync, mkdtempSync, openSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDispatcher } from "@toolspan/core";
import { withAuditLog } from "@toolspan/receipts";
import { withTelemetry } from "@toolspan/telemetry";
import stableStringify from "fast-json-stable-stringify";
import { quietLayers } from "./composition.mjs";

/** An operation for `run(n)`: `n` times, one after another. */
export const repeat = (operation) => async (n) => {
  for (let i = 0; i < n; i += 1) await operation();
};

/** The same with `width` operations in flight. */
export const repeatWide = (operation, width) => async (n) => {
  const lane = async (count) => {
    for (let i = 0; i < count; i += 1) await operation();
  };
  await Promise.all(Array.from({ length: width }, (_, i) => lane(Math.ceil((n - i) / width))));
};

export const stateDir = () => mkdtempSync(join(tmpdir(), "toolspan-bench-"));

export const callOf = (toolArgs) => ({
  toolName: "web_search",
  toolArgs,
  callId: "call_1",
  turn: { iteration: 1, sessionId: "bench", agentName: "bench" },
});

/** A dispatcher with receipts that are buffered and chained, compact unless said otherwise. */
export const receipts = (options = {}) =>
  withAuditLog({ sink: "local", policy: "best_effort", stateDir: stateDir(), ...options });

/** One whole call; `layers` of the suite around ten quiet ones. */
export function wholeCall(layers, toolArgs, result) {
  const dispatcher = createDispatcher([...layers, ...quietLayers]);
  const call = callOf(toolArgs);
  const handler = async () => result;
  return () => dispatcher(call, handler);
}

export const telemetry = (options = {}) => withTelemetry({ sink: "otel", ...options });

/** A receipt as one writes it first: stable stringify, createHash, append. */
export function naiveReceipts() {
  const file = openSync(join(stateDir(), "naive.jsonl"), "a");
  const hash = (text) => createHash("sha256").update(text).digest("hex");
  let seq = 0;
  let prev = "0".repeat(64);
  return (args, result) => {
    const receipt = {
      v: 1,
      seq,
      call_id: "call_1",
      tool: "web_search",
      started_at: new Date().toISOString(),
      duration_ms: 1.25,
      status: "ok",
      args_sha256: hash(stableStringify(args)),
      result_sha256: hash(stableStringify(result)),
      prev_sha256: prev,
    };
    seq += 1;
    prev = hash(stableStringify(receipt));
    appendFileSync(file, `${JSON.stringify(receipt)}\n`);
  };
}
