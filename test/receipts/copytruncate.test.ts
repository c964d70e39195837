// Laws of files that others handle while they are written: what logrotate and people do to a log is noticed, said, and claimed by nobody.
import { appendFileSync, copyFileSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { diagnostics } from "@toolspan/core";
import { verifyLog } from "@toolspan/receipts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { everyReceipt, logsIn, type Recorded, recording, recordsOf } from "./parts.ts";

const said: { kind: string; message: string }[] = [];
let restore = (): void => {};
beforeEach(() => {
  said.length = 0;
  diagnostics.reset();
  restore = diagnostics.listen(({ kind, message }) => said.push({ kind, message }));
});
afterEach(() => restore());

/** As logrotate with `copytruncate`: a copy, then the open file is cut to nothing. */
function copytruncate(path: string, number: number): string {
  const copy = `${path}-${number}`;
  copyFileSync(path, copy);
  truncateSync(path, 0);
  return copy;
}

const reads = ({ receipts }: Recorded, file: string): string => readFileSync(join(receipts, file), "utf8");

describe("copytruncate under load", () => {
  test.each(["required", "intent_first"] as const)(
    "is noticed, the next log takes over, and every result that names a receipt tells the truth when it leaves: %s",
    async (policy) => {
      const recorded = recording({ policy });
      const copies: string[] = [];
      const claims: string[] = [];
      let ended = 0;
      /** Looks for a receipt where its result says that it is, or in a copy that was made of that file. */
      const isThere = (uri: string): boolean => {
        const { pathname, hash } = new URL(uri);
        return [pathname, ...copies.filter((copy) => copy.startsWith(pathname))].some((path) =>
          readFileSync(path, "utf8").includes(`"dispatch_id":"${hash.slice(1)}"`),
        );
      };
      const worker = async (): Promise<void> => {
        for (let i = 0; i < 40; i++) {
          const { audit, status } = await recorded.call();
          expect(status).toBe("ok");
          const uri = audit?.receipt_uri as string;
          expect(isThere(uri), uri).toBe(true);
          claims.push(uri);
          ended++;
          if (ended % 70 === 0) {
            const path = new URL(uri).pathname;
            copies.push(copytruncate(path, copies.length));
          }
        }
      };
      await Promise.all(Array.from({ length: 8 }, worker));
      await recorded.close();
      expect(copies.length).toBeGreaterThan(2);
      expect(claims).toHaveLength(320);
      expect(logsIn(recorded.receipts).length).toBeGreaterThan(copies.length);
      for (const file of logsIn(recorded.receipts)) expect(reads(recorded, file)).not.toContain("\0");
      expect(said.filter(({ kind }) => kind === "log_displaced")).toHaveLength(1);
      expect(said.find(({ kind }) => kind === "log_displaced")?.message).toMatch(
        /session\.jsonl was cut, replaced or removed by somebody else: \d+ durable lines may be gone from it/,
      );
      const last = recordsOf(join(recorded.receipts, `session.${logsIn(recorded.receipts).length}.jsonl`));
      expect(last.at(-1)).toMatchObject({ record: "segment_close", reason: "end" });
      expect((await verifyLog(recorded.root)).exitCode).toBe(1);
    },
  );

  test("of a log that nobody waits for loses what was cut, says so, and keeps what had not reached the disk yet", async () => {
    const recorded = recording({ policy: "best_effort" });
    for (let i = 0; i < 5; i++) await recorded.call();
    await recorded.dispatch.flush();
    for (let i = 0; i < 5; i++) await recorded.call();
    copytruncate(join(recorded.receipts, "session.jsonl"), 1);
    for (let i = 0; i < 5; i++) await recorded.call();
    await recorded.dispatch.flush();
    await recorded.close();
    const kept = recordsOf(join(recorded.receipts, "session.2.jsonl")).flatMap((record) =>
      record.record === "receipt" ? [record.emit_order] : [],
    );
    expect(kept).toEqual([6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    expect(said.map(({ kind }) => kind)).toContain("log_displaced");
    expect(reads(recorded, "session.jsonl")).not.toContain("\0");
  });
});

describe("a log that is changed in length while it is open", () => {
  test.each<[string, (path: string) => void]>([
    ["a line is added by somebody else", (path) => appendFileSync(path, "{}\n")],
    ["its last byte is cut", (path) => truncateSync(path, readFileSync(path).length - 1)],
    ["it is written over in place by a shorter file", (path) => writeFileSync(path, "{}\n")],
    ["it grows by zeros", (path) => truncateSync(path, readFileSync(path).length + 10)],
  ])("is left: %s", async (_, change) => {
    const recorded = recording();
    await recorded.call();
    change(join(recorded.receipts, "session.jsonl"));
    const { status, audit } = await recorded.call();
    expect(status).toBe("ok");
    expect(audit?.receipt_uri).toContain("session.2.jsonl#");
    await recorded.close();
    const found = recordsOf(join(recorded.receipts, "session.2.jsonl")).filter(({ record }) => record === "receipt");
    expect(found).toHaveLength(1);
    expect(everyRecordIn(recorded, "session.2.jsonl")).toBe(true);
    expect((await verifyLog(recorded.root)).exitCode).not.toBe(0);
  });

  const everyRecordIn = ({ receipts }: Recorded, file: string): boolean =>
    recordsOf(join(receipts, file)).every(({ chain }, i) => chain.seq === i);
});

test("a log that nobody touches is never left", async () => {
  const recorded = recording({ hash: "sha256" });
  for (let round = 0; round < 10; round++) await Promise.all(Array.from({ length: 20 }, () => recorded.call()));
  await recorded.close();
  expect(everyReceipt(recorded.receipts)).toHaveLength(200);
  expect(logsIn(recorded.receipts)).toEqual(["session.jsonl"]);
  expect(said).toEqual([]);
});
