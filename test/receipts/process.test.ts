// Laws of receipts across processes: kills, restarts, second writers, exits, and files that somebody else left there.
import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { CAUSE, ToolspanError } from "@toolspan/core";
import { type SegmentOpen, verifyLog, withAuditLog } from "@toolspan/receipts";
import { beforeAll, describe, expect, test } from "vitest";
import { build } from "../support/workspace.ts";
import { linesFrom, runProgram, startProgram } from "./crash.ts";
import { everyReceipt, everyRecord, linesOf, logsIn, recording, recordsOf, temporaryFolder } from "./parts.ts";

beforeAll(build);

const openings = (receipts: string): readonly SegmentOpen[] =>
  logsIn(receipts).map((file) => recordsOf(join(receipts, file))[0] as SegmentOpen);

describe("a process that ends without a word", () => {
  test.each(["required", "best_effort"])(
    "with process.exit(0) right after a call loses nothing, policy %s",
    async (policy) => {
      const root = temporaryFolder();
      const { code, stderr } = await runProgram(["exit", root, policy]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      const records = everyRecord(join(root, "receipts")).map(({ record }) => record);
      expect(records).toEqual(["segment_open", "receipt", "receipt", "receipt", "segment_close"]);
      expect(await verifyLog(root)).toMatchObject({ exitCode: 0, findings: [] });
    },
  );

  test.each(["required", "best_effort"])(
    "through an error that nobody catches, a millisecond after a call, loses nothing, policy %s",
    async (policy) => {
      const root = temporaryFolder();
      const { code, stderr } = await runProgram(["throw", root, policy]);
      expect(code).toBe(1);
      expect(stderr).toContain("nobody catches this");
      expect(await verifyLog(root)).toMatchObject({ exitCode: 0, findings: [], counts: { receipts: 1 } });
    },
  );

  test("does not stay alive for its logs", async () => {
    const root = temporaryFolder();
    const started = performance.now();
    const { code } = await runProgram(["close", root, "best_effort"]);
    expect(code).toBe(0);
    expect(performance.now() - started).toBeLessThan(15_000);
  });
});

describe("a process that is killed", () => {
  test("between calls leaves every receipt that it claimed, and its successor vouches for them", {
    timeout: 60_000,
  }, async () => {
    const root = temporaryFolder();
    const claimed: string[] = [];
    for (let round = 0; round < 4; round++) {
      const { child, ended } = startProgram(["run", root]);
      claimed.push(...(await linesFrom(child, 5 + round * 7)));
      child.kill("SIGKILL");
      expect((await ended).signal).toBe("SIGKILL");
      expect((await verifyLog(root)).exitCode).toBe(2);
    }
    await runProgram(["close", root]);
    const receipts = join(root, "receipts");
    const kept = new Set(everyRecord(receipts).flatMap((r) => (r.record === "receipt" ? [r.audit?.receipt_uri] : [])));
    expect(claimed.filter((uri) => !kept.has(JSON.parse(uri)))).toEqual([]);
    expect(logsIn(receipts)).toEqual([
      "session.2.jsonl",
      "session.3.jsonl",
      "session.4.jsonl",
      "session.5.jsonl",
      "session.jsonl",
    ]);
    const states = openings(receipts).flatMap(({ previous }) => previous?.state ?? []);
    expect(states).toEqual(["crashed", "crashed", "crashed", "crashed"]);
    const report = await verifyLog(root);
    expect(report).toMatchObject({ exitCode: 0, findings: [] });
    expect(report.notes.filter(({ verdict }) => verdict === "RECOVERED")).toHaveLength(4);
  });

  test("in the middle of a line leaves a torn tail, which the successor keeps as evidence", async () => {
    const root = temporaryFolder();
    await runProgram(["die", root]);
    const file = join(root, "receipts", "session.jsonl");
    const torn = '{"agent_name":null,"args_h';
    writeFileSync(file, torn, { flag: "a" });
    const before = await verifyLog(root);
    expect(before.findings.map(({ verdict }) => verdict)).toEqual(["UNCLOSED", "TORN_TAIL", "BEYOND_HEAD"]);
    await runProgram(["close", root]);
    expect(await verifyLog(root)).toMatchObject({ exitCode: 0, findings: [] });
    const [, recovery] = recordsOf(join(root, "receipts", "session.2.jsonl"));
    expect(recovery).toMatchObject({ record: "recovery", file: "session.jsonl", lines: 2, torn_bytes: torn.length });
    writeFileSync(file, readFileSync(file, "utf8").replace(/null,"args_h$/, 'nulL,"args_h'));
    expect((await verifyLog(root)).findings[0]).toMatchObject({
      verdict: "CLAIM_MISMATCH",
      file: "receipts/session.jsonl",
      line: 3,
    });
  });

  test("any changed line of a log that only a successor vouches for is found", async () => {
    const root = temporaryFolder();
    await runProgram(["die", root]);
    await runProgram(["close", root]);
    const file = join(root, "receipts", "session.jsonl");
    const honest = readFileSync(file);
    for (let at = 0; at < honest.length; at += 13) {
      const changed = Buffer.from(honest);
      changed[at] = (changed[at] as number) ^ (1 << (at % 8));
      writeFileSync(file, changed);
      expect((await verifyLog(root)).exitCode, String(at)).toBe(1);
    }
  });

  test("inside a handler leaves its intent, and the verifier says that nobody knows how it ended", async () => {
    const root = temporaryFolder();
    await runProgram(["die", root, "intent_first"]);
    await runProgram(["close", root, "intent_first"]);
    const report = await verifyLog(root);
    expect(report.exitCode).toBe(2);
    expect(report.findings).toMatchObject([{ verdict: "UNFINISHED", file: "receipts/session.jsonl", line: 4 }]);
  });
});

describe("a folder that is being written", () => {
  test("is never said to contradict itself", { timeout: 60_000 }, async () => {
    const root = temporaryFolder();
    const { child, ended } = startProgram(["spans", root]);
    child.stdout?.resume();
    await once(child.stdout as Readable, "data");
    let claims = 0;
    for (let i = 0; i < 60; i++) {
      const { exitCode, findings, counts } = await verifyLog(root);
      expect(exitCode, JSON.stringify(findings.slice(0, 3))).not.toBe(1);
      claims = counts.span_claims;
    }
    child.kill("SIGKILL");
    await ended;
    expect(claims).toBeGreaterThan(10);
  });
});

describe("a second writer on one session", () => {
  test("takes the next file and says that the first one is live", async () => {
    const root = temporaryFolder();
    const { child, ended } = startProgram(["live", root]);
    await linesFrom(child, 3);
    await runProgram(["close", root]);
    const receipts = join(root, "receipts");
    expect(openings(receipts).map(({ previous }) => previous?.state)).toEqual(["live", undefined]);
    child.stdin?.end();
    expect((await ended).code).toBe(0);
    expect(await verifyLog(root)).toMatchObject({ exitCode: 0, findings: [], counts: { logs: 2, receipts: 6 } });
  });

  test("two at a time with a hundred calls each: two whole chains, no fork, no false alarm", {
    timeout: 60_000,
  }, async () => {
    const root = temporaryFolder();
    const run = (): ReturnType<typeof runProgram> => runProgram(["close", root, "required", "100"]);
    const ran = await Promise.all([run(), run()]);
    expect(ran.map(({ code }) => code)).toEqual([0, 0]);
    const counts = { logs: 2, receipts: 200 };
    expect(await verifyLog(root, { strict: true })).toMatchObject({ exitCode: 0, findings: [], counts });
  });

  test("six at a time: every receipt stands in one of six logs, and all of them check out", {
    timeout: 60_000,
  }, async () => {
    const root = temporaryFolder();
    const ran = await Promise.all(Array.from({ length: 6 }, () => runProgram(["close", root, "required", "20"])));
    expect(ran.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(await verifyLog(root)).toMatchObject({ exitCode: 0, findings: [], counts: { logs: 6, receipts: 120 } });
  });

  test("in one process is live for the other", async () => {
    const first = recording();
    await first.call();
    const second = recording({ stateDir: first.root });
    await second.call();
    await first.call();
    await Promise.all([first.close(), second.close()]);
    expect(openings(first.receipts).map(({ previous }) => previous?.state)).toEqual(["live", undefined]);
    expect((await verifyLog(first.root)).exitCode).toBe(0);
  });
});

describe("writers that die beside others of their session", () => {
  const recoveries = (receipts: string): readonly string[] =>
    everyRecord(receipts).flatMap((record) => (record.record === "recovery" ? [record.file] : []));

  test("are vouched for by whoever comes next, though not their direct successor, and once only", async () => {
    const root = temporaryFolder();
    const receipts = join(root, "receipts");
    const programs = [];
    for (let i = 0; i < 3; i++) {
      const program = startProgram(["live", root]);
      await linesFrom(program.child, 3);
      programs.push(program);
    }
    await runProgram(["close", root]);
    await runProgram(["close", root]);
    expect(recoveries(receipts)).toEqual([]);
    for (const { child, ended } of programs) {
      child.kill("SIGKILL");
      await ended;
    }
    expect((await verifyLog(root)).findings.filter(({ verdict }) => verdict === "UNCLOSED")).toHaveLength(3);
    await runProgram(["close", root]);
    expect(recoveries(receipts)).toEqual(["session.3.jsonl", "session.2.jsonl", "session.jsonl"]);
    const report = await verifyLog(root);
    expect(report).toMatchObject({ exitCode: 0, findings: [], counts: { logs: 6, receipts: 18 } });
    expect(report.notes.filter(({ verdict }) => verdict === "RECOVERED")).toHaveLength(3);
    await runProgram(["close", root]);
    expect(recoveries(receipts)).toHaveLength(3);
    const file = join(receipts, "session.jsonl");
    writeFileSync(file, readFileSync(file, "utf8").replace(/"work"(?!.*"work")/s, '"Work"'));
    expect((await verifyLog(root)).exitCode).toBe(1);
  });

  test("are vouched for by one process that saw them alive", async () => {
    const { child, ended } = startProgram(["live", temporaryFolder()]);
    const [said] = await linesFrom(child, 3);
    const root = join(fileURLToPath(JSON.parse(said as string).receipt_uri), "..", "..");
    const first = recording({ stateDir: root });
    await first.call();
    await first.close();
    child.kill("SIGKILL");
    await ended;
    await first.call();
    await first.close();
    expect(recoveries(first.receipts)).toEqual(["session.jsonl"]);
    expect(await verifyLog(root)).toMatchObject({ exitCode: 0, findings: [] });
  });

  test("are vouched for sixteen at a time, newest first", { timeout: 60_000 }, async () => {
    const root = temporaryFolder();
    const receipts = join(root, "receipts");
    await runProgram(["die", root]);
    const opened = readFileSync(join(receipts, "session.jsonl"), "utf8");
    const log = (JSON.parse(opened.split("\n", 1)[0] as string) as SegmentOpen).chain.log;
    for (let i = 2; i <= 20; i++) {
      const [line = ""] = opened.replaceAll(log, log.slice(0, -2) + String(i).padStart(2, "0")).split("\n");
      writeFileSync(join(receipts, `session.${i}.jsonl`), `${line}\n`);
    }
    await runProgram(["close", root]);
    const newest = Array.from({ length: 17 }, (_, i) => `session.${20 - i}.jsonl`);
    expect(recoveries(receipts)).toEqual(newest);
    await runProgram(["close", root]);
    expect(recoveries(receipts).toSorted()).toEqual(
      [...newest, "session.3.jsonl", "session.2.jsonl", "session.jsonl"].toSorted(),
    );
    expect(await verifyLog(root)).toMatchObject({ exitCode: 0, findings: [], counts: { logs: 22 } });
  });
});

describe("a restart", () => {
  test("after an orderly end names the closed log, its lines and its root", async () => {
    const root = temporaryFolder();
    await runProgram(["close", root]);
    await runProgram(["close", root]);
    const [second] = openings(join(root, "receipts"));
    expect(second?.previous).toMatchObject({ file: "session.jsonl", lines: 5, state: "closed" });
    expect((await verifyLog(root)).exitCode).toBe(0);
  });

  test("whose former log is gone cannot be vouched for as a whole", async () => {
    const root = temporaryFolder();
    for (let i = 0; i < 3; i++) await runProgram(["close", root]);
    const receipts = join(root, "receipts");
    const { chain } = recordsOf(join(receipts, "session.2.jsonl"))[0] as SegmentOpen;
    for (const name of ["session.2.jsonl", `${chain.log}.head`, `${chain.log}.heads`])
      execFileSync("rm", [join(receipts, name)]);
    const report = await verifyLog(root);
    expect(report).toMatchObject({
      exitCode: 2,
      findings: [{ verdict: "MISSING_SEGMENT", file: "receipts/session.3.jsonl" }],
    });
  });
});

describe("what lies on disk", () => {
  const modes = (folder: string): readonly string[] =>
    ["", ...readdirSync(folder)].map((name) => (statSync(join(folder, name)).mode & 0o777).toString(8));

  test.each(["000", "022", "077", "777"])("is private under umask %s", async (umask) => {
    const root = join(temporaryFolder(), "state", "root");
    const shell = ["sh", "-c", `umask ${umask} && exec "$@"`, "sh"];
    const { code, stderr } = await runProgram(["close", root], shell);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(modes(join(root, "receipts"))).toEqual(["700", "600", "600", "600"]);
    expect((statSync(root).mode & 0o777).toString(8)).toBe("700");
  });

  test("is never written through a link: the next number is taken", async () => {
    const recorded = recording();
    const target = join(recorded.root, "target");
    writeFileSync(target, "precious");
    symlinkSync(target, join(recorded.receipts, "session.jsonl"));
    await recorded.call();
    await recorded.close();
    expect(readFileSync(target, "utf8")).toBe("precious");
    expect(linesOf(join(recorded.receipts, "session.2.jsonl"))).toHaveLength(3);
  });

  test("a fifo, a folder or somebody's file in place of a log neither blocks nor is touched", async () => {
    const recorded = recording();
    execFileSync("mkfifo", [join(recorded.receipts, "fifo.jsonl")]);
    mkdirSync(join(recorded.receipts, "folder.jsonl"));
    writeFileSync(join(recorded.receipts, "file.jsonl"), "not a log\n");
    for (const session of ["fifo", "folder", "file"]) {
      expect((await recorded.call("add", session)).status).toBe("ok");
      expect(existsSync(join(recorded.receipts, `${session}.2.jsonl`))).toBe(true);
    }
    await recorded.close();
    expect(readFileSync(join(recorded.receipts, "file.jsonl"), "utf8")).toBe("not a log\n");
    const report = await verifyLog(recorded.root);
    expect(report.exitCode).toBe(1);
    expect(new Set(report.findings.map(({ verdict }) => verdict))).toEqual(
      new Set(["MALFORMED", "UNREADABLE", "UNCLOSED", "BEYOND_HEAD"]),
    );
  });
});

describe("trouble with the folder is said when the recorder is made", () => {
  const made = (stateDir: string) => (): unknown => withAuditLog({ stateDir });
  const refusal = (act: () => unknown): unknown => {
    try {
      return act();
    } catch (error) {
      return ToolspanError.is(error, "TOOLSPAN_RECEIPT_STORE") ? error.details : error;
    }
  };

  test("a file, a link or a fifo in place of the folder", () => {
    const root = temporaryFolder();
    writeFileSync(join(root, "file"), "");
    expect(refusal(made(join(root, "file")))).toMatchObject({ expected: expect.stringContaining("a folder") });
    mkdirSync(join(root, "elsewhere"));
    mkdirSync(join(root, "linked"));
    symlinkSync(join(root, "elsewhere"), join(root, "linked", "receipts"));
    expect(refusal(made(join(root, "linked")))).toMatchObject({ received: "a link" });
    mkdirSync(join(root, "piped"));
    execFileSync("mkfifo", [join(root, "piped", "receipts")]);
    expect(refusal(made(join(root, "piped")))).toMatchObject({ received: "a fifo" });
  });

  test("a folder that everybody may change; one that everybody may read is closed", () => {
    const root = temporaryFolder();
    mkdirSync(join(root, "receipts"));
    chmodSync(join(root, "receipts"), 0o777);
    expect(refusal(made(root))).toMatchObject({ received: "mode 777" });
    chmodSync(join(root, "receipts"), 0o755);
    made(root)();
    expect((statSync(join(root, "receipts")).mode & 0o777).toString(8)).toBe("700");
  });

  test("a folder that cannot be written", async (context) => {
    const root = temporaryFolder();
    const probe = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    if (process.getuid?.() !== 0) {
      context.skip("only root can be somebody else");
      return;
    }
    chmodSync(root, 0o755);
    const { code, stderr } = await runProgram(["close", root], probe);
    expect(code).toBe(1);
    expect(stderr).toContain("TOOLSPAN_RECEIPT_STORE");
  });
});

describe("a read-only file system", () => {
  test("is said when the recorder is made, whether the folder is there or not", (context) => {
    const disk = join(temporaryFolder(), "disk");
    mkdirSync(disk);
    const mount = (...args: readonly string[]): boolean => spawnSync("mount", args, { stdio: "ignore" }).status === 0;
    if (!mount("-t", "tmpfs", "-o", "size=64k", "tmpfs", disk)) {
      context.skip("no file system can be mounted here");
      return;
    }
    try {
      withAuditLog({ stateDir: join(disk, "there") });
      expect(mount("-o", "remount,ro", disk)).toBe(true);
      for (const name of ["there", "missing"]) {
        expect(() => withAuditLog({ stateDir: join(disk, name) })).toThrow(/found EROFS/);
      }
    } finally {
      spawnSync("umount", [disk]);
    }
  });
});

describe("a full disk", () => {
  test("fails calls with its error, claims nothing that is not there, and is over when there is room again", async (context) => {
    const disk = join(temporaryFolder(), "disk");
    mkdirSync(disk);
    const mount = (...args: readonly string[]): boolean => spawnSync("mount", args, { stdio: "ignore" }).status === 0;
    if (!mount("-t", "tmpfs", "-o", "size=64k", "tmpfs", disk)) {
      context.skip("no file system of 64 KiB can be mounted here");
      return;
    }
    try {
      const recorded = recording({ stateDir: join(disk, "state") });
      const claimed: string[] = [];
      const failures = new Set<unknown>();
      for (let i = 0; i < 100; i++) {
        const { audit, [CAUSE]: cause } = await recorded.call();
        if (audit?.receipt_uri === undefined) failures.add((cause as NodeJS.ErrnoException).code);
        else claimed.push(audit.receipt_uri);
      }
      expect([...failures]).toEqual(["ENOSPC"]);
      expect(claimed.length).toBeGreaterThan(10);
      const kept = new Set(everyReceipt(recorded.receipts).map(({ audit }) => audit?.receipt_uri));
      expect(claimed.filter((uri) => !kept.has(uri))).toEqual([]);
      expect(() => withAuditLog({ stateDir: join(disk, "other") })).toThrow(/found ENOSPC/);
      expect(mount("-o", "remount,size=1m", disk)).toBe(true);
      expect((await recorded.call()).status).toBe("ok");
      await recorded.close();
      expect(await verifyLog(recorded.root)).toMatchObject({ exitCode: 0, findings: [] });
    } finally {
      spawnSync("umount", [disk]);
    }
  });
});
