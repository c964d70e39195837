/** Compares a log with its compressed form. */

import { createHash, type Hash } from "node:crypto";
import { readLines } from "../lines/read-lines.ts";

/** True when both files can be read to their end and hold the same bytes. */
export async function haveSameLines(one: string, other: string): Promise<boolean> {
  try {
    return (await digestOf(one)) === (await digestOf(other));
  } catch {
    return false; // what cannot be read is told when it is verified
  }
}

async function digestOf(path: string): Promise<string> {
  const hash: Hash = createHash("sha256");
  const tail = await readLines(path, (line) => hash.update(line.leaf()));
  return `${hash.digest("hex")} ${tail.bytes.toString("hex")}`;
}
