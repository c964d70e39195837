// A writer that is killed at any moment has claimed nothing that is not there, and whoever comes next finds no damage.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { initSigningKey, type ReceiptPolicy } from "@toolspan/receipts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Ledger, NOTHING_WRONG } from "./ledger.ts";
import { RunningWriter } from "./running-writer.ts";
import { scaled, timeFor } from "./scale.ts";
import { stateFolder } from "./state-folder.ts";
import type { WriterOrders } from "./writer.ts";
import { type WriterProgram, writerProgram } from "./writer-program.ts";

interface Variant {
  readonly policy: ReceiptPolicy;
  readonly log: "session" | "process";
  readonly sessions: number;
  readonly signed: boolean;
  readonly maxSegmentBytes: number;
}

const MANY_LINES = 64 << 20;
const FEW_LINES = 12 << 10;

const VARIANTS: readonly Variant[] = [
  { policy: "required", log: "session", sessions: 1, signed: false, maxSegmentBytes: MANY_LINES },
  { policy: "required", log: "process", sessions: 3, signed: true, maxSegmentBytes: FEW_LINES },
  { policy: "intent_first", log: "session", sessions: 2, signed: true, maxSegmentBytes: MANY_LINES },
  { policy: "best_effort", log: "session", sessions: 3, signed: false, maxSegmentBytes: FEW_LINES },
  { policy: "best_effort", log: "process", sessions: 1, signed: true, maxSegmentBytes: MANY_LINES },
];
const KILLS = scaled(60, 2_000);
/** So many writers die one after the other in a folder before one ends in order. */
const CHAIN = 10;

/** Some moment: while logs are opened and the dead are vouched for, or in the middle of its work. */
async function momentOf(writer: RunningWriter, { policy }: Variant): Promise<void> {
  const early = Math.random() < 0.3;
  if (early) await writer.heard("ready");
  else if (policy === "best_effort") await writer.heard("sealed", 1 + Math.floor(Math.random() * 4));
  else await writer.heard("claim", 1 + Math.floor(Math.random() ** 2 * 200));
  await after(Math.random() * (early ? 60 : 8));
}

let program: WriterProgram;
beforeAll(async () => {
  program = await writerProgram();
});
afterAll(() => program.remove());

describe.each(VARIANTS)(
  "killed under $policy, one log for each $log, signed: $signed, $maxSegmentBytes bytes a log",
  (variant) => {
    test(`${KILLS} times: no false claim, nothing lost, and never a word of damage`, {
      timeout: timeFor(KILLS),
    }, async () => {
      const keyFolder = stateFolder();
      const key = variant.signed ? initSigningKey(join(keyFolder, "key.pem"), "faults") : null;
      for (let kills = 0; kills < KILLS; ) {
        const root = stateFolder();
        const ledger = new Ledger(root);
        const orders: Omit<WriterOrders, "tag" | "steps"> = { ...variant, stateDir: root, key: key?.path ?? null };
        for (let link = 1; link <= CHAIN && kills < KILLS; link++, kills++) {
          const writer = new RunningWriter(program.path, { ...orders, tag: `k${link}`, steps: ["forever"] });
          await momentOf(writer, variant);
          expect(await writer.kill()).toMatchObject({ signal: "SIGKILL", stderr: "" });
          ledger.take(writer.orders, writer.said);
          const { report, ...wrong } = await ledger.afterFault();
          expect(wrong).toEqual(NOTHING_WRONG);
          expect(report.exitCode, JSON.stringify(report.findings)).not.toBe(1);
        }
        const steps: WriterOrders["steps"] = [{ calls: 3 }, "flush", "close"];
        const last = new RunningWriter(program.path, { ...orders, tag: "last", steps });
        expect(await last.ended).toEqual({ code: 0, signal: null, stderr: "" });
        ledger.take(last.orders, last.said);
        const { report, lost, ...wrong } = await ledger.atEnd(key?.verifierKey);
        expect({ ...wrong, lost }).toEqual({ ...NOTHING_WRONG, lost: [] });
        expect(report.exitCode, JSON.stringify(report.findings)).not.toBe(1);
        expect(ledger.claims).toBeGreaterThan(0);
        rmSync(root, { recursive: true });
      }
    });
  },
);
