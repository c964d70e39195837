// Laws of heads that were kept elsewhere: what is cut, rolled back, forked or written anew is told by them.
import { readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileSigner, type SigningKeyFacts, type VerifyOptions, type VerifyReport, verifyLog } from "@toolspan/receipts";
import { describe, expect, test } from "vitest";
import { CHECKS } from "../../packages/receipts/src/verify/checks.ts";
import { Findings } from "../../packages/receipts/src/verify/findings.ts";
import { AnchorStore } from "../../packages/receipts/src/verify/heads/anchor-store.ts";
import { loadAnchors } from "../../packages/receipts/src/verify/heads/load-anchors.ts";
import { headsOf } from "./mutations.ts";
import { copyOf, linesOf, logsIn, type Recorded, recording, temporaryFolder } from "./parts.ts";
import { newKey, policyFile, signedBy } from "./signing.ts";

/** What the heads of a folder are at this moment, as a file that lies elsewhere. */
function kept(...recorded: readonly Recorded[]): string {
  const texts = recorded.flatMap(({ receipts }) =>
    headsOf(receipts)
      .filter((name) => name.endsWith(".heads"))
      .map((name) => readFileSync(join(receipts, name), "utf8")),
  );
  return fileOf("heads.txt", texts.join(""));
}

function fileOf(name: string, text: string): string {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, text);
  return path;
}

/** A log of `count` receipts with a head after each, closed. */
async function headed(count: number, key?: SigningKeyFacts): Promise<Recorded> {
  const recorded = recording(key === undefined ? {} : { signer: fileSigner(key.path) });
  for (let i = 0; i < count; i++) {
    await recorded.call();
    await recorded.dispatch.flush();
  }
  return recorded;
}

const verdictsOf = ({ findings }: VerifyReport): readonly string[] => findings.map(({ verdict }) => verdict);

/** As the Collector's file exporter writes log records. */
function batch(
  ...records: readonly { readonly eventName: string; readonly text: string; readonly log?: string }[]
): string {
  const logRecords = records.map(({ eventName, text, log }) => ({
    timeUnixNano: "1798000000000000000",
    severityNumber: 9,
    severityText: "INFO",
    eventName,
    body: { stringValue: text },
    attributes: log === undefined ? [] : [{ key: "toolspan.log", value: { stringValue: log } }],
  }));
  return `${JSON.stringify({ resourceLogs: [{ resource: { attributes: [] }, scopeLogs: [{ scope: {}, logRecords }] }] })}\n`;
}

/** The entries of a file of heads, each with its log. */
function entriesOf(path: string): readonly { readonly text: string; readonly log: string }[] {
  return readFileSync(path, "utf8")
    .split(/(?<=\n)(?=[^\n]+\/[0-9a-f-]{36}\n)/)
    .filter((text) => text !== "")
    .map((text) => ({ text, log: /([0-9a-f-]{36})\n/.exec(text)?.[1] as string }));
}

const textOf = (entry: { readonly text: string } | undefined): string => entry?.text ?? "";

describe("a folder with heads kept elsewhere", () => {
  test("is complete when they cover each log to its closing line, and the report says what that leaves open", async () => {
    const recorded = await headed(3);
    await recorded.call("add", "other");
    await recorded.close();
    const report = await verifyLog(recorded.root, { anchors: kept(recorded) });
    expect(report).toMatchObject({ exitCode: 0, integrity: "ok", completeness: "ok", authenticity: "unknown" });
    expect(report.counts).toMatchObject({ receipts: 4, anchors: 5, anchored: 4 });
    expect(report.notChecked).toContainEqual(expect.stringContaining("logs of which no head was kept elsewhere"));
  });

  test("is not called complete where a log, or its end, is under none", async () => {
    const recorded = await headed(2);
    const early = kept(recorded);
    await recorded.close();
    const report = await verifyLog(recorded.root, { anchors: early });
    expect(report).toMatchObject({ exitCode: 0, integrity: "ok", completeness: "unknown" });
    expect(report.counts).toMatchObject({ receipts: 2, anchored: 2 });
    expect(report.notChecked).toContainEqual(expect.stringContaining("newer lines were cut from 1 of 1 logs"));
  });

  test("is complete under signed heads, and says who wrote it", async () => {
    const key = newKey();
    const recorded = await headed(2, key);
    await recorded.close();
    const options: VerifyOptions = { anchors: [kept(recorded)], trust: key.verifierKey };
    expect(await verifyLog(recorded.root, options)).toMatchObject({
      exitCode: 0,
      authenticity: "ok",
      completeness: "ok",
      counts: { sealed: 2, anchored: 2 },
    });
  });

  test("one log alone is asked about that log alone", async () => {
    const recorded = await headed(2);
    await recorded.call("add", "other");
    await recorded.close();
    const report = await verifyLog(join(recorded.receipts, "session.jsonl"), { anchors: kept(recorded) });
    expect(report).toMatchObject({ exitCode: 0, completeness: "ok", counts: { logs: 1, anchors: 3 } });
  });
});

describe("4. a tail cut below an anchored size", () => {
  test("is TRUNCATED with both sizes when the heads went with it, and unknown without anchors", async () => {
    const recorded = await headed(3);
    await recorded.close();
    const anchors = kept(recorded);
    const path = join(recorded.receipts, logsIn(recorded.receipts)[0] as string);
    writeFileSync(
      path,
      linesOf(path)
        .slice(0, 3)
        .map((line) => `${line}\n`)
        .join(""),
    );
    for (const file of headsOf(recorded.receipts)) rmSync(join(recorded.receipts, file));
    const report = await verifyLog(recorded.root, { anchors });
    expect(report.exitCode).toBe(1);
    expect(report.findings[0]).toMatchObject({
      verdict: "TRUNCATED",
      line: 4,
      message: expect.stringMatching(/vouches for 5 lines, there are 3$/),
    });
    const alone = await verifyLog(recorded.root);
    expect(alone.exitCode).toBe(2);
    expect(alone.notChecked).toContainEqual(expect.stringContaining("newer lines or whole logs were cut"));
  });

  test("even of one line that was anchored", async () => {
    const recorded = await headed(3);
    await recorded.close();
    const [, , third] = entriesOf(kept(recorded));
    const anchors = fileOf("one.txt", textOf(third));
    const path = join(recorded.receipts, logsIn(recorded.receipts)[0] as string);
    for (const file of headsOf(recorded.receipts)) rmSync(join(recorded.receipts, file));
    truncateSync(path, linesOf(path).slice(0, 4).join("\n").length);
    const report = await verifyLog(recorded.root, { anchors });
    expect(report.findings[0]).toMatchObject({ verdict: "TRUNCATED", line: 4 });
  });
});

describe("5. yesterday's copy of lines and heads", () => {
  test.each([
    ["unsigned", false],
    ["signed", true],
  ] as const)("%s, is ROLLED_BACK through anchors alone", async (_, signed) => {
    const key = signed ? newKey() : undefined;
    const recorded = await headed(2, key);
    const yesterday = copyOf(recorded.root);
    await recorded.call();
    await recorded.close();
    const trust = key === undefined ? {} : { trust: key.verifierKey };
    const report = await verifyLog(yesterday, { anchors: kept(recorded), ...trust });
    expect(report).toMatchObject({ exitCode: 1, integrity: "bad" });
    expect(report.findings[0]).toMatchObject({
      verdict: "ROLLED_BACK",
      message: expect.stringMatching(/its 3 lines .* states 5 lines$/),
    });
    expect((await verifyLog(yesterday, { ...trust, allowOpen: 0 })).exitCode).toBe(0);
  });

  test("a log that is gone with its heads is LOST_LOG, unless a line says that it was removed", async () => {
    const recorded = await headed(1);
    await recorded.call("add", "other");
    await recorded.close();
    const anchors = kept(recorded);
    const gone = recordIdOf(join(recorded.receipts, "other.jsonl"));
    rmSync(join(recorded.receipts, "other.jsonl"));
    for (const file of headsOf(recorded.receipts)) if (file.startsWith(gone)) rmSync(join(recorded.receipts, file));
    expect((await verifyLog(recorded.root)).exitCode).toBe(0);
    const report = await verifyLog(recorded.root, { anchors });
    expect(report).toMatchObject({ exitCode: 1, completeness: "bad" });
    expect(verdictsOf(report)).toEqual(["LOST_LOG"]);
    expect(report.findings[0]?.message).toContain(gone);
  });
});

function recordIdOf(path: string): string {
  return (JSON.parse(linesOf(path)[0] as string) as { chain: { log: string } }).chain.log;
}

describe("6. two heads of one size", () => {
  test("are FORKED, and both places are named", async () => {
    const recorded = await headed(2);
    await recorded.close();
    const entries = entriesOf(kept(recorded));
    const other = textOf(entries[1]).replace(/\n[A-Za-z0-9+/]{43}=\n/, `\n${"A".repeat(43)}=\n`);
    const [one, two] = [fileOf("one.txt", entries.map(({ text }) => text).join("")), fileOf("two.txt", other)];
    const report = await verifyLog(recorded.root, { anchors: [one, two] });
    expect(report.exitCode).toBe(1);
    const forked = report.findings.find(({ verdict }) => verdict === "FORKED");
    expect(`${forked?.file}: ${forked?.message}`).toContain(one);
    expect(`${forked?.file}: ${forked?.message}`).toContain(two);
  });

  test("one beside the log and one elsewhere, both signed by a trusted key, are FORKED; unsigned the lines are not the anchored ones", async () => {
    for (const key of [newKey(), undefined]) {
      const recorded = await headed(2, key);
      await recorded.close();
      const [first] = entriesOf(kept(recorded));
      const [origin, size] = textOf(first).split("\n");
      const body = `${origin}\n${size}\n${"A".repeat(43)}=\n`;
      const signature = key === undefined ? "" : `${signedBy(key.path, body)}\n`;
      const anchors = fileOf("forged.txt", `${body}\n${signature}`);
      const trust = key === undefined ? {} : { trust: key.verifierKey };
      const report = await verifyLog(recorded.root, { anchors, ...trust });
      expect(verdictsOf(report)).toEqual([key === undefined ? "ANCHOR_MISMATCH" : "FORKED"]);
    }
  });
});

test("a log written anew with its heads is ANCHOR_MISMATCH, from the first head that differs", async () => {
  const recorded = await headed(4);
  await recorded.close();
  const entries = entriesOf(kept(recorded));
  const changed = entries.map(({ text }, i) =>
    i < 2 ? text : text.replace(/\n[A-Za-z0-9+/]{43}=\n/, `\n${"B".repeat(42)}A=\n`),
  );
  const report = await verifyLog(recorded.root, { anchors: fileOf("heads.txt", changed.join("")) });
  expect(verdictsOf(report)).toEqual(["ANCHOR_MISMATCH"]);
  expect(report.findings[0]).toMatchObject({
    line: 4,
    message: expect.stringContaining("the first 3 are as another one states"),
  });
});

describe("9. signatures of anchors", () => {
  test("of unknown keys first, and of the right name with a wrong id, are passed over; a bad one of a trusted key refuses the head", async () => {
    const key = newKey();
    const recorded = await headed(2, key);
    await recorded.close();
    const entries = entriesOf(kept(recorded));
    const last = textOf(entries.at(-1));
    const [body = "", own = ""] = [last.slice(0, last.indexOf("\n\n") + 1), last.slice(last.indexOf("\n\n") + 2)];
    const strangers = Array.from({ length: 16 }, (_, i) => `${signedBy(newKey(`host-${i + 2}`).path, body)}\n`).join(
      "",
    );
    const sameName = `${signedBy(newKey().path, body)}\n`;
    const crowded = fileOf("crowded.txt", `${body}\n${strangers}${sameName}${own}`);
    const ok = await verifyLog(recorded.root, { anchors: crowded, trust: key.verifierKey });
    expect(ok).toMatchObject({ exitCode: 0, authenticity: "ok", completeness: "ok" });
    const bad = signedBy(key.path, `${body}x`);
    const broken = fileOf("broken.txt", `${body}\n${bad}\n${own}`);
    const report = await verifyLog(recorded.root, { anchors: broken, trust: key.verifierKey });
    expect(report).toMatchObject({ exitCode: 1, completeness: "unknown" });
    expect(verdictsOf(report)).toEqual(["BAD_SIGNATURE"]);
    expect(report.findings[0]?.file).toBe(broken);
  });

  test("heads of another installation's logs are passed over with trust, and missed without", async () => {
    const [own, foreign] = [newKey("host-1"), newKey("host-2")];
    const here = await headed(1, own);
    const there = await headed(1, foreign);
    await Promise.all([here.close(), there.close()]);
    const anchors = kept(here, there);
    const report = await verifyLog(here.root, { anchors, trust: own.verifierKey });
    expect(report).toMatchObject({ exitCode: 0, completeness: "ok", notes: [{ verdict: "OTHER_ANCHORS" }] });
    expect(verdictsOf(await verifyLog(here.root, { anchors }))).toEqual(["LOST_LOG"]);
    const both = policyFile({ keys: [own.verifierKey, foreign.verifierKey] });
    expect(verdictsOf(await verifyLog(here.root, { anchors, trust: both }))).toEqual(["LOST_LOG"]);
  });
});

describe("the Collector's file of log records", () => {
  test("is read as a file of heads is, with receipts and other records passed over", async () => {
    const recorded = await headed(3);
    await recorded.close();
    const entries = entriesOf(kept(recorded)).map(({ text, log }) => ({
      eventName: "toolspan.receipts.head",
      text,
      log,
    }));
    const receipts = linesOf(join(recorded.receipts, "session.jsonl")).map((text) => ({
      eventName: "toolspan.tool_call.receipt",
      text,
    }));
    const lines = [batch(...receipts), batch(...entries.slice(0, 2), ...receipts), batch(...entries.slice(1))];
    const anchors = fileOf("logs.jsonl", lines.join(""));
    expect(await verifyLog(recorded.root, { anchors })).toMatchObject({
      exitCode: 0,
      completeness: "ok",
      counts: { anchors: 4, anchored: 3 },
    });
  });

  test.each([
    ["a line that is cut", (whole: string) => whole.slice(0, -10), 1],
    ["a line that is no JSON", (whole: string) => `${whole}{"toolspan.receipts.head"}\n`, 2],
    ["a line that is no object", (whole: string) => `${whole}[]\n`, 2],
    ["a head without a text", () => `${batch({ eventName: "toolspan.receipts.head", text: "" })}`, 1],
    [
      "a head of another log than it names",
      (whole: string) => whole.replace(/"stringValue":"([0-9a-f]{8})-/, '"stringValue":"00000000-'),
      1,
    ],
  ])("with %s cannot be said to be all", async (_, spoil, line) => {
    const recorded = await headed(1);
    await recorded.close();
    const entries = entriesOf(kept(recorded)).map(({ text, log }) => ({
      eventName: "toolspan.receipts.head",
      text,
      log,
    }));
    const anchors = fileOf("logs.jsonl", spoil(batch(...entries)));
    const report = await verifyLog(recorded.root, { anchors });
    expect(report).toMatchObject({ exitCode: 2, completeness: "unknown" });
    expect(report.findings).toMatchObject([{ verdict: "UNREADABLE_ANCHORS", file: anchors, line }]);
  });
});

describe("a file of heads", () => {
  test.each([
    ["an entry cut in its root", (text: string) => text.slice(0, -20), "not written to its end|not a head"],
    ["another text in front", (text: string) => `hello\n${text}`, "not a head"],
    ["a stripped signature", (text: string) => text.replaceAll(/\u2014 .*\n/g, ""), "not a head"],
    ["no text at all", () => "\0\0\0\n", "not a head"],
  ])("with %s cannot be said to be all", async (_, spoil, message) => {
    const recorded = await headed(1, newKey());
    await recorded.close();
    const anchors = fileOf("heads.txt", spoil(readFileSync(kept(recorded), "utf8")));
    const report = await verifyLog(recorded.root, { anchors });
    expect(report.exitCode).toBe(2);
    expect(report.findings[0]).toMatchObject({
      verdict: "UNREADABLE_ANCHORS",
      message: expect.stringMatching(message),
    });
  });

  test("that is not there is refused when asked", async () => {
    const recorded = await headed(1);
    await recorded.close();
    for (const anchors of ["/nowhere/heads.txt", recorded.root, "", [], [7 as unknown as string]]) {
      await expect(verifyLog(recorded.root, { anchors })).rejects.toMatchObject({
        code: "TOOLSPAN_INVALID_OPTION",
        details: { option: "anchors" },
      });
    }
  });

  test("more of them than fit are said to be too many, and what stands twice counts once", async () => {
    const recorded = await headed(30);
    await recorded.close();
    const text = readFileSync(kept(recorded), "utf8");
    const findings = new Findings();
    const facts = { trust: null, checks: CHECKS, findings };
    const store = await loadAnchors([fileOf("heads.txt", text.repeat(20))], { ...facts, maxEntries: 40 });
    expect(store.count).toBe(31);
    expect(findings.problems).toEqual([]);
    await loadAnchors([fileOf("heads.txt", text)], { ...facts, maxEntries: 10 });
    expect(findings.problems.map(({ verdict }) => verdict)).toEqual(["TOO_MANY"]);
  });
});

test("the store gives back what it was given, by log and size", () => {
  const store = new AnchorStore();
  const anchors = Array.from({ length: 3000 }, (_, i) => ({
    log: `018f0000-0000-7000-8000-${String(i % 7).padStart(12, "0")}`,
    size: 3000 - i,
    root: i.toString(16).padStart(64, "0"),
    file: i % 2 === 0 ? "a" : "b",
    line: i,
    signing: null,
  }));
  for (const anchor of anchors) store.add(anchor);
  for (let log = 0; log < 7; log++) {
    const expected = anchors.filter((_, i) => i % 7 === log).sort((a, b) => a.size - b.size);
    expect(store.of(`018f0000-0000-7000-8000-${String(log).padStart(12, "0")}`)).toEqual(expected);
  }
  expect([...store.logs()].flatMap((each) => each.anchors)).toHaveLength(3000);
  expect(store.of("018f0000-0000-7000-8000-999999999999")).toEqual([]);
});
