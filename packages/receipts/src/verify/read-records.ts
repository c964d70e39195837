/** `readRecords`: the lines of logs as records, each with the word whether its neighbours vouch for it. */

import { readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { parseCheckpoint } from "../log/checkpoint.ts";
import { isCompressed, isLogName, plainName } from "../log/file-name.ts";
import { headFiles } from "../log/head-files.ts";
import { MerkleTree } from "../log/merkle.ts";
import { readSmallFile } from "../log/read-small-file.ts";
import { RECEIPTS_FOLDER } from "../log/receipt-folder.ts";
import type { LogRecord } from "../records/record.ts";
import { DamagedGzip } from "./lines/gunzipped.ts";
import { parseLine } from "./lines/parse-line.ts";
import { linesOf } from "./lines/read-lines.ts";
import { linkTarget } from "./survey/scope.ts";
import { surveyLogs } from "./survey/survey.ts";

const MAX_HEAD_BYTES = 65_536;

/** One line of a log. */
export type ReadRecord =
  | {
      readonly file: string;
      /** 1-based. */
      readonly line: number;
      readonly record: LogRecord;
      /** True when the next line names this one as its predecessor, or the latest head covers it and has the right root. */
      readonly confirmed: boolean;
    }
  | { readonly file: string; readonly line: number; readonly record: null; readonly problem: string };

/**
 * Reads a log, or all logs of a folder in the order in which they were opened, from the very bytes it checks.
 *
 * For showing, not for judging: `verifyLog` judges. A line that is not a record of its log comes with `record: null` and what is wrong with it. Reads as far as it is asked; memory does not grow with the log.
 *
 * @param path A log, a state root, or a folder of logs.
 * @throws What the system throws for a file that cannot be read.
 */
export async function* readRecords(path: string): AsyncGenerator<ReadRecord, void, void> {
  const { folder, files } = logsAt(path);
  const { logs } = await surveyLogs(folder, files, (name) => name);
  for (const { file, log } of logs) yield* recordsOf(folder, file, log);
}

function logsAt(path: string): { readonly folder: string; readonly files: readonly string[] } {
  if (!statSync(path).isDirectory()) {
    const target = linkTarget(path);
    return { folder: dirname(target), files: [basename(target)] };
  }
  const inside = join(path, RECEIPTS_FOLDER);
  const folder = statSync(inside, { throwIfNoEntry: false })?.isDirectory() === true ? inside : path;
  const files = readdirSync(folder).filter(isLogName);
  // Of a log that stands there in both forms, the plain one holds everything.
  return { folder, files: files.filter((file) => !isCompressed(file) || !files.includes(plainName(file))) };
}

/** What a damaged compressed log holds before the damage is given, and then that it is damaged. */
async function* recordsOf(folder: string, file: string, log: string | null): AsyncGenerator<ReadRecord, void, void> {
  let line = 0;
  try {
    for await (const read of wholeRecordsOf(folder, file, log)) {
      line = read.line;
      yield read;
    }
  } catch (error) {
    if (!(error instanceof DamagedGzip)) throw error;
    yield { file, line: line + 1, record: null, problem: "its compression is damaged from here on" };
  }
}

async function* wholeRecordsOf(
  folder: string,
  file: string,
  log: string | null,
): AsyncGenerator<ReadRecord, void, void> {
  const tree = new MerkleTree();
  let held: { readonly read: ReadRecord; readonly leaf: string } | null = null;
  let number = 0;
  for await (const line of linesOf(join(folder, file))) {
    const { record, chain, problem } = parseLine(line, false);
    const leaf = line.leaf();
    if (held !== null) yield confirm(held.read, chain?.prev === held.leaf);
    tree.add(leaf);
    number++;
    const misplaced = chain !== null && (chain.log !== log || chain.seq !== number - 1);
    const fault = problem?.message ?? (misplaced ? "it does not belong in this place" : null);
    const read: ReadRecord =
      record === null || fault !== null
        ? { file, line: number, record: null, problem: fault ?? "it is no record" }
        : { file, line: number, record, confirmed: false };
    held = { read, leaf };
  }
  if (held !== null) yield confirm(held.read, log !== null && isUnderHead(folder, log, tree));
}

function confirm(read: ReadRecord, confirmed: boolean): ReadRecord {
  return read.record === null ? read : { ...read, confirmed };
}

function isUnderHead(folder: string, log: string, tree: MerkleTree): boolean {
  try {
    const { bytes } = readSmallFile(join(folder, headFiles(log).latest), MAX_HEAD_BYTES);
    const [origin = "", size = "", root = ""] = bytes.toString("utf8").split("\n");
    const head = parseCheckpoint(origin, size, root);
    return head?.log === log && head.size === tree.size && head.root === tree.root();
  } catch {
    return false; // no head that could be read
  }
}
