// Laws of what delivery says of itself: what was refused, what cannot be read, what a compressed file may hold.
import { appendFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { createDispatcher } from "@toolspan/core";
import { exportReceipts, withAuditLog } from "@toolspan/receipts";
import { describe, expect, test } from "vitest";
import { logsEndpoint } from "./endpoint.ts";
import { closedLog, temporaryFolder } from "./parts.ts";

const MIB = 1024 * 1024;

const sendFrom = (stateDir: string, endpoint: string) => exportReceipts({ stateDir, endpoint, patienceMs: 10_000 });

test("a program that ends is told how many records its endpoint has refused for good", async () => {
  const { url } = await logsEndpoint(() => ({ status: 400 }));
  const log = withAuditLog({ sink: "both", hash: "sha256", stateDir: temporaryFolder(), delivery: { endpoint: url } });
  await createDispatcher([log])({ toolName: "add", toolArgs: {} }, () => 1);
  expect(await log.close()).toMatchObject({ lines: 0, heads: 0, unreadable: 0, deadLetters: 4 });
});

test("a log that delivery stops at is said, also when no whole line waits behind it", async () => {
  const { root, receipts } = await closedLog(2);
  appendFileSync(
    join(receipts, readdirSync(receipts).find((name) => name.endsWith(".jsonl")) as string),
    "x".repeat(70_000),
  );
  const { url } = await logsEndpoint();
  expect(await sendFrom(root, url)).toMatchObject({ lines: 4, left: { unreadable: 1 } });
  expect(await sendFrom(root, url)).toMatchObject({ lines: 0, left: { unreadable: 1 } });
});

describe("a compressed log", () => {
  test("that holds more than any log does is not unpacked to its end, and leaves nothing behind", {
    timeout: 120_000,
  }, async () => {
    const { root, receipts } = await closedLog(1);
    const piece = gzipSync(Buffer.alloc(19 * MIB, "\n"));
    writeFileSync(join(receipts, "bomb.jsonl.gz"), Buffer.concat(Array.from({ length: 28 }, () => piece)));
    const { url, taken } = await logsEndpoint();
    const report = await sendFrom(root, url);
    expect(report).toMatchObject({ lines: 3, left: { lines: 0, bytes: 0, unreadable: 1 } });
    expect(taken).toHaveLength(4);
    const left = readdirSync(join(root, "delivery", report.endpoint));
    expect(left.filter((name) => name.includes("unpacked"))).toEqual([]);
  });

  test("that is cut counts as unreadable, not by what its last bytes seem to say", async () => {
    const { root, receipts } = await closedLog(50);
    const [file] = readdirSync(receipts).filter((name) => name.endsWith(".jsonl")) as [string];
    const zipped = gzipSync(readFileSync(join(receipts, file)));
    rmSync(join(receipts, file));
    writeFileSync(join(receipts, `${file}.gz`), zipped.subarray(0, zipped.length - 9));
    const { url } = await logsEndpoint();
    expect((await sendFrom(root, url)).left).toMatchObject({ lines: 0, bytes: 0, unreadable: 1 });
  });

  test("of several members is delivered whole, once", async () => {
    const { root, receipts } = await closedLog(50);
    const [file] = readdirSync(receipts).filter((name) => name.endsWith(".jsonl")) as [string];
    const bytes = readFileSync(join(receipts, file));
    rmSync(join(receipts, file));
    const members = [gzipSync(bytes.subarray(0, 9000)), gzipSync(bytes.subarray(9000))];
    writeFileSync(join(receipts, `${file}.gz`), Buffer.concat(members));
    const { url } = await logsEndpoint();
    const nothing = { logs: 0, lines: 0, heads: 0, bytes: 0, unreadable: 0 };
    expect(await sendFrom(root, url)).toMatchObject({ lines: 52, left: nothing });
    expect(await sendFrom(root, url)).toMatchObject({ lines: 0, left: nothing });
  });
});
