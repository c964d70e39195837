// Laws of compressed logs: a closed log verifies, reads, proves and accuses through gzip as it does without.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { proveDispatch, readReceipts, type VerifyReport, verifyLog, verifyProof } from "@toolspan/receipts";
import { expect, test } from "vitest";
import { headsOf, lineEdits } from "./mutations.ts";
import { closedLog, copyOf, linesOf, recording } from "./parts.ts";
import { newKey, signedLog } from "./signing.ts";

/** Compresses a log in place of itself. */
function compress(receipts: string, file: string): string {
  const path = join(receipts, file);
  writeFileSync(`${path}.gz`, gzipSync(readFileSync(path)));
  rmSync(path);
  return `${file}.gz`;
}

const verdictsOf = ({ findings }: VerifyReport): readonly string[] => findings.map(({ verdict }) => verdict);

/** What a report says but for names, sizes of files and the path. */
function sameOf({ findings, notes, counts, path: _, ...rest }: VerifyReport): object {
  const named = (list: typeof findings): object[] =>
    list.map((each) => ({ ...each, file: each.file.replace(/\.gz$/, "") }));
  return { ...rest, findings: named(findings), notes: named(notes), counts: { ...counts, bytes: 0 } };
}

test("a compressed log verifies as it did before, signed and with trust, alone and in its folder", async () => {
  const key = newKey();
  const { root, receipts } = await signedLog(5, key);
  const plain = await verifyLog(root, { trust: key.verifierKey, strict: true });
  expect(plain.exitCode).toBe(0);
  const file = compress(receipts, "session.jsonl");
  expect(sameOf(await verifyLog(root, { trust: key.verifierKey, strict: true }))).toEqual(sameOf(plain));
  expect(await verifyLog(join(receipts, file), { trust: key.verifierKey })).toMatchObject({
    exitCode: 0,
    counts: { lines: 7 },
  });
});

test("every edit of its lines is found at its place", async () => {
  const { root, receipts } = await closedLog(4);
  for (const { name, bytes, line } of lineEdits(receipts, "session.jsonl")) {
    const copy = copyOf(root);
    writeFileSync(join(copy, "receipts/session.jsonl"), bytes);
    const file = compress(join(copy, "receipts"), "session.jsonl");
    const report = await verifyLog(copy);
    expect(report.exitCode, name).toBe(1);
    expect(report.findings.find((found) => found.file === `receipts/${file}`)?.line, name).toBe(line);
  }
});

test("a file that is cut, changed inside or no gzip at all is damaged, exit 1", async () => {
  const { root, receipts } = await closedLog(20);
  const path = join(receipts, compress(receipts, "session.jsonl"));
  const whole = readFileSync(path);
  const flipped = Buffer.from(whole);
  flipped[whole.length >> 1] = (flipped[whole.length >> 1] as number) ^ 0x10;
  const wrongSum = Buffer.from(whole);
  wrongSum[whole.length - 6] = (wrongSum[whole.length - 6] as number) ^ 1;
  for (const bytes of [whole.subarray(0, -1), whole.subarray(0, whole.length >> 1), wrongSum, Buffer.from("{}\n")]) {
    writeFileSync(path, bytes);
    const report = await verifyLog(root);
    expect(report).toMatchObject({ exitCode: 1, integrity: "bad" });
    expect(verdictsOf(report)[0]).toBe("GZIP_DAMAGED");
  }
  writeFileSync(path, flipped);
  expect((await verifyLog(root)).exitCode).toBe(1);
});

test("a bomb is read in bounded memory and found to be no line", { timeout: 120_000 }, async () => {
  const { root, receipts } = await closedLog(1);
  const path = join(receipts, compress(receipts, "session.jsonl"));
  const block = gzipSync(Buffer.alloc(64 << 20, 0x61));
  writeFileSync(path, Buffer.concat(Array.from({ length: 3 }, () => block)));
  const before = process.memoryUsage().rss;
  const report = await verifyLog(root);
  expect(process.memoryUsage().rss - before).toBeLessThan(64 << 20);
  expect(report.exitCode).not.toBe(0);
});

test("beside the plain log: equal lines are a note and count once, other lines a conflict", async () => {
  const { root, receipts } = await closedLog(2);
  const path = join(receipts, "session.jsonl");
  const text = readFileSync(path, "utf8");
  writeFileSync(`${path}.gz`, gzipSync(text));
  const both = await verifyLog(root);
  expect(both).toMatchObject({ exitCode: 0, counts: { logs: 1, receipts: 2 }, notes: [{ verdict: "COPY" }] });
  writeFileSync(`${path}.gz`, gzipSync(text.replace('"tool_name":"add"', '"tool_name":"bad"')));
  const other = await verifyLog(root);
  expect(other.exitCode).toBe(1);
  expect(verdictsOf(other)).toContain("CONFLICT");
});

test("beside the plain log while gzip runs, or was interrupted, it is a note, and nothing counts twice", async () => {
  const key = newKey();
  const { root, receipts } = await signedLog(20, key);
  const path = join(receipts, "session.jsonl");
  const whole = gzipSync(readFileSync(path));
  const asked = { trust: key.verifierKey };
  const { counts } = await verifyLog(root, asked);
  for (const bytes of [0, 5, 30, whole.length >> 1, whole.length - 4]) {
    writeFileSync(`${path}.gz`, whole.subarray(0, bytes));
    const report = await verifyLog(root, asked);
    expect(report, String(bytes)).toMatchObject({ exitCode: 0, findings: [], notes: [{ verdict: "COPY" }] });
    expect({ ...report.counts, bytes: 0 }).toEqual({ ...counts, bytes: 0 });
    let read = 0;
    for await (const _ of readReceipts(root)) read++;
    expect(read).toBe(20);
  }
});

test("whatever stands behind its end, it is this log that is damaged, and none is lost or missing", async () => {
  const first = await closedLog(2);
  const second = recording({ stateDir: first.root });
  await second.call();
  await second.close();
  const path = join(first.receipts, compress(first.receipts, "session.jsonl"));
  const whole = readFileSync(path);
  const named = Buffer.concat([
    whole.subarray(0, 3),
    Buffer.from([8]),
    whole.subarray(4, 10),
    Buffer.from("s.jsonl\0"),
    whole.subarray(10),
  ]);
  for (const bytes of [whole, named]) {
    writeFileSync(path, Buffer.concat([bytes, Buffer.from("garbage")]));
    const report = await verifyLog(first.root);
    expect(report.exitCode).toBe(1);
    expect(verdictsOf(report)).toEqual(["GZIP_DAMAGED"]);
  }
});

test("a segment that its neighbours name is there in either form, and missing in neither", async () => {
  const first = await closedLog(1);
  const second = recording({ stateDir: first.root });
  await second.call();
  await second.close();
  compress(first.receipts, "session.jsonl");
  expect((await verifyLog(first.root)).exitCode).toBe(0);
  rmSync(join(first.receipts, "session.jsonl.gz"));
  const [left = ""] = linesOf(join(second.receipts, "session.2.jsonl"));
  const { chain } = JSON.parse(left) as { chain: { log: string } };
  for (const file of headsOf(first.receipts)) if (!file.startsWith(chain.log)) rmSync(join(first.receipts, file));
  const report = await verifyLog(first.root);
  expect(report.exitCode).toBe(2);
  expect(verdictsOf(report)).toEqual(["MISSING_SEGMENT"]);
});

test("readers and proofs take it as the plain one", async () => {
  const key = newKey();
  const { root, receipts } = await signedLog(3, key);
  const ids = linesOf(join(receipts, "session.jsonl")).flatMap((line) => {
    const { record, dispatch_id } = JSON.parse(line) as { record: string; dispatch_id: string };
    return record === "receipt" ? [dispatch_id] : [];
  });
  compress(receipts, "session.jsonl");
  const read: string[] = [];
  for await (const { file, record } of readReceipts(root)) {
    expect(file).toBe("session.jsonl.gz");
    read.push(record.dispatch_id);
  }
  expect(read).toEqual(ids);
  const { made } = await proveDispatch(ids[1] as string, root);
  expect(verifyProof(JSON.stringify(made), { trust: key.verifierKey })).toMatchObject({ exitCode: 0 });
});

test("a reader gives nothing of a damaged one, and says why", async () => {
  const { root, receipts } = await closedLog(3);
  const path = join(receipts, compress(receipts, "session.jsonl"));
  writeFileSync(path, readFileSync(path).subarray(0, -1));
  const left: string[] = [];
  for await (const _ of readReceipts(root, { onUnverified: ({ problem }) => left.push(problem) })) expect.unreachable();
  expect(left).toContainEqual(expect.stringContaining("GZIP_DAMAGED"));
});
