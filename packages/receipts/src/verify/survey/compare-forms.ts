/** Compares a log with its compressed form. */

import { createHash, type Hash } from "node:crypto";
import { statSync } from "node:fs";
import { DamagedGzip } from "../lines/gunzipped.ts";
import { readLines } from "../lines/read-lines.ts";

/** `broken`: the compressed one is no whole gzip file. */
export type Forms = "same" | "other" | "broken";

/** What cannot be read is told when it is verified. */
export async function compareForms(plain: string, compressed: string): Promise<Forms> {
  try {
    if (statSync(compressed).size === 0) return "broken";
    const held = await digestOf(compressed);
    return held === (await digestOf(plain)) ? "same" : "other";
  } catch (error) {
    return error instanceof DamagedGzip ? "broken" : "other";
  }
}

async function digestOf(path: string): Promise<string> {
  const hash: Hash = createHash("sha256");
  const tail = await readLines(path, (line) => hash.update(line.leaf()));
  return `${hash.digest("hex")} ${tail.bytes.toString("hex")}`;
}
