/** `pruneReceipts`: removes whole logs that are past their time and delivered, and says so in the log before it does. */

import { existsSync, readdirSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { kindOf } from "@toolspan/core";
import { signerOf } from "../keys/signer-of.ts";
import { isLogName } from "../log/file-name.ts";
import { headFiles } from "../log/head-files.ts";
import { LocalOutlet } from "../log/local-outlet.ts";
import { syncFolder } from "../log/private-file.ts";
import { RECEIPTS_FOLDER } from "../log/receipt-folder.ts";
import { DEFAULT_LIMITS } from "../log/segment-limits.ts";
import { stateRoot } from "../log/state-root.ts";
import { invalidOption, stateDirOf } from "../options.ts";
import { verifyLog } from "../verify/verify-log.ts";
import { Acknowledged } from "./acknowledged.ts";
import { endpointId, endpointUrl } from "./delivery-endpoint.ts";
import { deliveryFolder, knownEndpoints } from "./delivery-folder.ts";
import { removePosition } from "./position.ts";
import { type Opening, openingOf, type PruneCandidate, pruneCandidate } from "./prune-candidate.ts";
import { retentionMs } from "./retention.ts";

export interface PruneOptions {
  /** How old a log's latest line has to be, such as `"180d"` (ms, s, m, h, d): for how long receipts are kept. Default `TOOLSPAN_RETENTION`, and never less than that. */
  readonly olderThan?: string;
  /** State root; default `TOOLSPAN_STATE_DIR`, else `.toolspan` under the project root. */
  readonly stateDir?: string;
  /** Addresses of endpoints that have to have everything, beside those that something was delivered to from here. */
  readonly endpoints?: readonly string[];
  /** Says what would be removed, and removes nothing. Default false. */
  readonly dryRun?: boolean;
}

/** Why a log stays. */
export type KeptReason =
  | "not_expired"
  | "not_closed"
  | "not_verified"
  | "not_delivered"
  | "dead_letters"
  | "vouches_for_another"
  | "says_what_was_pruned";

export interface PrunedLog {
  readonly file: string;
  readonly log: string;
  readonly lines: number;
  /** RFC 6962 root over them, lower-case hex. */
  readonly root: string;
}

export interface PruneReport {
  readonly pruned: readonly PrunedLog[];
  readonly kept: readonly { readonly file: string; readonly reason: KeptReason; readonly endpoint: string | null }[];
  /** The log that says it; null when nothing was removed. */
  readonly said: string | null;
}

type Kept = PruneReport["kept"][number];
type Doomed = PruneCandidate & PrunedLog;

const SUBJECT = "pruneReceipts";
const UNREADABLE: Opening = { log: null, at: Number.NaN };

/**
 * Removes logs of a state folder whose time is over.
 *
 * Whole logs only, which are closed, or whose dead writer a later log vouches for; which check out with their heads; whose latest line is older than `olderThan`; which every endpoint that was ever delivered to from here, or is named, has accepted to the last head. Their heads stay, and a line `prune { file, log, lines, root }` is durable before the first file goes, so that the verifier answers `PRUNED`. A log that holds such lines is never removed, nor one that alone vouches for another that stays.
 * Interrupted, it is finished by calling it again; then a line may stand twice.
 *
 * @throws TOOLSPAN_INVALID_OPTION for a bad option; TOOLSPAN_RECEIPT_STORE or the system's error when the lines cannot be written or a file not be removed.
 */
export async function pruneReceipts(options: PruneOptions = {}): Promise<PruneReport> {
  const { dryRun = false } = options;
  const before = Date.now() - retentionMs(SUBJECT, options.olderThan);
  const root = stateRoot(stateDirOf(SUBJECT, options.stateDir));
  const endpoints = await endpointsOf(root, options.endpoints);
  const folder = join(root, RECEIPTS_FOLDER);
  const files = existsSync(folder) ? readdirSync(folder).filter(isLogName).sort() : [];
  const doomed: Doomed[] = [];
  const kept: Kept[] = [];
  const stays = new Set<string>();
  for (const file of files) {
    const opening = await openingOf(join(folder, file)).catch(() => UNREADABLE);
    const judged = await judge(folder, file, opening, before, endpoints);
    if ("reason" in judged) {
      kept.push(judged);
      if (opening.log !== null) stays.add(opening.log);
    } else doomed.push(judged);
  }
  const spared = sparedOf(doomed, stays);
  for (const { file } of spared) kept.push({ file, reason: "vouches_for_another", endpoint: null });
  const gone = doomed.filter((one) => !spared.has(one));
  const pruned = gone.map(({ file, log, lines, root: over }) => ({ file, log, lines, root: over }));
  if (dryRun || pruned.length === 0) return { pruned, kept, said: null };
  const said = await say(root, pruned);
  for (const { file } of pruned) unlinkSync(join(folder, file));
  syncFolder(folder);
  for (const id of endpoints.keys()) {
    if (!existsSync(deliveryFolder(root, id))) continue;
    for (const { log } of pruned) removePosition(deliveryFolder(root, id), log);
  }
  return { pruned, kept, said };
}

async function endpointsOf(
  root: string,
  named: readonly string[] | undefined,
): Promise<ReadonlyMap<string, Acknowledged>> {
  if (named !== undefined && !Array.isArray(named)) {
    throw invalidOption(SUBJECT, "endpoints", "a list of addresses", kindOf(named));
  }
  const ids = new Set([
    ...knownEndpoints(root).map(({ id }) => id),
    ...(named ?? []).map((url) => endpointId(endpointUrl(SUBJECT, url))),
  ]);
  const endpoints = new Map<string, Acknowledged>();
  for (const id of ids) endpoints.set(id, await Acknowledged.by(root, id));
  return endpoints;
}

/** The log, if it may go. */
async function judge(
  folder: string,
  file: string,
  opening: Opening,
  before: number,
  endpoints: ReadonlyMap<string, Acknowledged>,
): Promise<Doomed | Kept> {
  const keep = (reason: KeptReason, endpoint: string | null = null): Kept => ({ file, reason, endpoint });
  const path = join(folder, file);
  try {
    // The young ones, which are most, are told by their first line.
    if (opening.at >= before) return keep("not_expired");
    const candidate = await pruneCandidate(folder, file);
    const { log, latest } = candidate;
    if (latest >= before) return keep("not_expired");
    const report = await verifyLog(path);
    const recovered = report.notes.some(({ verdict }) => verdict === "RECOVERED");
    if (!candidate.closed && !recovered) return keep("not_closed");
    // A time that no line says, or a future one, is no reason to remove anything.
    if (report.exitCode !== 0 || log === null || !(latest < before)) return keep("not_verified");
    if (candidate.holdsPrunes) return keep("says_what_was_pruned");
    for (const [id, endpoint] of endpoints) {
      const acknowledged = endpoint.has({ ...candidate, log, heads: join(folder, headFiles(log).all) });
      if (acknowledged !== true) return keep(acknowledged === null ? "dead_letters" : "not_delivered", id);
    }
    return { ...candidate, log };
  } catch {
    return keep("not_verified"); // what cannot be read is not removed
  }
}

/** Those that vouch for a log that stays: without them nobody could say that it is whole. */
function sparedOf(doomed: readonly Doomed[], kept: ReadonlySet<string>): ReadonlySet<Doomed> {
  const spared = new Set<Doomed>();
  const stays = new Set(kept);
  for (let grown = true; grown; ) {
    grown = false;
    for (const one of doomed) {
      if (spared.has(one) || !one.recovers.some((log) => stays.has(log))) continue;
      spared.add(one);
      stays.add(one.log);
      grown = true;
    }
  }
  return spared;
}

/** Writes the lines; resolves to the file that holds them, once they are durable and under a head. */
async function say(root: string, pruned: readonly PrunedLog[]): Promise<string> {
  const outlet = new LocalOutlet({
    stateDir: root,
    scope: "process",
    addresses: "absolute",
    layers: "compact",
    limits: DEFAULT_LIMITS,
    signer: signerOf(undefined),
  });
  try {
    return await outlet.prunes(pruned);
  } finally {
    await outlet.close();
  }
}
