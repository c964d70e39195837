// The suite has teeth: a writer that is broken in one place is found out.
import { join } from "node:path";
import { expect, test } from "vitest";
import { asRoot, canCutPower, canTrace, skipUnless } from "./capabilities.ts";
import { askedAgain, orderOfCalls } from "./order-of-calls.ts";
import { cutPowerUnder } from "./power-cuts.ts";
import { RunningWriter } from "./running-writer.ts";
import { stateFolder } from "./state-folder.ts";
import { readTrace, straceArgs, TRACED_ENV } from "./traced-writer.ts";
import type { WriterOrders } from "./writer.ts";
import { type Lie, type WriterProgram, writerProgram } from "./writer-program.ts";

/** Says that a sync is done, and does it a little later. */
const EARLY: Lie = {
  file: "log/synced-file.ts",
  code: `
    const later = (fd) => setTimeout(() => fs.fdatasync(fd, () => {}), 10);
    export function fdatasync(fd, done) { later(fd); process.nextTick(done, null); }
    export function fdatasyncSync(fd) { later(fd); }
  `,
};

/** Asks once more when a sync has failed, as if the second answer were worth something. */
const STUBBORN: Lie = {
  file: "log/synced-file.ts",
  code: `
    export function fdatasync(fd, done) { fs.fdatasync(fd, (error) => error ? fs.fdatasync(fd, done) : done(null)); }
    export function fdatasyncSync(fd) { try { fs.fdatasyncSync(fd); } catch { fs.fdatasyncSync(fd); } }
  `,
};

async function lying(lie: Lie, act: (program: WriterProgram) => Promise<void>): Promise<void> {
  const program = await writerProgram(lie);
  try {
    await act(program);
  } finally {
    program.remove();
  }
}

test("a writer that acknowledges before fdatasync fails the order of system calls", (context) => {
  skipUnless(context, canTrace);
  return lying(EARLY, async ({ path }) => {
    const { claims, early } = orderOfCalls(path);
    expect(claims).toBe(60);
    expect(early.length).toBeGreaterThan(30);
  });
});

test("a writer that acknowledges before fdatasync loses receipts in power cuts", { timeout: 120_000 }, (context) => {
  skipUnless(context, asRoot, canCutPower);
  return lying(EARLY, async ({ path }) => {
    const variant = { policy: "required", log: "session", sessions: 1, signed: false } as const;
    const falseClaims: string[] = [];
    for await (const found of cutPowerUnder(path, variant, 5, false)) falseClaims.push(...found.falseClaims);
    expect(falseClaims.length).toBeGreaterThan(0);
  });
});

test("a writer that asks a failed descriptor again is seen doing it", (context) => {
  skipUnless(context, canTrace);
  return lying(STUBBORN, async ({ path }) => {
    const folder = stateFolder();
    const stateDir = join(folder, "state");
    const output = join(folder, "trace");
    const basics = { stateDir, policy: "required", log: "session", sessions: 1, key: null } as const;
    const orders: WriterOrders = { ...basics, tag: "x", steps: [{ calls: 8 }, "close"] };
    const log = join(stateDir, "receipts", "session_0.jsonl");
    const injected = straceArgs(output, [log], { call: "fdatasync", position: 2, fault: "EIO" });
    const writer = new RunningWriter(path, orders, ["strace", "-qq", ...injected], TRACED_ENV);
    expect((await writer.ended).code).toBe(0);
    expect(askedAgain(readTrace(output)).length).toBeGreaterThan(0);
  });
});
