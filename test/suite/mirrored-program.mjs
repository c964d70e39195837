// A program whose receipts are delivered as they come: `node mirrored-program.mjs <state folder> <endpoint> <count> [policy]`.
// It says each receipt_uri, or null; then closes and says what was not delivered. Without a count it goes on until it is killed.
import { createDispatcher } from "@toolspan/core";
import { withAuditLog } from "@toolspan/receipts";

const [stateDir, endpoint, count = "Infinity", policy = "required", sink = "both"] = process.argv.slice(2);
const log = withAuditLog({
  sink,
  stateDir,
  policy,
  hash: "sha256",
  delivery: { endpoint, maxBatchBytes: 20_000 },
  flushTimeoutMs: 3000,
});
const dispatch = createDispatcher([log]);
for (let n = 0; n < Number(count); n++) {
  const turn = { iteration: 1, sessionId: `session_${n % 3}` };
  const { audit } = await dispatch({ toolName: "work", toolArgs: { n }, turn }, () => n);
  process.stdout.write(`${JSON.stringify(audit?.receipt_uri ?? null)}\n`);
}
process.stdout.write(`${JSON.stringify(await log.close())}\n`);
