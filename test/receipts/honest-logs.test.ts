// Laws of honest logs in great number: none that was closed, rotated or recovered after a crash raises an alarm.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type VerifyReport, verifyLog } from "@toolspan/receipts";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { build } from "../support/workspace.ts";
import { crash, lastLogs, listing, type Random, randomFrom, upTo } from "./crash-states.ts";
import { logsIn } from "./parts.ts";
import { newKey } from "./signing.ts";

const program = fileURLToPath(new URL("./honest-writer.mjs", import.meta.url));
/** Another one each time; to see a failure again, set what it names. */
const seed = Number(process.env.TOOLSPAN_TEST_SEED ?? Date.now() % 2 ** 31);
/** Logs that are looked at: 10,000 take about a minute on one core. */
const LOGS = 10_000;
const SESSIONS = ["a", "b", "c.d", "é/ü"];

interface Folder {
  readonly stateDir: string;
  readonly signed: boolean;
  readonly options: {
    readonly policy: string;
    readonly layers: string;
    readonly log: string;
    readonly maxSegmentBytes?: number;
  };
  readonly sessions: readonly string[];
  /** Logs whose writer died over their first line: nothing says whose they are. */
  readonly wordless: Set<string>;
}

type Step =
  | { readonly kind: "call"; readonly sessionId: string; readonly calls: number }
  | { readonly kind: "flush" | "close" };

/** Memory where there is some: what is tested is what is left, not the disk. */
function scratch(): string {
  const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "toolspan-honest-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function oneOf<T>(words: readonly T[], random: Random): T {
  return words[upTo(words.length - 1, random)] as T;
}

function someFolder(stateDir: string, random: Random): Folder {
  const log = random() < 0.1 ? "process" : "session";
  return {
    stateDir,
    signed: random() < 0.5,
    options: {
      policy: oneOf(["required", "best_effort", "intent_first"], random),
      layers: oneOf(["compact", "full"], random),
      log,
      // A few receipts a log: the next one goes on.
      ...(random() < 0.2 ? { maxSegmentBytes: 4096 } : {}),
    },
    sessions: log === "process" ? SESSIONS.slice(0, 1) : SESSIONS.slice(0, 1 + upTo(SESSIONS.length - 1, random)),
    wordless: new Set(),
  };
}

/** A few steps in each session, its last one a call, so that each has a log of this generation. */
function someSteps(sessions: readonly string[], random: Random): readonly Step[] {
  const steps: Step[] = [];
  for (let i = upTo(8, random); i > 0; i--) {
    const kind = random();
    if (kind < 0.2) steps.push({ kind: "flush" });
    else if (kind < 0.25) steps.push({ kind: "close" });
    else
      steps.push({ kind: "call", sessionId: oneOf(sessions, random), calls: random() < 0.004 ? 300 : upTo(3, random) });
  }
  return [...steps, ...sessions.map((sessionId) => ({ kind: "call", sessionId, calls: 1 }) as const)];
}

/** Lets a process of its own write these folders on, and end. */
async function writeOn(key: string, folders: readonly Folder[], random: Random): Promise<void> {
  const jobs = folders.map((folder) => ({ ...folder, steps: someSteps(folder.sessions, random) }));
  const child = spawn(process.execPath, [program], { stdio: ["pipe", "inherit", "inherit"] });
  child.stdin.end(JSON.stringify({ key, jobs }));
  expect((await once(child, "close"))[0]).toBe(0);
}

/** Lets the writers of some of a folder's last logs die over them; returns how many. */
function crashSome({ stateDir, wordless }: Folder, random: Random): number {
  const receipts = join(stateDir, "receipts");
  const dying = lastLogs(receipts).filter(() => random() < 0.7);
  for (const file of dying) if (crash(receipts, file, random).lines === 0) wordless.add(`receipts/${file}`);
  return dying.length;
}

/** What a report objects to, less what nobody can say of logs that crashes have left. */
function alarmsIn(report: VerifyReport, { options, wordless }: Folder): readonly string[] {
  return (
    report.findings
      .filter(({ verdict, file }) => !(verdict === "NO_LINES" && wordless.has(file)))
      // The log before it named it as its next one, and nothing shows that it ever was.
      .filter(
        ({ verdict }) => !(verdict === "MISSING_SEGMENT" && options.maxSegmentBytes !== undefined && wordless.size > 0),
      )
      .filter(({ verdict }) => !(verdict === "UNFINISHED" && options.policy === "intent_first"))
      .map(({ verdict, file, line, message }) => `${verdict} ${file}:${line} ${message}`)
  );
}

beforeAll(build, 120_000);

describe(`of ${LOGS.toLocaleString("en")} logs that honest writers kept, closed or died over (seed ${seed})`, () => {
  test("none contradicts itself, and each whose writer died holds once another has come after it", {
    timeout: 900_000,
  }, async () => {
    const random = randomFrom(seed);
    const root = scratch();
    const key = newKey();
    const seen = { logs: 0, folders: 0, crashes: 0, wordless: 0 };
    const alarms: unknown[] = [];
    const look = async (folder: Folder, isAlarm: (report: VerifyReport) => boolean): Promise<void> => {
      const { stateDir, signed } = folder;
      const trust = signed && random() < 0.8 ? { trust: key.verifierKey } : {};
      const report = await verifyLog(stateDir, { strict: random() < 0.3, ...trust });
      if (!isAlarm(report)) return;
      alarms.push({ folder, findings: report.findings, files: listing(join(stateDir, "receipts")) });
    };
    while (seen.logs < LOGS && alarms.length === 0) {
      const folders = Array.from({ length: 250 }, (_, i) => someFolder(join(root, `${seen.folders}-${i}`), random));
      for (let generation = 0; generation < 2; generation++) {
        await writeOn(key.path, folders, random);
        for (const folder of folders) {
          seen.crashes += crashSome(folder, random);
          // Nobody has come after the dead yet: much cannot be said, and nothing contradicts.
          await look(folder, ({ exitCode }) => exitCode === 1);
        }
      }
      await writeOn(key.path, folders, random);
      for (const folder of folders) {
        await look(folder, (report) => alarmsIn(report, folder).length > 0);
        seen.logs += logsIn(join(folder.stateDir, "receipts")).length;
        seen.folders++;
        seen.wordless += folder.wordless.size;
        if (alarms.length === 0) rmSync(folder.stateDir, { recursive: true });
      }
    }
    expect(alarms).toEqual([]);
    // biome-ignore lint/suspicious/noConsole: the figures are the result
    console.info(
      `${seen.logs} logs in ${seen.folders} folders, ${seen.crashes} crashes (${seen.wordless} over a first line): 0 false alarms`,
    );
  });
});
