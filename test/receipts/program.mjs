// Scenarios for a process of its own: `node program.mjs <scenario> <state folder> [policy] [count]`.
import { createDispatcher } from "@toolspan/core";
import { withAuditLog } from "@toolspan/receipts";

const [scenario, stateDir, policy = "required", count = "3"] = process.argv.slice(2);
const log = withAuditLog({ stateDir, policy, layers: "compact", hash: "sha256" });
const dispatch = createDispatcher([log]);
const call = (n, handler = () => n) =>
  dispatch({ toolName: "work", toolArgs: { n }, turn: { iteration: 1, sessionId: "session" } }, handler);
const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

const scenarios = {
  /** Calls, then leaves without a word. */
  async exit() {
    for (let n = 0; n < Number(count); n++) say((await call(n)).audit ?? null);
    process.exit(0);
  },
  /** Calls and says each claim until it is killed. */
  async run() {
    for (let n = 0; ; n++) say((await call(n)).audit?.receipt_uri ?? null);
  },
  /** Calls, then lives on without doing anything. */
  async live() {
    for (let n = 0; n < Number(count); n++) say((await call(n)).audit ?? null);
    process.stdin.resume();
  },
  /** Dies inside the handler. */
  async die() {
    await call(0);
    await call(1, () => process.kill(process.pid, "SIGKILL"));
  },
  /** Throws where nobody catches. */
  async throw() {
    await call(0);
    setImmediate(() => {
      throw new Error("nobody catches this");
    });
  },
  /** Calls and closes. */
  async close() {
    for (let n = 0; n < Number(count); n++) say((await call(n)).status);
    await log.close();
  },
};

await scenarios[scenario]();
