/** Which earlier logs of a session were left by writers that died, and are vouched for by nobody yet. */

import { closeSync, constants, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { MAX_LINE_BYTES } from "../records/envelope.ts";
import { MAX_RECOVERIES } from "../records/recovery.ts";
import { fileNameOf } from "./file-name.ts";
import { isLost } from "./open-logs.ts";
import { inspectOpening, isWordless, parseRecord } from "./predecessor.ts";
import { stateOf } from "./writer-identity.ts";

/** How many logs are looked at the first time; later only those that came since, and those that were alive. */
const MAX_LOOKED_AT = 256;
/** Holds the longest opening line and all recoveries after it. */
const FIRST_BYTES = 2 * MAX_LINE_BYTES;
const NEWLINE = 0x0a;

interface Watched {
  readonly through: number;
  /** Numbers of logs that may still be abandoned, or were and nobody vouches for them yet. */
  readonly open: readonly number[];
}

export class AbandonedLogs {
  readonly #folder: string;
  readonly #watched = new Map<string, Watched>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Abandoned logs of `stem` before the predecessor of log `number`, newest first, at most as many as one log may vouch for. */
  before(stem: string, number: number): readonly string[] {
    const last = number - 2;
    if (last < 1) return []; // and nothing has to be remembered of a session that has one log
    const { through, open } = this.#watched.get(stem) ?? { through: Math.max(0, last - MAX_LOOKED_AT), open: [] };
    const dead = new Map<number, string>();
    const alive: number[] = [];
    for (const candidate of [...downTo(last, through), ...open]) {
      const found = this.#stateOf(fileNameOf(stem, candidate));
      if (found === "alive") alive.push(candidate);
      else if (found !== null) dead.set(candidate, found.log);
    }
    const vouchedFor = dead.size === 0 ? new Set() : this.#vouchedFor(stem, Math.min(...dead.keys()), number);
    const left = [...dead].filter(([, log]) => !vouchedFor.has(log)).map(([candidate]) => candidate);
    this.#watched.set(stem, { through: Math.max(through, last), open: [...alive, ...left].sort((a, b) => b - a) });
    return left.slice(0, MAX_RECOVERIES).map((candidate) => fileNameOf(stem, candidate));
  }

  /** Null for a log that is closed under its head, or of which nobody can say whether its writer lives. */
  #stateOf(file: string): "alive" | { readonly log: string } | null {
    const opening = inspectOpening(this.#folder, file);
    if (opening === null) return isWordless(this.#folder, file) ? { log: nameOf(null, file) } : null;
    if (!opening.open) return null;
    if (isLost(opening.log)) return opening;
    const state = stateOf(opening.writer);
    if (state === "unknown") return null;
    return state === "running" ? "alive" : opening;
  }

  /** Logs that the logs of `stem` after number `after` and before number `before` vouch for. */
  #vouchedFor(stem: string, after: number, before: number): ReadonlySet<string> {
    const logs = new Set<string>();
    for (const number of downTo(before - 1, after)) {
      for (const log of recoveredIn(join(this.#folder, fileNameOf(stem, number)))) logs.add(log);
    }
    return logs;
  }
}

/** A log without a line is known by its file. */
function nameOf(log: string | null, file: string): string {
  return log ?? `file:${file}`;
}

function downTo(from: number, above: number): readonly number[] {
  return Array.from({ length: Math.max(0, from - above) }, (_, i) => from - i);
}

/** Logs that the first lines of a log vouch for; a line counts once the next one is there, as for the verifier. */
function recoveredIn(path: string): readonly string[] {
  const lines = firstLines(path);
  const logs: string[] = [];
  for (const line of lines.slice(1, -1)) {
    const record = parseRecord(line);
    if (record?.record !== "recovery") break;
    logs.push(nameOf(record.log, record.file));
  }
  return logs;
}

function firstLines(path: string): readonly Uint8Array[] {
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  let fd: number | undefined;
  try {
    fd = openSync(path, flags);
    const bytes = Buffer.alloc(FIRST_BYTES);
    const read = readSync(fd, bytes, 0, bytes.length, 0);
    const lines: Uint8Array[] = [];
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1 && end < read; end = bytes.indexOf(NEWLINE, start)) {
      lines.push(bytes.subarray(start, end));
      start = end + 1;
    }
    return lines;
  } catch {
    return []; // what cannot be read vouches for nothing
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
