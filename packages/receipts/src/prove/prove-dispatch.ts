/** `proveDispatch`: takes one receipt out of a log, with all that shows that it stands there. */

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { isLogName } from "../log/file-name.ts";
import { headFiles } from "../log/head-files.ts";
import { inclusionProof, MerkleTree } from "../log/merkle.ts";
import { RECEIPTS_FOLDER } from "../log/receipt-folder.ts";
import { stateRoot } from "../log/state-root.ts";
import { findOpenings } from "../openings/find-openings.ts";
import type { LoggedReceipt } from "../records/record.ts";
import { type Head, HeadReader } from "../verify/heads/head-reader.ts";
import { parseLine } from "../verify/lines/parse-line.ts";
import { readLines } from "../verify/lines/read-lines.ts";
import { type ReceiptProof, tlogProofText } from "./receipt-proof.ts";

export type MadeProof =
  | { readonly made: ReceiptProof; readonly file: string; readonly line: number; readonly signed: boolean }
  | {
      readonly made: null;
      /** `not_found`: no such receipt; `no_head`: no head covers it yet; `damaged`: its log and its head disagree. */
      readonly reason: "not_found" | "no_head" | "damaged";
    };

export interface ProveDispatchOptions {
  /** Also discloses what opens the receipt's commitments, as far as it is kept; default false. */
  readonly openings?: boolean;
}

interface Found {
  readonly file: string;
  readonly log: string;
  readonly index: number;
  readonly line: string;
  readonly receipt: LoggedReceipt;
}

/**
 * Proves that the receipt of a dispatch stands in its log: at most log2(lines) hashes and the latest head.
 *
 * Reads the logs until the receipt is found, and that log once more. The rest of the log does not show.
 *
 * @param dir State root, or a folder of logs; default as for the logs.
 */
export async function proveDispatch(
  dispatchId: string,
  dir?: string,
  { openings: disclose = false }: ProveDispatchOptions = {},
): Promise<MadeProof> {
  const top = stateRoot(dir);
  const folder = folderOf(top);
  const found = await find(folder, dispatchId);
  if (found === null) return { made: null, reason: "not_found" };
  const head = latestHead(folder, found.log);
  if (head === null || head.head.size <= found.index) return { made: null, reason: "no_head" };
  const { size, root } = head.head;
  const leaves = await leavesOf(join(folder, found.file), size);
  const leafAt = (place: number): string => leaves.toString("hex", place * 32, place * 32 + 32);
  if (leaves.length < size * 32 || rootOf(size, leafAt) !== root) return { made: null, reason: "damaged" };
  const hashes = inclusionProof(found.index, size, leafAt);
  const text = Buffer.from(head.text, "latin1").toString("utf8");
  const openings = disclose ? await findOpenings(top, found.receipt) : [];
  const made = { line: found.line, openings, proof: tlogProofText({ index: found.index, hashes, head: text }) };
  return { made, file: found.file, line: found.index + 1, signed: head.head.keyName !== null };
}

function folderOf(path: string): string {
  const inside = join(path, RECEIPTS_FOLDER);
  return existsSync(inside) ? inside : path;
}

async function find(folder: string, dispatchId: string): Promise<Found | null> {
  const needle = Buffer.from(JSON.stringify(dispatchId));
  let found: Found | null = null;
  for (const file of readdirSync(folder).sort()) {
    if (found !== null) break;
    if (!isLogName(file)) continue;
    await readLines(join(folder, file), (line, number) => {
      if (found !== null || !line.bytes.includes(needle)) return;
      const { record, problem } = parseLine(line, false);
      if (problem !== null || record?.record !== "receipt" || record.dispatch_id !== dispatchId) return;
      const { log, seq } = record.chain;
      if (seq === number - 1) found = { file, log, index: seq, line: line.bytes.toString("utf8"), receipt: record };
    });
  }
  return found;
}

/** The latest head, or the last whole entry of the file of all heads where that is not there. */
function latestHead(folder: string, log: string): Head | null {
  const { latest, all } = headFiles(log);
  return lastIn(join(folder, latest), log) ?? lastIn(join(folder, all), log);
}

function lastIn(path: string, log: string): Head | null {
  if (!existsSync(path)) return null;
  const reader = new HeadReader(path, log);
  try {
    let last: Head | null = null;
    for (let entry = reader.next(); entry !== null; entry = reader.next()) if (entry.kind === "head") last = entry;
    return last;
  } finally {
    reader.close();
  }
}

async function leavesOf(path: string, size: number): Promise<Buffer> {
  const leaves = Buffer.alloc(size * 32);
  let count = 0;
  await readLines(path, (line, number) => {
    if (number > size) return;
    leaves.write(line.leaf(), (number - 1) * 32, "hex");
    count = number;
  });
  return leaves.subarray(0, count * 32);
}

function rootOf(size: number, leafAt: (place: number) => string): string {
  const tree = new MerkleTree();
  for (let place = 0; place < size; place++) tree.add(leafAt(place));
  return tree.root();
}
