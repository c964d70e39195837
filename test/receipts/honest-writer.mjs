// Keeps honest logs in a process that then is gone: `node honest-writer.mjs`, with `{ key, jobs }` as JSON on its input.
import { readFileSync } from "node:fs";
import { createDispatcher } from "@toolspan/core";
import { fileSigner, withAuditLog } from "@toolspan/receipts";

const { key, jobs } = JSON.parse(readFileSync(0, "utf8"));
const signer = fileSigner(key);

for (const { stateDir, signed, options, steps } of jobs) {
  const log = withAuditLog({ stateDir, hash: "sha256", ...options, signer: signed ? signer : null });
  const dispatch = createDispatcher([log]);
  for (const { kind, sessionId, calls } of steps) {
    if (kind === "flush") await dispatch.flush();
    else if (kind === "close") await log.close();
    else {
      const call = { toolName: "work", toolArgs: { calls }, turn: { iteration: 1, sessionId } };
      await Promise.all(Array.from({ length: calls }, () => dispatch(call, () => calls)));
    }
  }
  await log.close();
}
