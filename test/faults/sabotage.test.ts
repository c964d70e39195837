// The suite has teeth: a writer that is broken in one place is found out.
import { join } from "node:path";
import { expect, test } from "vitest";
import { asRoot, canCutPower, canMount, canTrace, skipUnless } from "./capabilities.ts";
import { memoryDisk } from "./disks.ts";
import { Ledger } from "./ledger.ts";
import { orderOfCalls } from "./order-of-calls.ts";
import { cutPowerUnder } from "./power-cuts.ts";
import { RunningWriter } from "./running-writer.ts";
import { stateFolder } from "./state-folder.ts";
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

/** Takes a write of a part for a write of all. */
const SHORT: Lie = {
  file: "log/private-file.ts",
  code: "export function writeSync(fd, bytes, offset, length) { fs.writeSync(fd, bytes, offset, length); return length; }",
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

test("a writer that takes a short write for a whole one claims what a full disk does not hold", (context) => {
  skipUnless(context, asRoot, canMount);
  return lying(SHORT, async ({ path }) => {
    const disk = memoryDisk(join(stateFolder(), "disk"), "16k");
    try {
      const stateDir = join(disk.path, "state");
      const basics = { stateDir, policy: "required", log: "session", sessions: 1, key: null } as const;
      const orders: WriterOrders = { ...basics, tag: "x", steps: [{ calls: 40 }] };
      const writer = new RunningWriter(path, orders);
      await writer.ended;
      const ledger = new Ledger(stateDir, false);
      ledger.take(orders, writer.said);
      expect((await ledger.afterFault()).falseClaims.length).toBeGreaterThan(0);
    } finally {
      disk.remove();
    }
  });
});
