// Every system call that a writer makes on its files fails once, in each way: no false claim, nothing lost, no word of damage.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { initSigningKey, type LogRecord, type ReceiptPolicy } from "@toolspan/receipts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asRoot, canTrace, skipUnless } from "./capabilities.ts";
import { Ledger, NOTHING_WRONG } from "./ledger.ts";
import { askedAgain, orderOfCalls } from "./order-of-calls.ts";
import { RunningWriter } from "./running-writer.ts";
import { FULL, timeFor } from "./scale.ts";
import { stateFolder } from "./state-folder.ts";
import {
  attachStrace,
  CALLS,
  type Call,
  type Fault,
  type Injection,
  readTrace,
  straceArgs,
  TRACED_ENV,
} from "./traced-writer.ts";
import type { Said, Step, WriterOrders } from "./writer.ts";
import { type WriterProgram, writerProgram } from "./writer-program.ts";

interface Variant {
  readonly policy: ReceiptPolicy;
  readonly signed: boolean;
  readonly faults: readonly Fault[];
}

const ALL: readonly Fault[] = ["EIO", "ENOSPC", "EDQUOT", "EINTR", "KILL"];
const VARIANTS: readonly Variant[] = [
  { policy: "required", signed: false, faults: ALL },
  { policy: "intent_first", signed: true, faults: FULL ? ALL : ["KILL"] },
  { policy: "best_effort", signed: false, faults: FULL ? ALL : ["EIO"] },
];
const MOST = 60;

/** From its start on: the log is opened, its first lines are written. */
const OPENING: readonly Step[] = [{ calls: 2 }, { calls: 3, inFlight: 3 }, "close"];
/** Three logs in a row, each following the one before. */
const FOLLOWING: readonly Step[] = [{ calls: 5 }, "close"];
/** Once its log is open: lone calls, a crowd, two heads, the closing line. */
const WORKING: readonly Step[] = [
  { calls: 1 },
  "wait",
  { calls: 2 },
  "flush",
  { calls: 4, inFlight: 4 },
  "flush",
  "close",
];

let program: WriterProgram;
beforeAll(async () => {
  program = await writerProgram();
});
afterAll(() => program.remove());

describe.for(VARIANTS)("under $policy, signed: $signed", ({ policy, signed, faults }) => {
  const key = signed ? (): string => initSigningKey(join(stateFolder(), "key.pem"), "faults").path : () => null;

  /** Runs a writer under the fault, then one that ends in order; false when the writer never came to the fault. */
  async function survives(steps: readonly Step[], injection: Injection): Promise<boolean> {
    const folder = stateFolder();
    const stateDir = join(folder, "state");
    const basics = { stateDir, policy, log: "session", sessions: 1, key: key() } as const;
    const limits = steps === FOLLOWING ? { maxSegmentBytes: 2500 } : {};
    const orders: WriterOrders = { ...basics, ...limits, tag: "s", steps };
    const output = join(folder, "trace");
    const writer = steps.includes("wait")
      ? await attached(orders, output, injection)
      : started(orders, output, injection);
    const { code, signal, stderr } = await writer.ended;
    const trace = readTrace(output);
    const said = writer.said.map(({ say }) => say);
    const reached = trace.some(({ injected }) => injected !== null) || !said.includes("closed");
    const context = JSON.stringify(injection);
    if (injection.fault === "KILL")
      expect(reached ? [code, signal] : [null, "SIGKILL"], context).toEqual([null, "SIGKILL"]);
    else {
      expect({ code, stderr }, context).toEqual({ code: 0, stderr: "" });
      expect(askedAgain(trace), context).toEqual([]);
    }
    expect(writer.said.filter(isWrongFailure(injection.fault)), context).toEqual([]);

    const ledger = new Ledger(stateDir);
    ledger.take(orders, writer.said);
    const { report: before, ...found } = await ledger.afterFault();
    expect(found, context).toEqual(NOTHING_WRONG);
    expect(before.exitCode, `${context} ${JSON.stringify(before.findings)}`).not.toBe(1);
    const last = new RunningWriter(program.path, { ...basics, tag: "last", steps: [{ calls: 1 }, "flush", "close"] });
    expect(await last.ended, context).toEqual({ code: 0, signal: null, stderr: "" });
    ledger.take(last.orders, last.said);
    const { report, lost, ...atEnd } = await ledger.atEnd();
    expect({ ...atEnd, lost }, context).toEqual({ ...NOTHING_WRONG, lost: [] });
    expect(report.exitCode, `${context} ${JSON.stringify(report.findings)}`).not.toBe(1);
    expect(ledger.claims).toBeGreaterThan(0);
    return reached;
  }

  function started(orders: WriterOrders, output: string, injection: Injection): RunningWriter {
    const receipts = join(orders.stateDir, "receipts");
    mkdirSync(receipts, { recursive: true, mode: 0o700 });
    const prefix = ["strace", "-qq", ...straceArgs(output, pathsIn(receipts), injection)];
    return new RunningWriter(program.path, orders, prefix, TRACED_ENV);
  }

  /** Its first log is open, so its files of heads have names. */
  async function attached(orders: WriterOrders, output: string, injection: Injection): Promise<RunningWriter> {
    const receipts = join(orders.stateDir, "receipts");
    const writer = new RunningWriter(program.path, orders, [], TRACED_ENV);
    await writer.heard("waiting");
    const log = await logIn(join(receipts, "session_0.jsonl"));
    const heads = ["heads", "head", "head.next"].map((ending) => join(receipts, `${log}.${ending}`));
    await attachStrace(writer.child.pid as number, straceArgs(output, [...pathsIn(receipts), ...heads], injection));
    writer.goOn();
    return writer;
  }

  for (const fault of faults) {
    for (const [what, steps] of [
      ["opens its log", OPENING],
      ["works", WORKING],
      ["follows one log with the next", FOLLOWING],
    ] as const) {
      if (!FULL && steps === FOLLOWING && fault !== "EIO" && fault !== "KILL") continue;
      test(`${fault} at each system call of a writer that ${what}`, { timeout: timeFor(100) }, async (context) => {
        skipUnless(context, asRoot, canTrace);
        const reached = new Map<Call, number>();
        for (const call of Object.keys(CALLS) as Call[]) {
          for (let position = 1; position <= MOST; position++) {
            if (!(await survives(steps, { call, position, fault }))) break;
            reached.set(call, position);
          }
        }
        const expected: readonly Call[] =
          steps !== WORKING ? ["openat", "write", "fdatasync", "fsync"] : (Object.keys(CALLS) as Call[]);
        expect([...reached.keys()]).toEqual(expected);
        expect(Math.max(...reached.values())).toBeLessThan(MOST);
      });
    }
  }
});

function pathsIn(receipts: string): readonly string[] {
  return [
    receipts,
    ...["session_0.jsonl", "session_0.2.jsonl", "session_0.3.jsonl"].map((name) => join(receipts, name)),
  ];
}

/** The log that a file holds, once its first line is there. */
async function logIn(path: string): Promise<string> {
  for (;;) {
    const [line, rest] = readFileSync(path, "utf8").split("\n", 2);
    if (rest !== undefined) return (JSON.parse(line as string) as LogRecord).chain.log;
    await after(10); // under best_effort it is written a tenth of a second later
  }
}

/** A failed receipt is said to be one; a handler whose intent failed has not run; what a signal interrupts does not fail. */
function isWrongFailure(fault: Fault): (said: Said) => boolean {
  return (said) => {
    if (said.say !== "no_claim") return false;
    const { status, category } = said;
    return fault === "EINTR" || status !== "tool_middleware_exception" || category !== "receipt_failed";
  };
}

test("every claim comes after a sync that came after its line", (context) => {
  skipUnless(context, canTrace);
  expect(orderOfCalls(program.path)).toEqual({ claims: 60, early: [] });
});
