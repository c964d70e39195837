// Somebody else lays hands on the folder: takes it away, locks it, cuts a log short, puts something in the way.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asRoot, canRun, skipUnless } from "./capabilities.ts";
import { Ledger, NOTHING_WRONG } from "./ledger.ts";
import { RunningWriter } from "./running-writer.ts";
import { stateFolder } from "./state-folder.ts";
import type { Said, Step, WriterOrders } from "./writer.ts";
import { type WriterProgram, writerProgram } from "./writer-program.ts";

let program: WriterProgram;
beforeAll(async () => {
  program = await writerProgram();
});
afterAll(() => program.remove());

function orders(stateDir: string, steps: readonly Step[], sessions = 1): WriterOrders {
  return { stateDir, tag: "m", policy: "required", log: "session", sessions, key: null, steps };
}

const failuresIn = (said: readonly Said[]): readonly string[] =>
  said.flatMap((one) => (one.say === "no_claim" ? `${one.status} ${one.category} ${one.code}` : []));
const ORDERLY = { code: 0, signal: null, stderr: "" } as const;

test("a folder that is taken away fails at most the call whose receipt went with it, and is made again", async () => {
  const root = stateFolder();
  const stateDir = join(root, "state");
  const writer = new RunningWriter(
    program.path,
    orders(stateDir, [{ calls: 3 }, "wait", { calls: 4 }, "flush", "close"]),
  );
  await writer.heard("waiting");
  rmSync(join(stateDir, "receipts"), { recursive: true });
  const before = writer.said.length;
  writer.goOn();
  expect(await writer.ended).toEqual(ORDERLY);
  const said = writer.said.slice(before);
  const failed = failuresIn(said);
  expect(failed.length).toBeLessThanOrEqual(1);
  for (const failure of failed) expect(failure).toBe("tool_middleware_exception receipt_failed TOOLSPAN_RECEIPT_STORE");
  const ledger = new Ledger(stateDir);
  ledger.take(
    writer.orders,
    said.filter(({ say }) => say === "claim"),
  );
  const { report, lost, ...found } = await ledger.atEnd();
  const claims = 4 - failed.length;
  expect({ ...found, lost, claims: ledger.claims }).toEqual({ ...NOTHING_WRONG, lost: [], claims });
  expect(report.exitCode).not.toBe(1);
});

test("a folder that this user may no longer write to fails calls that need a new log, until it may again", async (context) => {
  skipUnless(context, asRoot, canRun("setpriv"));
  const root = stateFolder();
  const stateDir = join(root, "state");
  chmodSync(root, 0o755);
  mkdirSync(stateDir, { mode: 0o700 });
  chownSync(stateDir, 65_534, 65_534);
  execFileSync("chmod", ["-R", "a+rX", join(program.path, "..")]);
  const receipts = join(stateDir, "receipts");
  const nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
  // Seven sessions: the calls after the wait come to sessions without a log.
  const steps: readonly Step[] = [{ calls: 2 }, "wait", { calls: 3 }, "wait", { calls: 4 }, "flush", "close"];
  const writer = new RunningWriter(program.path, orders(stateDir, steps, 7), nobody);
  await writer.heard("waiting");
  chmodSync(receipts, 0o500);
  writer.goOn();
  await writer.heard("waiting", 2);
  chmodSync(receipts, 0o700);
  const before = writer.said.length;
  writer.goOn();
  expect(await writer.ended).toEqual(ORDERLY);
  const failed = failuresIn(writer.said);
  expect([failed.length, new Set(failed)]).toEqual([3, new Set(["tool_middleware_exception receipt_failed EACCES"])]);
  expect(failuresIn(writer.said.slice(before))).toEqual([]);
  const ledger = new Ledger(stateDir);
  ledger.take(writer.orders, writer.said);
  const { report, lost, ...found } = await ledger.atEnd();
  expect({ ...found, lost, claims: ledger.claims }).toEqual({ ...NOTHING_WRONG, lost: [], claims: 6 });
  expect(report).toMatchObject({ exitCode: 0, findings: [] });
});

describe("a log that is copied and cut short under its writer, as logrotate's copytruncate does it", () => {
  const log = (stateDir: string): string => join(stateDir, "receipts", "session_0.jsonl");
  const byHand = (stateDir: string): void => {
    copyFileSync(log(stateDir), join(stateDir, "session_0.jsonl.1"));
    truncateSync(log(stateDir));
  };
  const byLogrotate = (stateDir: string): void => {
    const folder = join(stateDir, "..");
    const config = join(folder, "logrotate.conf");
    writeFileSync(config, `${log(stateDir)} {\n  rotate 5\n  size 1\n  copytruncate\n  olddir ${folder}\n}\n`);
    execFileSync("logrotate", ["--force", "--state", join(folder, "rotated"), config]);
  };

  test.for([
    { how: "by hand", act: byHand, probes: [] },
    { how: "by logrotate", act: byLogrotate, probes: [canRun("logrotate")] },
  ])(
    "is noticed: the writer says so, takes a new log, and leaves no run of zeros ($how)",
    async ({ act, probes }, context) => {
      skipUnless(context, ...probes);
      const stateDir = join(stateFolder(), "state");
      const steps: readonly Step[] = [
        { calls: 40 },
        "flush",
        { calls: 10 },
        "wait",
        { calls: 10, inFlight: 4 },
        { calls: 10 },
        "flush",
        "close",
      ];
      const writer = new RunningWriter(program.path, orders(stateDir, steps));
      await writer.heard("waiting");
      act(stateDir);
      const before = writer.said.length;
      writer.goOn();
      expect(await writer.ended).toEqual(ORDERLY);
      const said = writer.said.slice(before);
      expect(said).toContainEqual(expect.objectContaining({ say: "trouble" }));
      for (const failure of failuresIn(said)) expect(failure).toMatch(/^tool_middleware_exception receipt_failed /);
      // What was claimed before was cut away by somebody else; what is claimed since is there.
      const ledger = new Ledger(stateDir);
      ledger.take(
        writer.orders,
        said.filter(({ say }) => say === "claim"),
      );
      const { falseClaims } = await ledger.afterFault();
      expect(falseClaims).toEqual([]);
      expect(ledger.claims).toBeGreaterThanOrEqual(10);
      expect(existsSync(join(stateDir, "receipts", "session_0.2.jsonl"))).toBe(true);
      for (const name of readdirSync(join(stateDir, "receipts"))) {
        expect(readFileSync(join(stateDir, "receipts", name)).includes(0), name).toBe(false);
      }
    },
  );

  test("again and again under load: claims made after the last cut hold, and the cuts are called what they are", {
    timeout: 120_000,
  }, async () => {
    const stateDir = join(stateFolder(), "state");
    const writer = new RunningWriter(
      program.path,
      orders(stateDir, [{ calls: 50 }, "flush", { calls: 1500, inFlight: 8 }, "flush", "wait", { calls: 20 }, "close"]),
    );
    for (let cut = 1; cut <= 5; cut++) {
      await writer.heard("claim", cut * 100);
      for (const name of readdirSync(join(stateDir, "receipts")).filter((one) => one.endsWith(".jsonl"))) {
        const path = join(stateDir, "receipts", name);
        copyFileSync(path, join(stateDir, `${name}.${cut}`));
        truncateSync(path);
      }
    }
    await writer.heard("waiting");
    const before = writer.said.length;
    writer.goOn();
    expect(await writer.ended).toEqual(ORDERLY);
    const said = writer.said.slice(before);
    const failed = failuresIn(said); // the last cut may have come after the last line before
    expect(failed.length).toBeLessThanOrEqual(1);
    for (const failure of failed) expect(failure).toMatch(/^tool_middleware_exception receipt_failed /);
    const ledger = new Ledger(stateDir);
    ledger.take(
      writer.orders,
      said.filter(({ say }) => say === "claim"),
    );
    const { falseClaims, report } = await ledger.afterFault();
    expect({ falseClaims, claims: ledger.claims }).toEqual({ falseClaims: [], claims: 20 - failed.length });
    expect(report.exitCode).toBe(1); // lines that heads vouch for are gone
  });
});

describe("something that lies where a log would go", () => {
  const inTheWay: Readonly<Record<string, (path: string, folder: string) => void>> = {
    "a file": (path) => writeFileSync(path, "precious"),
    "a link": (path, folder) => symlinkSync(join(folder, "target"), path),
    "a hard link": (path, folder) => linkSync(join(folder, "target"), path),
    "a fifo": (path) => execFileSync("mkfifo", [path]),
    "a folder": (path) => mkdirSync(path),
    "a device": (path) => execFileSync("mknod", [path, "c", "1", "3"]),
  };

  test.for(Object.keys(inTheWay))("is left alone, and the next number is taken: %s", async (what, context) => {
    if (what === "a device") skipUnless(context, asRoot);
    const root = stateFolder();
    const stateDir = join(root, "state");
    const receipts = join(stateDir, "receipts");
    mkdirSync(receipts, { recursive: true, mode: 0o700 });
    writeFileSync(join(root, "target"), "precious");
    const path = join(receipts, "session_0.jsonl");
    inTheWay[what]?.(path, root);
    const { mode, ino } = statSync(path);
    const writer = new RunningWriter(program.path, orders(stateDir, [{ calls: 3 }, "close"]));
    expect(await writer.ended).toEqual(ORDERLY);
    expect(failuresIn(writer.said)).toEqual([]);
    expect(readFileSync(join(root, "target"), "utf8")).toBe("precious");
    expect(statSync(path)).toMatchObject({ mode, ino });
    if (what === "a file") expect(readFileSync(path, "utf8")).toBe("precious");
    expect(writer.said.flatMap((one) => (one.say === "claim" ? one.uri.split(/[/#]/).at(-2) : []))).toEqual(
      Array(3).fill("session_0.2.jsonl"),
    );
  });

  test("a parent that everybody may write to is refused when the recorder is made", async () => {
    const root = stateFolder();
    const parent = join(root, "open");
    mkdirSync(parent);
    chmodSync(parent, 0o777);
    const writer = new RunningWriter(program.path, orders(join(parent, "state"), [{ calls: 1 }]));
    const { code, stderr } = await writer.ended;
    expect(code).toBe(1);
    expect(stderr).toContain("TOOLSPAN_RECEIPT_STORE");
    expect(writer.said).toEqual([{ say: "ready" }]);
  });
});
