// Laws of pruning: what goes, what stays and why, and what the verifier says of it.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { exportReceipts, type PruneOptions, type PruneReport, pruneReceipts, verifyLog } from "@toolspan/receipts";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { build } from "../support/workspace.ts";
import { runProgram } from "./crash.ts";
import { logsEndpoint } from "./endpoint.ts";
import { closedLog, linesOf, logsIn, recording, recordsOf, temporaryFolder } from "./parts.ts";

/** Prunes what is older than a millisecond, which everything is after two. */
async function prune(root: string, more: PruneOptions = {}): Promise<PruneReport> {
  await after(5);
  return pruneReceipts({ stateDir: root, olderThan: "1ms", ...more });
}

const deliver = (root: string, { url }: { readonly url: string }): ReturnType<typeof exportReceipts> =>
  exportReceipts({ stateDir: root, endpoint: url, retry: { firstMs: 1, maxMs: 4 } });

describe("a log that is past its time", () => {
  test("goes, after a durable line has said what it held; its heads stay and the verifier says PRUNED", async () => {
    const { root, receipts } = await closedLog(5);
    const lines = linesOf(join(receipts, "session.jsonl"));
    const { log } = JSON.parse(lines[0] as string).chain;
    const [, size, root64] = readFileSync(join(receipts, `${log}.head`), "utf8").split("\n");
    const report = await prune(root);
    const expected = {
      file: "session.jsonl",
      log,
      lines: Number(size),
      root: Buffer.from(root64 ?? "", "base64").toString("hex"),
    };
    expect(report).toEqual({ pruned: [expected], kept: [], said: "_process.jsonl" });
    expect(logsIn(receipts)).toEqual(["_process.jsonl"]);
    expect(existsSync(join(receipts, `${log}.heads`))).toBe(true);
    const said = recordsOf(join(receipts, "_process.jsonl"));
    expect(said.map(({ record }) => record)).toEqual(["segment_open", "prune", "segment_close"]);
    expect(said[1]).toMatchObject({ record: "prune", ...expected });
    const verified = await verifyLog(root, { strict: true });
    expect(verified).toMatchObject({ exitCode: 0, findings: [] });
    expect(verified.notes.map(({ verdict }) => verdict)).toContain("PRUNED");
  });

  test("that spans refer to leaves them in order; without the line they would contradict", async () => {
    const { root, receipts, call, close } = recording();
    const { audit } = await call();
    await close();
    const { log } = (recordsOf(join(receipts, "session.jsonl"))[0] as { chain: { log: string } }).chain;
    const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
    const attributes = [
      attribute("toolspan.dispatch_id", audit?.receipt_uri?.split("#")[1] as string),
      attribute("toolspan.receipt.log", log),
      attribute("toolspan.receipt.level", "durable"),
    ];
    mkdirSync(join(root, "spans"));
    const request = { resourceSpans: [{ scopeSpans: [{ spans: [{ name: "execute_tool add", attributes }] }] }] };
    writeFileSync(join(root, "spans", "run.jsonl"), `${JSON.stringify(request)}\n`);
    await prune(root);
    expect(await verifyLog(root)).toMatchObject({ exitCode: 0, findings: [], counts: { span_claims: 1 } });
    for (const name of readdirSync(receipts)) if (name.startsWith("_process")) rmSync(join(receipts, name));
    expect((await verifyLog(root)).exitCode).toBe(1);
  });

  test("goes from the middle of a session, and the logs after it stay whole", async () => {
    const root = temporaryFolder();
    for (let i = 0; i < 3; i++) await closedLog(2, { stateDir: root });
    const receipts = join(root, "receipts");
    await after(200);
    const began = performance.now();
    const { dispatch, close } = recording({ stateDir: root });
    await dispatch({ toolName: "work", toolArgs: {}, turn: { iteration: 1, sessionId: "session" } }, () => 1);
    await close();
    const olderThan = `${Math.ceil(performance.now() - began) + 100}ms`; // between the two, however long this took
    const report = await pruneReceipts({ stateDir: root, olderThan });
    expect(report.pruned.map(({ file }) => file)).toEqual(["session.2.jsonl", "session.3.jsonl", "session.jsonl"]);
    expect(report.kept).toEqual([{ file: "session.4.jsonl", reason: "not_expired", endpoint: null }]);
    expect(await verifyLog(root)).toMatchObject({ exitCode: 0, findings: [] });
    await closedLog(1, { stateDir: root });
    expect(await verifyLog(root)).toMatchObject({ exitCode: 0, findings: [] });
    expect(logsIn(receipts)).toHaveLength(3);
  });

  test("that was compressed goes as well", async () => {
    const { root, receipts } = await closedLog(3);
    const file = join(receipts, "session.jsonl");
    writeFileSync(`${file}.gz`, gzipSync(readFileSync(file)), { mode: 0o600 });
    rmSync(file);
    expect((await prune(root)).pruned).toMatchObject([{ file: "session.jsonl.gz", lines: 5 }]);
    expect(await verifyLog(root)).toMatchObject({ exitCode: 0, findings: [] });
  });

  test("stays when nobody means it: a dry run says the same and removes nothing", async () => {
    const { root, receipts } = await closedLog(2);
    const said = await prune(root, { dryRun: true });
    expect(said).toMatchObject({ pruned: [{ file: "session.jsonl" }], said: null });
    expect(logsIn(receipts)).toEqual(["session.jsonl"]);
  });
});

describe("a log stays", () => {
  test("while its latest line is not old enough", async () => {
    const { root } = await closedLog(2);
    const report = await pruneReceipts({ stateDir: root, olderThan: "1h" });
    expect(report).toEqual({
      pruned: [],
      kept: [{ file: "session.jsonl", reason: "not_expired", endpoint: null }],
      said: null,
    });
  });

  test("while it is open", async () => {
    const { root, call, close } = recording();
    await call();
    expect((await prune(root)).kept).toMatchObject([{ reason: "not_closed" }]);
    await close();
    expect((await prune(root)).pruned).toHaveLength(1);
  });

  test.each<[string, (lines: string[]) => string[]]>([
    [
      "a line was changed",
      (lines) => lines.map((line, i) => (i === 2 ? line.replace('"ok":true', '"ok":false') : line)),
    ],
    ["a line was taken out", (lines) => lines.filter((_, i) => i !== 2)],
    ["a line was put in behind its end", (lines) => [...lines, lines[1] as string]],
  ])("when %s: evidence of damage is not removed", async (_, spoil) => {
    const { root, receipts } = await closedLog(4);
    const file = join(receipts, "session.jsonl");
    writeFileSync(file, `${spoil([...linesOf(file)]).join("\n")}\n`);
    const { pruned, kept } = await prune(root);
    expect(pruned).toEqual([]);
    expect(["not_verified", "not_closed"]).toContain(kept[0]?.reason);
    expect(existsSync(file)).toBe(true);
  });

  test("until every endpoint that was delivered to has all of it, and those that are named", async () => {
    const { root, call, close, receipts } = recording();
    const [one, other] = [await logsEndpoint(), await logsEndpoint()];
    await call();
    const first = await deliver(root, one);
    await call();
    await close();
    expect((await prune(root)).kept).toMatchObject([{ reason: "not_delivered", endpoint: first.endpoint }]);
    await deliver(root, one);
    expect((await prune(root, { endpoints: [other.url] })).kept).toMatchObject([{ reason: "not_delivered" }]);
    const second = await deliver(root, other);
    const cursors = (): number =>
      [first, second].flatMap(({ endpoint }) =>
        readdirSync(join(root, "delivery", endpoint)).filter((name) => name.endsWith(".cursor")),
      ).length;
    expect(cursors()).toBe(2);
    expect((await prune(root, { endpoints: [other.url] })).pruned).toHaveLength(1);
    expect(cursors()).toBe(0);
    expect(logsIn(receipts)).toEqual(["_process.jsonl"]);
  });

  test("while a part of it was refused and lies in the dead-letter file", async () => {
    const { root } = await closedLog(2);
    const refusing = await logsEndpoint(() => ({ status: 400 }));
    await deliver(root, refusing);
    await refusing.close();
    expect((await prune(root)).kept).toMatchObject([{ reason: "dead_letters" }]);
    const back = await logsEndpoint(undefined, refusing.port);
    await exportReceipts({ stateDir: root, endpoint: back.url, deadLetters: true });
    expect((await prune(root)).pruned).toHaveLength(1);
  });

  test("when it says what was pruned, for ever", async () => {
    const { root, receipts } = await closedLog(2);
    await prune(root);
    expect((await prune(root)).kept).toMatchObject([{ file: "_process.jsonl", reason: "says_what_was_pruned" }]);
    await closedLog(2, { stateDir: root });
    expect((await prune(root)).pruned).toHaveLength(1);
    expect(logsIn(receipts)).toEqual(["_process.2.jsonl", "_process.jsonl"]);
    expect(await verifyLog(root)).toMatchObject({ exitCode: 0, findings: [] });
  });
});

describe("a log of a successor", () => {
  beforeAll(build);

  test("stays when it alone vouches for a log of a dead writer that stays; both go together", async () => {
    const root = temporaryFolder();
    await runProgram(["die", root]);
    await runProgram(["close", root]);
    const endpoint = await logsEndpoint();
    await deliver(root, endpoint);
    const { endpoint: id } = await deliver(root, endpoint);
    const crashed = (recordsOf(join(root, "receipts", "session.jsonl"))[0] as { chain: { log: string } }).chain.log;
    const cursor = join(root, "delivery", id, `${crashed}.cursor`);
    const honest = readFileSync(cursor, "utf8");
    rmSync(cursor);
    const { kept } = await prune(root);
    expect(kept).toMatchObject([
      { file: "session.jsonl", reason: "not_delivered" },
      { file: "session.2.jsonl", reason: "vouches_for_another" },
    ]);
    writeFileSync(cursor, honest, { mode: 0o600 });
    expect((await prune(root)).pruned).toHaveLength(2);
    expect(await verifyLog(root)).toMatchObject({ exitCode: 0, findings: [] });
  });
});

describe("the time that receipts are kept", () => {
  test.each(["180", "d", "0d", "-5d", "1w", "1.5d", "", 5, null])("is refused when it is %j", async (olderThan) => {
    await expect(pruneReceipts({ stateDir: temporaryFolder(), olderThan } as PruneOptions)).rejects.toMatchObject({
      code: "TOOLSPAN_INVALID_OPTION",
    });
  });

  test("is asked for, or stands in TOOLSPAN_RETENTION, which nobody may go below", async () => {
    const { root } = await closedLog(1);
    await expect(pruneReceipts({ stateDir: root })).rejects.toMatchObject({ details: { received: "none" } });
    vi.stubEnv("TOOLSPAN_RETENTION", "180d");
    try {
      await expect(pruneReceipts({ stateDir: root, olderThan: "179d" })).rejects.toMatchObject({
        details: { expected: "at least what TOOLSPAN_RETENTION says" },
      });
      expect((await pruneReceipts({ stateDir: root })).kept).toMatchObject([{ reason: "not_expired" }]);
      expect((await pruneReceipts({ stateDir: root, olderThan: "181d" })).pruned).toEqual([]);
    } finally {
      vi.unstubAllEnvs();
    }
  });
});
