// Cuts the power of a disk under writers, again and again, and looks what came back with it.
import { join } from "node:path";
import { initSigningKey, type ReceiptPolicy } from "@toolspan/receipts";
import { Ext4Disk } from "./disks.ts";
import { type Checked, Ledger } from "./ledger.ts";
import { RunningWriter } from "./running-writer.ts";
import { stateFolder } from "./state-folder.ts";
import type { WriterOrders } from "./writer.ts";

export interface CutVariant {
  readonly policy: ReceiptPolicy;
  readonly log: "session" | "process";
  readonly sessions: number;
  readonly signed: boolean;
}

export interface CutOutcome extends Checked {
  readonly claims: number;
}

/** After so many cuts a writer ends in order, and a new disk is taken. */
const CHAIN = 5;

/** Gives what is found after each cut, and after the writer that ends each chain of them. */
export async function* cutPowerUnder(
  program: string,
  { policy, log, sessions, signed }: CutVariant,
  cuts: number,
  counted = true,
): AsyncGenerator<CutOutcome, void, void> {
  for (let done = 0; done < cuts; ) {
    const folder = stateFolder();
    const key = signed ? initSigningKey(join(folder, "key.pem"), "faults") : null;
    const disk = new Ext4Disk(folder);
    try {
      const stateDir = join(disk.path, "state");
      const orders: Omit<WriterOrders, "tag" | "steps"> = { stateDir, policy, log, sessions, key: key?.path ?? null };
      const ledger = new Ledger(stateDir, counted);
      for (let link = 1; link <= CHAIN && done < cuts; link++, done++) {
        const writer = new RunningWriter(program, { ...orders, tag: `p${link}`, steps: ["forever"] });
        if (policy === "best_effort") await writer.heard("sealed", 1 + Math.floor(Math.random() * 5));
        else await writer.heard("claim", 1 + Math.floor(Math.random() ** 2 * 150));
        // A power cut ends program and disk at one moment. Were the program to go on, ext4 could tell it of a success that is
        // none: a sync that is under way while the journal is shut down may return 0 for what was dropped with it.
        writer.child.kill("SIGSTOP");
        disk.cutPower();
        await writer.kill();
        ledger.take(writer.orders, writer.said);
        disk.restart();
        yield { ...(await ledger.afterFault()), claims: ledger.claims };
      }
      const last = new RunningWriter(program, { ...orders, tag: "last", steps: [{ calls: 3 }, "flush", "close"] });
      const { code, stderr } = await last.ended;
      if (code !== 0) throw new Error(`the writer after the cuts ended with ${code}: ${stderr}`);
      ledger.take(last.orders, last.said);
      yield { ...(await ledger.atEnd(key?.verifierKey)), claims: ledger.claims };
    } finally {
      disk.remove();
    }
  }
}
