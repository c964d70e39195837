/** One log as `prune` sees it: how old, closed or not, what it vouches for, how much of it an endpoint has to have. */

import { join } from "node:path";
import { MerkleTree } from "../log/merkle.ts";
import { parseLine } from "../verify/lines/parse-line.ts";
import { linesOf } from "../verify/lines/read-lines.ts";

export interface PruneCandidate {
  readonly file: string;
  /** Null when its first line does not say it. */
  readonly log: string | null;
  readonly lines: number;
  /** RFC 6962 root over them, lower-case hex. */
  readonly root: string;
  /** Bytes of whole lines, as they were before the log was compressed. */
  readonly bytes: number;
  /** Leaf hash of its last line, lower-case hex; null without one. */
  readonly leaf: string | null;
  /** Time of its latest line, Unix milliseconds; NaN when a line does not say it. */
  readonly latest: number;
  readonly closed: boolean;
  /** True when it says which logs were removed, so that it has to stay. */
  readonly holdsPrunes: boolean;
  /** Logs of dead writers that only this one vouches for. */
  readonly recovers: readonly string[];
}

/** What a log's first line says. */
export interface Opening {
  readonly log: string | null;
  /** Unix milliseconds; NaN when it does not say it. */
  readonly at: number;
}

export async function openingOf(path: string): Promise<Opening> {
  for await (const line of linesOf(path)) {
    const { record } = parseLine(line, false);
    return { log: record?.chain.log ?? null, at: Date.parse(record?.emitted_at ?? "") };
  }
  return { log: null, at: Number.NaN };
}

/** Reads the whole log. */
export async function pruneCandidate(folder: string, file: string): Promise<PruneCandidate> {
  const tree = new MerkleTree();
  const recovers: string[] = [];
  let log: string | null = null;
  let leaf: string | null = null;
  let bytes = 0;
  let latest = Number.NEGATIVE_INFINITY;
  let closed = false;
  let holdsPrunes = false;
  for await (const line of linesOf(join(folder, file))) {
    const { record } = parseLine(line, false);
    if (tree.size === 0) log = record?.chain.log ?? null;
    leaf = line.leaf();
    tree.add(leaf);
    bytes += line.bytes.length + 1;
    latest = Math.max(latest, Date.parse(record?.emitted_at ?? ""));
    closed = record?.record === "segment_close";
    holdsPrunes ||= record?.record === "prune";
    if (record?.record === "recovery" && record.log !== null) recovers.push(record.log);
  }
  return { file, log, lines: tree.size, root: tree.root(), leaf, bytes, latest, closed, holdsPrunes, recovers };
}
