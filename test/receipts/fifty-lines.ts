// A closed log of fifty lines under signed heads: what the laws of changed logs change.
import { join } from "node:path";
import { fileSigner } from "@toolspan/receipts";
import { expect } from "vitest";
import { headsOf } from "./mutations.ts";
import { linesOf, logsIn, recording } from "./parts.ts";
import { newKey } from "./signing.ts";

interface FiftyLines {
  readonly root: string;
  readonly receipts: string;
  readonly log: string;
  readonly heads: readonly string[];
  readonly trust: string;
}

/** With a head after each `every` receipts, and the last one. */
export async function fiftyLines(every = 7): Promise<FiftyLines> {
  const key = newKey();
  const recorded = recording({ signer: fileSigner(key.path), layers: "compact" });
  for (let i = 1; i <= 48; i++) {
    await recorded.call();
    if (i % every === 0) await recorded.dispatch.flush();
  }
  await recorded.close();
  const { root, receipts } = recorded;
  const [log = ""] = logsIn(receipts);
  expect(linesOf(join(receipts, log))).toHaveLength(50);
  return { root, receipts, log, heads: headsOf(receipts), trust: key.verifierKey };
}
