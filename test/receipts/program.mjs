// Scenarios for a process of its own: `node program.mjs <scenario> <state folder> [policy] [count] [bytes of a log]`.
import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createDispatcher } from "@toolspan/core";
import { withAuditLog } from "@toolspan/receipts";

const [scenario, stateDir, policy = "required", count = "3", bytes] = process.argv.slice(2);
const limits = {
  ...(bytes === undefined ? {} : { maxSegmentBytes: Number(bytes) }),
  ...(scenario === "stand" ? { heartbeatMs: 100 } : {}),
};
const log = withAuditLog({ stateDir, policy, layers: "compact", hash: "sha256", ...limits });
const dispatch = createDispatcher([log]);
const call = (n, handler = () => n, sessionId = "session") =>
  dispatch({ toolName: "work", toolArgs: { n }, turn: { iteration: 1, sessionId } }, handler);
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
  /** Calls in ever new sessions, and writes a span of each call once its receipt is durable, until it is killed. */
  async spans() {
    mkdirSync(join(stateDir, "spans"), { recursive: true });
    const attribute = (key, stringValue) => ({ key, value: { stringValue } });
    for (let n = 0; ; n++) {
      const { audit } = await call(n, undefined, `session_${Math.floor(n / 3)}`);
      const [file, dispatchId] = audit.receipt_uri.split("#");
      const logId = JSON.parse(readFileSync(new URL(file), "utf8").split("\n", 1)[0]).chain.log;
      const attributes = [
        attribute("toolspan.dispatch_id", dispatchId),
        attribute("toolspan.receipt.log", logId),
        attribute("toolspan.receipt.level", "durable"),
      ];
      const request = { resourceSpans: [{ scopeSpans: [{ spans: [{ name: "execute_tool work", attributes }] }] }] };
      appendFileSync(join(stateDir, "spans", "run.jsonl"), `${JSON.stringify(request)}\n`);
      if (n % 5 === 0) await log.flush();
      if (n % 50 === 0) await log.close();
      say(n);
    }
  },
  /** Calls, then lives on without doing anything. */
  async live() {
    for (let n = 0; n < Number(count); n++) say((await call(n)).audit ?? null);
    process.stdin.resume();
  },
  /** Holds up everything for a while, twice: before a call, and before the timer. */
  async stand() {
    const hold = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1300);
    await call(0);
    hold();
    await call(1);
    hold();
    await new Promise((resolve) => setTimeout(resolve, 50));
    await log.close();
  },
  /** Calls, then has nothing more to do. */
  async idle() {
    await call(0);
    process.stdout.write("done\n");
  },
  /** Dies inside the handler. */
  async die() {
    await call(0);
    await call(1, () => process.kill(process.pid, "SIGKILL"));
  },
  /** Throws where nobody catches. */
  async throw() {
    await call(0);
    setTimeout(() => {
      throw new Error("nobody catches this");
    }, 1);
  },
  /** Calls and closes. */
  async close() {
    for (let n = 0; n < Number(count); n++) say((await call(n)).status);
    await log.close();
  },
};

await scenarios[scenario]();
