// Delivery across processes: outages, kills, a program that delivers its own receipts, the command.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDispatcher } from "@toolspan/core";
import { type AuditLogOptions, verifyLog, withAuditLog } from "@toolspan/receipts";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { headsIn, linesByLog, logsEndpoint } from "../receipts/endpoint.ts";
import { freePort } from "../support/free-port.ts";
import { build } from "../support/workspace.ts";
import { toolspan } from "./command.ts";
import { arrivedIn, linesIn, outageStory, Program, startEndpoint } from "./delivery-story.ts";

const COUNT = Number(process.env.DELIVERY ?? 5000);
const PROGRAM = new URL("mirrored-program.mjs", import.meta.url).pathname;
const RECEIPT = "toolspan.tool_call.receipt";

beforeAll(build);

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "toolspan-delivery-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test(`${COUNT} receipts arrive byte for byte through an endpoint that is away for a while and senders that are killed`, {
  timeout: 60_000 + COUNT * 20,
}, async () => {
  const { written, arrived, heads, kills } = await outageStory(temporaryFolder(), COUNT);
  const once = new Set(arrived);
  const lost = written.filter((line) => !once.has(line));
  process.stdout.write(
    `delivery: ${written.length} lines, ${lost.length} lost, ${arrived.length - once.size} duplicates, ${kills} senders killed\n`,
  );
  expect(lost).toEqual([]);
  expect(once.size).toBe(written.length);
  expect(written.filter((line) => line.includes('"record":"receipt"'))).toHaveLength(COUNT);
  expect(heads.arrived).toBe(heads.written);
  expect(arrived.length).toBeGreaterThan(once.size); // an answer was lost on purpose
});

describe("a program that delivers its own receipts", () => {
  test("and is killed leaves the rest to the next one; results refer to receipts that are there", {
    timeout: 60_000,
  }, async () => {
    const folder = temporaryFolder();
    const root = join(folder, "state");
    const file = join(folder, "arrived.jsonl");
    const { program: endpoint, port } = await startEndpoint(file);
    const url = `http://127.0.0.1:${port}`;
    for (let round = 1; round <= 3; round++) {
      const program = new Program([PROGRAM, root, url]);
      await endpoint.line((line) => Number(line) >= round * 20);
      await program.end();
    }
    const last = new Program([PROGRAM, root, url, "5"]);
    const left = JSON.parse(await last.line((line) => line.startsWith("{")));
    expect(left).toMatchObject({ lines: 0, heads: 0 });
    const arrived = arrivedIn(file).get(RECEIPT) ?? [];
    expect([...new Set(arrived)].sort()).toEqual([...linesIn(root)].sort());
    expect(await verifyLog(root)).toMatchObject({ exitCode: 0, findings: [] });
  });

  test("and meets nobody ends in time, says what is left, and the command delivers that", {
    timeout: 60_000,
  }, async () => {
    const folder = temporaryFolder();
    const root = join(folder, "state");
    const url = `http://127.0.0.1:${await freePort()}`;
    const started = performance.now();
    const program = new Program([PROGRAM, root, url, "30"]);
    const left = JSON.parse(await program.line((line) => line.startsWith("{")));
    expect(performance.now() - started).toBeLessThan(15_000);
    expect(left).toMatchObject({ logs: 3, lines: 36, heads: 3 });
    const endpoint = await logsEndpoint(undefined, Number(new URL(url).port));
    const { code, stdout } = await toolspan(["export", root, "--endpoint", url, "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ lines: 36, heads: 3, parked: 0, held_by: null });
    expect([...linesByLog(endpoint.taken).values()].flat().sort()).toEqual([...linesIn(root)].sort());
  });
});

describe("withAuditLog", () => {
  async function called(
    options: AuditLogOptions,
  ): Promise<{ readonly uris: readonly unknown[]; readonly root: string }> {
    const root = join(temporaryFolder(), "state");
    const log = withAuditLog({ stateDir: root, hash: "sha256", ...options });
    const dispatch = createDispatcher([log]);
    const uris: unknown[] = [];
    for (let n = 0; n < 5; n++) {
      const turn = { iteration: 1, sessionId: "session" };
      uris.push((await dispatch({ toolName: "work", toolArgs: { n }, turn }, () => n)).audit?.receipt_uri);
    }
    await log.close();
    return { uris, root };
  }

  test.each(["cloud", "both"] as const)(
    "%s delivers what it has written, line by line, and its heads",
    async (sink) => {
      const endpoint = await logsEndpoint();
      const { uris, root } = await called({ sink, delivery: { endpoint: endpoint.url } });
      const lines = linesIn(root);
      expect([...linesByLog(endpoint.taken).values()]).toEqual([lines]);
      expect(headsIn(endpoint.taken).length).toBeGreaterThan(0);
      const attached = sink === "both";
      expect(uris.map((uri) => typeof uri === "string")).toEqual(Array(5).fill(attached));
      expect(lines.some((line) => line.includes("receipt_uri"))).toBe(attached);
      expect(await verifyLog(root)).toMatchObject({ exitCode: 0, findings: [] });
    },
  );

  test("both delivers every segment of logs that rotate meanwhile", { timeout: 60_000 }, async () => {
    const endpoint = await logsEndpoint((_, number) => (number === 2 ? { status: 503 } : undefined));
    const root = join(temporaryFolder(), "state");
    const log = withAuditLog({
      sink: "both",
      stateDir: root,
      hash: "sha256",
      policy: "best_effort",
      maxSegmentBytes: 4096,
      delivery: { endpoint: endpoint.url },
      flushTimeoutMs: 30_000,
    });
    const dispatch = createDispatcher([log]);
    for (let n = 0; n < 300; n++) {
      const turn = { iteration: 1, sessionId: `session_${n % 20}` };
      await dispatch({ toolName: "work", toolArgs: { n }, turn }, () => n);
      if (n % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await log.close()).toMatchObject({ lines: 0, heads: 0, unreadable: 0 });
    const arrived = [...linesByLog(endpoint.taken).values()].flat();
    expect([...new Set(arrived)].sort()).toEqual([...linesIn(root)].sort());
    expect(linesIn(root).filter((line) => line.includes('"record":"receipt"'))).toHaveLength(300);
  });

  test("both gives no result a moment later because the endpoint hangs", async () => {
    const endpoint = await logsEndpoint(() => () => false);
    const log = withAuditLog({
      sink: "both",
      stateDir: temporaryFolder(),
      hash: "sha256",
      delivery: { endpoint: endpoint.url },
      flushTimeoutMs: 200,
    });
    const dispatch = createDispatcher([log]);
    for (let n = 0; n < 20; n++) {
      expect((await dispatch({ toolName: "work", toolArgs: { n }, turn: { iteration: 1 } }, () => n)).ok).toBe(true);
    }
    const started = performance.now();
    expect(await log.flush()).toMatchObject({ lines: 21, heads: 1 });
    expect(await log.close()).toMatchObject({ lines: 22 });
    expect(performance.now() - started).toBeLessThan(5000);
  });

  test("says that nothing is left to somebody who shares the endpoint with another sender", async () => {
    const endpoint = await logsEndpoint();
    const root = temporaryFolder();
    const make = () =>
      withAuditLog({ sink: "both", stateDir: root, hash: "sha256", delivery: { endpoint: endpoint.url } });
    const [one, other] = [make(), make()];
    const call = (log: typeof one) =>
      createDispatcher([log])({ toolName: "work", toolArgs: {}, turn: { iteration: 1 } }, () => 1);
    await call(one);
    await call(other);
    expect(await other.flush()).toMatchObject({ lines: 0, heads: 0 });
    expect(await one.close()).toMatchObject({ lines: 0 });
    await call(other);
    expect(await other.close()).toMatchObject({ lines: 0, heads: 0 });
    expect([...linesByLog(endpoint.taken).values()].flat().sort()).toEqual([...linesIn(root)].sort());
  });

  test("refuses two of its words for the local log at once, and delivery without any", () => {
    const endpoint = "http://127.0.0.1:9";
    const stateDir = temporaryFolder();
    for (const options of [
      { sinks: ["local", "cloud"], delivery: { endpoint } },
      { sinks: ["both", "both"], delivery: { endpoint } },
      { sink: "local", delivery: { endpoint } },
      { sink: "both" },
      { sink: "both", delivery: "http://h" },
      { sink: "both", delivery: { endpoint, outside: "yes" } },
      { sink: "both", delivery: { endpoint, requestTimeoutMs: 0 } },
    ]) {
      expect(() => withAuditLog({ stateDir, ...options } as AuditLogOptions)).toThrow(
        expect.objectContaining({ code: "TOOLSPAN_INVALID_OPTION" }),
      );
    }
  });
});
