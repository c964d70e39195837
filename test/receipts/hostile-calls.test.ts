// Laws of hostile calls: whatever a tool, a model or a program around us comes up with, there is one line, and it says what happened.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CAUSE, createDispatcher, defineLayer } from "@toolspan/core";
import { fileSigner, type LoggedReceipt, verifyLog, withAuditLog } from "@toolspan/receipts";
import { expect, test } from "vitest";
import { leafHash, MerkleTree } from "../../packages/receipts/src/log/merkle.ts";
import { headsOf } from "./mutations.ts";
import { everyReceipt, linesOf, logsIn, recording, recordsOf, temporaryFolder } from "./parts.ts";
import { edit, newKey, signedBy } from "./signing.ts";

/** One call with these arguments and this handler, and its receipt. */
async function receiptOf(toolArgs: unknown, handler: () => unknown, toolName = "work") {
  const stateDir = temporaryFolder();
  const log = withAuditLog({ stateDir, hash: "sha256" });
  const result = await createDispatcher([log])({ toolName, toolArgs, turn: { iteration: 1, sessionId: "s" } }, handler);
  await log.close();
  const receipts = everyReceipt(join(stateDir, "receipts"));
  expect(receipts).toHaveLength(1);
  expect((await verifyLog(stateDir, { strict: true })).exitCode).toBe(0);
  const [file = ""] = logsIn(join(stateDir, "receipts"));
  return { result, receipt: receipts[0] as LoggedReceipt, text: readFileSync(join(stateDir, "receipts", file)) };
}

const cycle: { self?: unknown } = {};
cycle.self = cycle;

function nested(levels: number): unknown {
  let value: unknown = 0;
  for (let i = 0; i < levels; i++) value = [value];
  return value;
}

test.each<[string, unknown, string]>([
  ["a cycle", cycle, "refused:cycle"],
  ["a hundred thousand levels", nested(100_000), "refused:depth"],
  ["NaN", { n: Number.NaN }, "refused:non_finite"],
  ["half a surrogate pair", { text: "\ud800" }, "refused:lone_surrogate"],
  ["a function", { run: () => 1 }, "refused:function"],
])("%s in arguments and result leaves the call as it is, and a hash that names the reason", async (_, value, hash) => {
  const { result, receipt } = await receiptOf(value, () => value);
  expect(result).toMatchObject({ ok: true, status: "ok" });
  expect(result.result).toBe(value);
  expect(receipt).toMatchObject({ status: "ok", args_hash: hash, executed_args_hash: hash, result_hash: hash });
});

test("arguments that their tool changes afterwards are recorded as the call came in", async () => {
  const toolArgs = { amount: 1 };
  const { receipt } = await receiptOf(toolArgs, () => {
    toolArgs.amount = 2;
    return "done";
  });
  const { receipt: unchanged } = await receiptOf({ amount: 1 }, () => "done");
  expect(receipt.args_hash).toBe(unchanged.args_hash);
  expect(receipt.executed_args_hash).toBe(unchanged.args_hash);
});

test.each([
  ["newlines", 'work\n{"record":"receipt"}\r\n'],
  ["terminal controls", "work\u001b]0;owned\u0007\u009b2J"],
  ["marks that turn text around", "work\u202egnp.exe\u2066"],
  ["separators and tags", "work\u2028\u2029\u{e0041}\u{e007f}<script>"],
  ["a megabyte", "x".repeat(1_000_000)],
])("a tool's name or error with %s is one line of bounded size", async (_, hostile) => {
  class Hostile extends Error {
    override readonly name = hostile;
  }
  const thrown = new Hostile(hostile);
  const { result, receipt, text } = await receiptOf(
    {},
    () => {
      throw thrown;
    },
    hostile,
  );
  expect((result as { [CAUSE]?: unknown })[CAUSE]).toBe(thrown);
  expect(receipt.status).toBe("exception");
  expect(receipt.error_type).toMatch(/^[a-z_]+$/i);
  expect(receipt.tool_name === hostile || receipt.truncated.includes("/tool_name")).toBe(true);
  const lines = text.toString("utf8").split("\n").slice(0, -1);
  expect(lines.map((line) => JSON.parse(line).record)).toEqual(["segment_open", "receipt", "segment_close"]);
  expect(Math.max(...lines.map((line) => Buffer.byteLength(line)))).toBeLessThanOrEqual(65_536);
});

test("a polluted Object.prototype adds nothing to a line", async () => {
  const honest = (await receiptOf({ a: 1 }, () => ({ b: 2 }))).receipt;
  const planted = ["toJSON", "status", "truncated", "reason", "record", "seq"];
  for (const name of planted)
    Object.defineProperty(Object.prototype, name, { get: () => "planted", set() {}, configurable: true });
  let polluted: Buffer;
  try {
    const stateDir = temporaryFolder();
    const log = withAuditLog({ stateDir, hash: "sha256" });
    const call = { toolName: "work", toolArgs: { a: 1 }, turn: { iteration: 1, sessionId: "s" } };
    await createDispatcher([log])(call, () => ({ b: 2 }));
    await log.close();
    polluted = readFileSync(join(stateDir, "receipts", "s.jsonl"));
  } finally {
    for (const name of planted) delete (Object.prototype as Record<string, unknown>)[name];
  }
  expect(polluted.includes("planted")).toBe(false);
  const receipt = JSON.parse(polluted.toString().split("\n")[1] as string) as LoggedReceipt;
  expect(Object.keys(receipt)).toEqual(Object.keys(honest));
  expect(receipt).toMatchObject({
    status: honest.status,
    args_hash: honest.args_hash,
    result_hash: honest.result_hash,
  });
});

test("a call that policy refuses leaves its receipt, and no word of its arguments", async () => {
  const canary = "canary-7f3a";
  const gate = defineLayer({
    name: "gate",
    call: (call) => ({
      toolName: call.toolName,
      ok: false,
      status: "policy_blocked",
      observation: `no: ${canary}`,
      errorCategory: "policy",
    }),
  });
  const recorded = recording({ hash: "sha256" }, [gate]);
  const call = { toolName: "pay", toolArgs: { iban: canary }, turn: { iteration: 1, sessionId: "session" } };
  await recorded.dispatch(call, () => expect.unreachable());
  await recorded.close();
  const [receipt] = everyReceipt(recorded.receipts);
  expect(receipt).toMatchObject({ status: "policy_blocked", ok: false, error_category: "policy" });
  expect(receipt).toMatchObject({ executed_args_hash: null, args_hash: expect.stringMatching(/^sha256:/) });
  expect(readFileSync(join(recorded.receipts, "session.jsonl")).includes(canary)).toBe(false);
});

test("of a log whose last lines, or all of them, are gone, the verdict is another and says what was not checked", async () => {
  const recorded = recording();
  for (let i = 0; i < 6; i++) await recorded.call();
  await recorded.close();
  const whole = await verifyLog(recorded.root);
  const path = join(recorded.receipts, "session.jsonl");
  const lines = linesOf(path);
  writeFileSync(
    path,
    lines
      .slice(0, -3)
      .map((line) => `${line}\n`)
      .join(""),
  );
  const cut = await verifyLog(recorded.root);
  writeFileSync(path, "");
  const emptied = await verifyLog(recorded.root);
  expect([whole, cut, emptied].map(({ exitCode, verdict }) => [exitCode, verdict])).toEqual([
    [0, "CONSISTENT"],
    [1, "CONTRADICTION"],
    [1, "CONTRADICTION"],
  ]);
  for (const report of [whole, cut, emptied])
    expect(report.notChecked).toContainEqual(expect.stringContaining("whether newer lines or whole logs were cut"));
});

test("a false claim under a good signature is signed, not true: the report says so, and the receipt who claims what", async () => {
  const key = newKey();
  const recorded = recording({ signer: fileSigner(key.path), hash: "sha256" });
  await recorded.call();
  await recorded.close();
  const path = join(recorded.receipts, "session.jsonl");
  const [, second] = recordsOf(path);
  // Asserted by the caller, by layers, by the tool, and by who watched: each in a field of its own.
  expect(second).toMatchObject({
    reason: null,
    args_hash: expect.any(String),
    executed_args_hash: expect.any(String),
    result_hash: expect.any(String),
    status: "ok",
  });
  const tree = new MerkleTree();
  let prev = "";
  const forged = linesOf(path).map((line) => {
    const changed = line
      .replace(/"args_hash":"sha256:[0-9a-f]{64}"/, `"args_hash":"sha256:${"0".repeat(64)}"`)
      .replace(/"prev":"[0-9a-f]{64}"/, `"prev":"${prev}"`);
    prev = leafHash(Buffer.from(changed));
    tree.add(prev);
    return `${changed}\n`;
  });
  writeFileSync(path, forged.join(""));
  for (const file of headsOf(recorded.receipts))
    edit(recorded.receipts, file, (text) => {
      const body = `${text.split("\n")[0]}\n${forged.length}\n${Buffer.from(tree.root(), "hex").toString("base64")}\n`;
      return `${body}\n${signedBy(key.path, body)}\n`;
    });
  const report = await verifyLog(recorded.root, { trust: key.verifierKey });
  expect(report).toMatchObject({ exitCode: 0, authenticity: "ok" });
  expect(report.notChecked).toContainEqual(expect.stringContaining("whether what was recorded is true"));
});
