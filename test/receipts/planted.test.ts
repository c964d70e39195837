// Laws of what somebody has put in place of files that a verification reads.
import { spawnSync } from "node:child_process";
import { mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { ToolspanError } from "@toolspan/core";
import { readReceipts, readRecords, verifyLog } from "@toolspan/receipts";
import { describe, expect, test } from "vitest";
import { headsOf } from "./mutations.ts";
import { closedLog, temporaryFolder } from "./parts.ts";
import { newKey, policyFile, signedLog } from "./signing.ts";

describe("a link", () => {
  test("in place of a log is no log: it cannot be read, and none of its lines is given", async () => {
    const { root, receipts } = await closedLog(2);
    const path = join(receipts, "session.jsonl");
    const elsewhere = join(temporaryFolder(), "session.jsonl");
    renameSync(path, elsewhere);
    symlinkSync(elsewhere, path);
    for (const name of headsOf(receipts)) rmSync(join(receipts, name));
    const report = await verifyLog(root);
    expect(report).toMatchObject({ exitCode: 2, counts: { logs: 0 } });
    expect(report.findings.map(({ verdict }) => verdict)).toEqual(["UNREADABLE"]);
    for await (const _ of readReceipts(root)) expect.unreachable();
  });

  test("that somebody names is followed, to a log, to anchors and to a key", async () => {
    const key = newKey();
    const { receipts } = await signedLog(2, key);
    const folder = temporaryFolder();
    const to = (name: string, target: string): string => {
      symlinkSync(target, join(folder, name));
      return join(folder, name);
    };
    const log = to("log.jsonl", join(receipts, "session.jsonl"));
    const anchors = to("anchors", join(receipts, headsOf(receipts).find((name) => name.endsWith(".heads")) as string));
    const trust = to("policy", policyFile({ keys: [key.verifierKey] }));
    expect(await verifyLog(log, { anchors, trust })).toMatchObject({ exitCode: 0, authenticity: "ok" });
    let records = 0;
    for await (const { record } of readRecords(log)) if (record !== null) records++;
    expect(records).toBe(4);
  });
});

describe("in place of a file of keys or a head", () => {
  test.each<[string, (path: string) => void]>([
    ["a fifo", (path) => void spawnSync("mkfifo", [path])],
    ["a link to an endless device", (path) => symlinkSync("/dev/zero", path)],
    ["a folder", (path) => mkdirSync(path)],
  ])("%s neither holds up nor is read", { timeout: 10_000 }, async (_, plant) => {
    const { root, receipts } = await closedLog(2);
    const path = join(temporaryFolder(), "key");
    plant(path);
    const policy = policyFile({ keys: [newKey().verifierKey], rotation: path });
    for (const trust of [path, policy]) {
      const error = await verifyLog(root, { trust }).catch((thrown: unknown) => thrown);
      expect(ToolspanError.is(error, "TOOLSPAN_INVALID_OPTION")).toBe(true);
    }
    const head = join(receipts, headsOf(receipts).find((name) => name.endsWith(".head")) as string);
    rmSync(head);
    plant(head);
    expect((await verifyLog(root)).exitCode).toBe(1);
    let confirmed = 0;
    for await (const read of readRecords(root)) if (read.record !== null && read.confirmed) confirmed++;
    expect(confirmed).toBe(3);
  });
});
