// Laws of a folder: what logs say of each other, what spans claim of them, and which copies, intents and records there are.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { canonicalJson } from "@toolspan/canonical";
import { type LogRecord, readRecords, type SegmentOpen, type VerifyReport, verifyLog } from "@toolspan/receipts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkpointText } from "../../packages/receipts/src/log/checkpoint.ts";
import { fileNameOf, parseFileName, stemOf } from "../../packages/receipts/src/log/file-name.ts";
import { leafHash, MerkleTree } from "../../packages/receipts/src/log/merkle.ts";
import { CHECKS } from "../../packages/receipts/src/verify/checks.ts";
import { Verification } from "../../packages/receipts/src/verify/verification.ts";
import { prune } from "./examples.ts";
import { closedLog, copyOf, everyRecord, linesOf, logsIn, recording, recordsOf } from "./parts.ts";

const verdicts = ({ findings }: VerifyReport): readonly string[] => findings.map(({ verdict }) => verdict);

interface Claimed {
  readonly dispatch: string;
  readonly log: string;
  readonly level?: string;
}

/** A file of spans as the OTLP file exporter writes it, each claiming what it is told. */
function writeSpans(root: string, claims: readonly Claimed[], tail = ""): void {
  mkdirSync(join(root, "spans"), { recursive: true });
  const lines = claims.map(({ dispatch, log, level = "durable" }) => {
    const attribute = (key: string, stringValue: string): object => ({ key, value: { stringValue } });
    const attributes = [
      attribute("toolspan.dispatch_id", dispatch),
      attribute("toolspan.receipt.log", log),
      attribute("toolspan.receipt.level", level),
    ];
    return `${JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [{ name: "execute_tool add" }, { name: "x", attributes }] }] }] })}\n`;
  });
  writeFileSync(join(root, "spans", "run.jsonl"), lines.join("") + tail);
}

/** What honest spans claim of the receipts in `receipts`. */
function claimsOf(receipts: string): readonly Claimed[] {
  return everyRecord(receipts).flatMap((record) =>
    record.record === "receipt" ? [{ dispatch: record.dispatch_id, log: record.chain.log }] : [],
  );
}

/** Writes a log of these records, chained anew and under a head: what a writer of ours could have left. */
function writeLog(receipts: string, file: string, log: string, records: readonly LogRecord[]): void {
  const tree = new MerkleTree();
  let prev: string | null = null;
  const lines = records.map((record, seq) => {
    const line = canonicalJson({ ...record, chain: { log, seq, prev } });
    prev = leafHash(Buffer.from(line));
    tree.add(prev);
    return `${line}\n`;
  });
  const text = checkpointText({ log, size: tree.size, root: tree.root() });
  writeFileSync(join(receipts, file), lines.join(""));
  for (const ending of ["head", "heads"]) writeFileSync(join(receipts, `${log}.${ending}`), text);
}

async function allOf<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const idOf = (n: number): string => `01900000-0000-7000-8000-${String(n).padStart(12, "0")}`;

describe("spans", () => {
  test("that claim what is there change nothing; receipts need no span", async () => {
    const { root, receipts } = await closedLog(3);
    writeSpans(root, claimsOf(receipts).slice(1));
    expect(await verifyLog(root)).toMatchObject({ exitCode: 0, counts: { span_claims: 2 } });
  });

  test("show a whole log that is gone, with its heads or with its folder", async () => {
    const { root, receipts } = await closedLog(3);
    writeSpans(root, claimsOf(receipts));
    const file = logsIn(receipts)[0] as string;
    for (const gone of [[file], readdirSync(receipts)]) {
      const copy = copyOf(root);
      for (const name of gone) rmSync(join(copy, "receipts", name));
      const report = await verifyLog(copy);
      expect(report).toMatchObject({ exitCode: 1, completeness: "bad" });
      expect(report.findings).toContainEqual(
        expect.objectContaining({ verdict: "MISSING_RECEIPT", file: "spans/run.jsonl", line: 3 }),
      );
    }
    rmSync(receipts, { recursive: true });
    expect(verdicts(await verifyLog(root))).toContain("MISSING_RECEIPT");
  });

  test("and heads that come while logs are read are not held against them, older ones are", async () => {
    const whole = await closedLog(3);
    const later = recording({ stateDir: whole.root });
    for (let i = 0; i < 300; i++) await later.call("add", `session_${i % 3}`);
    await later.close();
    writeSpans(whole.root, claimsOf(whole.receipts));
    const begun = copyOf(whole.root);
    for (const name of readdirSync(join(begun, "receipts")))
      if (name.startsWith("session_1")) rmSync(join(begun, "receipts", name));
    const { chain } = recordsOf(join(whole.receipts, "session_1.jsonl"))[0] as SegmentOpen;
    for (const ending of ["head", "heads"]) rmSync(join(begun, "receipts", `${chain.log}.${ending}`));
    const spans = join(begun, "spans", "run.jsonl");
    const lines = linesOf(spans);
    writeFileSync(spans, `${lines.slice(0, 3).join("\n")}\n`);
    const onProgress = (): void => cpSync(whole.root, begun, { recursive: true });
    expect(await verifyLog(begun, { onProgress })).toMatchObject({ exitCode: 0, counts: { span_claims: 3 } });
    rmSync(join(begun, "receipts", "session_1.jsonl"));
    const report = await verifyLog(begun, { onProgress });
    expect(report.exitCode).toBe(1);
    expect(new Set(verdicts(report))).toEqual(new Set(["MISSING_RECEIPT", "LOST_LOG"]));
  });

  test("show one receipt that is gone although its log was chained anew", async () => {
    const { root, receipts } = await closedLog(3);
    writeSpans(root, claimsOf(receipts));
    const file = logsIn(receipts)[0] as string;
    const records = recordsOf(join(receipts, file));
    writeLog(receipts, file, records[0]?.chain.log as string, records.toSpliced(2, 1));
    expect(await verifyLog(root)).toMatchObject({
      exitCode: 1,
      integrity: "ok",
      findings: [{ verdict: "MISSING_RECEIPT", file: "spans/run.jsonl", line: 2 }],
    });
  });

  test("claim nothing below durable; a torn last line is a note; any other unreadable line cannot be said", async () => {
    const { root, receipts } = await closedLog(1);
    writeSpans(
      root,
      [{ dispatch: idOf(1), log: idOf(2), level: "pending" }],
      '{"resourceSpans":[{"toolspan.receipt.log',
    );
    const report = await verifyLog(root);
    expect(report).toMatchObject({ exitCode: 0, notes: [{ verdict: "TORN_SPAN", file: "spans/run.jsonl", line: 2 }] });
    for (const garbage of ["garbage", "{garbage}", "[]", "{}}"]) {
      writeSpans(root, claimsOf(receipts), `${garbage}\n`);
      const findings = [{ verdict: "UNREADABLE_SPANS", line: 2 }];
      expect(await verifyLog(root), garbage).toMatchObject({ exitCode: 2, findings });
    }
  });

  test("of a log that was pruned are excused by the line that says so", async () => {
    const { root, receipts } = await closedLog(2);
    const [file] = logsIn(receipts);
    const claims = claimsOf(receipts);
    const { log } = claims[0] as Claimed;
    rmSync(join(receipts, file as string));
    const opening = recording();
    await opening.call();
    await opening.close();
    const records = recordsOf(join(opening.receipts, "session.jsonl"));
    writeLog(receipts, "session.2.jsonl", idOf(7), [records[0], { ...prune, log }, records.at(-1)] as LogRecord[]);
    writeSpans(root, claims);
    const report = await verifyLog(root);
    expect(report).toMatchObject({ exitCode: 0, findings: [] });
    expect(report.notes.map(({ verdict }) => verdict)).toContain("PRUNED");
  });
});

describe("copies of one record", () => {
  test("may differ in place, time and address, and in nothing else", async () => {
    const { root, receipts } = await closedLog(2);
    const records = recordsOf(join(receipts, "session.jsonl"));
    const again = records.map((record) => {
      const moved = { ...record, emitted_at: "2030-01-01T00:00:00.000000000Z" };
      return moved.record === "receipt" ? { ...moved, audit: { receipt_uri: "elsewhere" } } : moved;
    }) as LogRecord[];
    writeLog(receipts, "copy.jsonl", idOf(5), again);
    expect(await verifyLog(root)).toMatchObject({ exitCode: 0, findings: [] });
    const changed = again.map((record, i) =>
      i === 2 ? { ...record, status: "error", ok: false } : record,
    ) as LogRecord[];
    writeLog(receipts, "copy.jsonl", idOf(5), changed);
    expect(await verifyLog(root)).toMatchObject({
      exitCode: 1,
      findings: [{ verdict: "CONFLICT", file: "receipts/copy.jsonl", line: 3 }],
    });
  });

  test("two files of one log contradict each other", async () => {
    const { root, receipts } = await closedLog(1);
    writeFileSync(join(receipts, "other.jsonl"), readFileSync(join(receipts, "session.jsonl")));
    expect((await verifyLog(root)).exitCode).toBe(1);
  });
});

describe("what the verifier does not know", () => {
  test("a record of another kind or a later version cannot be said", async () => {
    const { root, receipts } = await closedLog(2);
    const records = recordsOf(join(receipts, "session.jsonl"));
    for (const strange of [{ record: "telegram" }, { schema_version: 2 }]) {
      const changed = records.map((record, i) => (i === 1 ? { ...record, ...strange } : record)) as LogRecord[];
      writeLog(receipts, "session.jsonl", records[0]?.chain.log as string, changed);
      expect(await verifyLog(root)).toMatchObject({ exitCode: 2, findings: [{ verdict: "UNKNOWN_RECORD", line: 2 }] });
    }
  });

  test("with strict: a line that is not canonical, though everything else agrees", async () => {
    const { root, receipts } = await closedLog(1);
    const lines = linesOf(join(receipts, "session.jsonl"));
    const { log } = (JSON.parse(lines[0] as string) as SegmentOpen).chain;
    const tree = new MerkleTree();
    const last = JSON.stringify({ record: "segment_close", ...JSON.parse(lines[2] as string) });
    const changed = [lines[0], lines[1], last] as string[];
    for (const line of changed) tree.add(leafHash(Buffer.from(line)));
    writeFileSync(join(receipts, "session.jsonl"), `${changed.join("\n")}\n`);
    for (const ending of ["head", "heads"]) {
      writeFileSync(join(receipts, `${log}.${ending}`), checkpointText({ log, size: 3, root: tree.root() }));
    }
    expect((await verifyLog(root)).exitCode).toBe(0);
    expect(await verifyLog(root, { strict: true })).toMatchObject({
      exitCode: 1,
      findings: [{ verdict: "NOT_CANONICAL", line: 3 }],
    });
  });
});

describe("memory", () => {
  test("is bounded: with a table too small for all dispatches, the same is found in several passes", async () => {
    const recorded = recording({ policy: "best_effort" });
    for (let i = 0; i < 1500; i++) await recorded.call();
    await recorded.close();
    const { root, receipts } = recorded;
    const claims = claimsOf(receipts);
    const log = claims[0]?.log as string;
    writeSpans(root, [...claims, ...[1, 2, 3, 4, 5].map((n) => ({ dispatch: idOf(n), log }))]);
    const records = recordsOf(join(receipts, "session.jsonl"));
    const copies = records.map((r, i) => (i % 500 === 5 ? { ...r, iteration: 9 } : r)) as LogRecord[];
    writeLog(receipts, "copy.jsonl", idOf(5), copies);
    const whole = await new Verification(root, {}, { checks: CHECKS }).run();
    const parted = await new Verification(root, {}, { checks: CHECKS, maxSlots: 1024 }).run();
    expect(verdicts(whole)).toEqual([...Array(5).fill("MISSING_RECEIPT"), ...Array(3).fill("CONFLICT")]);
    expect(verdicts(parted).toSorted()).toEqual(verdicts(whole).toSorted());
  });
});

describe("reading", () => {
  test("gives every line of every log, each confirmed by its neighbours", async () => {
    const { root } = await closedLog(3);
    const read = await allOf(readRecords(root));
    expect(read.map(({ record }) => record?.record)).toEqual([
      "segment_open",
      "receipt",
      "receipt",
      "receipt",
      "segment_close",
    ]);
    expect(read.every((one) => one.record !== null && one.confirmed)).toBe(true);
  });

  test("does not confirm a changed line, and says what is wrong with one that is no record", async () => {
    const { receipts } = await closedLog(3);
    const file = join(receipts, "session.jsonl");
    const lines = [...linesOf(file)];
    lines[1] = (lines[1] as string).replace('"attempts":1', '"attempts":2');
    lines[2] = "nonsense";
    writeFileSync(file, `${lines.join("\n")}\n`);
    const read = await allOf(readRecords(file));
    expect(read[1]).toMatchObject({ confirmed: false });
    expect(read[2]).toMatchObject({ record: null, problem: "it is not a JSON object" });
  });
});

describe("file names", () => {
  const anyId = fc.oneof(
    fc.string({ unit: "binary", maxLength: 200 }),
    fc.constantFrom(
      "../../x",
      "a/b",
      "\0",
      ".",
      "..",
      "",
      "_none",
      "_process",
      "CON",
      "nul",
      "é",
      "e\u0301",
      "a:b",
      "~",
      "\ud800",
      "\ufffd",
      "x".repeat(10_000),
    ),
  );

  test("stay inside the folder and are never shared by two ids", () => {
    fc.assert(
      fc.property(anyId, anyId, (a, b) => {
        for (const stem of [stemOf(a), stemOf(b)]) {
          expect(stem).toMatch(/^[A-Za-z0-9_~-]{1,120}$/);
          expect(parseFileName(fileNameOf(stem, 3))).toEqual({ stem, number: 3 });
        }
        expect(stemOf(a) === stemOf(b)).toBe(a === b);
        expect([stemOf(a), stemOf(b)]).not.toContain(stemOf(null));
      }),
    );
    expect(stemOf("trip-42_b")).toBe("trip-42_b");
    expect(stemOf("a.b")).toBe("a~002Eb");
    expect(stemOf(null)).toBe("_none");
  });

  test("the session's true id stands in the first line, and readers go by that", async () => {
    const recorded = recording();
    const id = "../../tenant/€\u0000";
    await recorded.call("add", id);
    await recorded.close();
    expect(recordsOf(join(recorded.receipts, logsIn(recorded.receipts)[0] as string))[0]).toMatchObject({
      session_id: id,
    });
    expect(existsSync(join(recorded.root, "..", "tenant"))).toBe(false);
    renameSync(
      join(recorded.receipts, logsIn(recorded.receipts)[0] as string),
      join(recorded.receipts, "renamed.jsonl"),
    );
    expect((await verifyLog(recorded.root)).exitCode).toBe(0);
  });

  test("at most 256 logs are open at a time; the rest are closed, and come back under the next number", {
    timeout: 60_000,
  }, async () => {
    const recorded = recording({ policy: "best_effort" });
    const descriptors = (): number => readdirSync("/proc/self/fd").length;
    const before = descriptors();
    for (let i = 0; i < 300; i++) await recorded.call("add", `s${i}`);
    expect(descriptors() - before).toBeLessThan(256 + 32 * 4);
    await recorded.call("add", "s0");
    await recorded.close();
    expect(descriptors()).toBeLessThanOrEqual(before + 2);
    expect(logsIn(recorded.receipts)).toContain("s0.2.jsonl");
    expect(recordsOf(join(recorded.receipts, "s0.jsonl")).at(-1)).toMatchObject({ reason: "evicted" });
    expect(await verifyLog(recorded.root)).toMatchObject({ exitCode: 0, counts: { logs: 301, receipts: 301 } });
  });

  test("a log gets a head at least every 256 lines", async () => {
    const recorded = recording();
    for (let i = 0; i < 600; i++) await recorded.call();
    await expect.poll(() => readdirSync(recorded.receipts).filter((name) => name.endsWith(".heads")).length).toBe(1);
    const [heads] = readdirSync(recorded.receipts).filter((name) => name.endsWith(".heads"));
    await expect
      .poll(() => readFileSync(join(recorded.receipts, heads as string), "utf8").split("\n\n").length)
      .toBeGreaterThan(2);
    await recorded.close();
    expect((await verifyLog(recorded.root)).exitCode).toBe(0);
  });
});
