/** All logs of a state folder as one spool: what of them an endpoint still has to take. */

import { closeSync, constants, existsSync, openSync, readdirSync, readSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { diagnostics } from "@toolspan/core";
import { headFiles } from "../log/head-files.ts";
import { sha256Hex } from "../log/merkle.ts";
import { syncFolder } from "../log/private-file.ts";
import { RECEIPTS_FOLDER } from "../log/receipt-folder.ts";
import { MAX_LINE_BYTES } from "../records/envelope.ts";
import { isObject, uuid } from "../records/field.ts";
import { type Fed, type Item, LogFeed, StuckLog } from "./log-feed.ts";
import { type Position, readPosition, START } from "./position.ts";

const SOURCE = "receipts.delivery";
const LINES = ".jsonl";
const NEWLINE = 0x0a;

interface Followed {
  readonly feed: LogFeed;
  readonly inode: number;
  /** Bytes of the log when the folder was last looked at; delivery goes no further before it is looked at again. */
  bytes: number;
  headBytes: number;
  /** True after trouble with this log, until the next look. */
  skipped: boolean;
  /** Sizes at which there was nothing more to read: a line without an end is none. */
  dry: string | null;
}

/** What waits for delivery. */
export interface Waiting {
  readonly logs: number;
  readonly lines: number;
  readonly heads: number;
  readonly bytes: number;
}

export class Spool {
  readonly #receipts: string;
  readonly #cursors: string;
  /** By file name. */
  #logs = new Map<string, Followed>();

  /**
   * @param root State root.
   * @param cursors The endpoint's folder.
   */
  constructor(root: string, cursors: string) {
    this.#receipts = join(root, RECEIPTS_FOLDER);
    this.#cursors = cursors;
  }

  /** Looks at the folder: which logs there are, and how long they are now. */
  look(): void {
    const found = new Map<string, Followed>();
    const files = existsSync(this.#receipts) ? readdirSync(this.#receipts).sort() : [];
    const claimed = new Set(files.flatMap((file) => this.#logs.get(file)?.feed.key ?? []));
    let fresh = false;
    for (const file of files) {
      if (!file.endsWith(LINES)) continue;
      const stats = statSync(join(this.#receipts, file), { throwIfNoEntry: false });
      if (stats === undefined) continue;
      const known = this.#logs.get(file);
      const followed = known?.inode === stats.ino ? known : this.#follow(file, stats, claimed);
      if (followed === null) continue;
      fresh ||= followed !== known;
      followed.bytes = stats.size;
      followed.headBytes = sizeOf(join(this.#receipts, headFiles(followed.feed.log).all));
      followed.skipped = false;
      claimed.add(followed.feed.key);
      found.set(file, followed);
    }
    // The name of a new log may not be durable yet; its lines are synced when they are read.
    if (fresh) syncFolder(this.#receipts);
    this.#logs = new Map([...found].sort(([, a], [, b]) => (a.feed.key < b.feed.key ? -1 : 1)));
  }

  /** Bytes that waited when the folder was last looked at, less what was delivered since. */
  get bytes(): number {
    let bytes = 0;
    for (const log of this.#logs.values()) if (hasMore(log)) bytes += Math.max(0, log.bytes - log.feed.position.offset);
    return bytes;
  }

  /** Looks again, and counts what waits. */
  waiting(): Waiting {
    this.look();
    const sum = { logs: 0, lines: 0, heads: 0, bytes: 0 };
    for (const { feed, bytes } of this.#logs.values()) {
      const { lines, heads } = feed.waiting();
      if (lines + heads === 0) continue;
      sum.logs++;
      sum.lines += lines;
      sum.heads += heads;
      sum.bytes += Math.max(0, bytes - feed.position.offset);
    }
    return sum;
  }

  /** The next items, oldest log first, at most `room` bytes of them, but one; none once all logs have been read as far as they went. */
  async next(room: number): Promise<readonly Item[]> {
    const items: Item[] = [];
    let left = room;
    for (const log of this.#logs.values()) {
      if (log.skipped || !hasMore(log)) continue;
      const fed = await this.#read(log, left, items.length === 0);
      if (fed === null) log.skipped = true;
      else if (fed.items.length === 0 && !fed.full) log.dry = sizesOf(log);
      for (const item of fed?.items ?? []) {
        items.push(item);
        left -= item.bytes;
      }
      if (fed?.full === true) break;
    }
    return items;
  }

  /** Null after trouble. */
  async #read(log: Followed, room: number, alone: boolean): Promise<Fed | null> {
    const { feed } = log;
    try {
      return await feed.next(room, log.bytes, alone, () => {
        const message = `${feed.file}: the cursor does not fit the log; it is delivered again from its first line`;
        diagnostics.report(SOURCE, "cursor_rebuilt", message);
      });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT") {
        const problem = error instanceof StuckLog ? error.message : String(code ?? error);
        diagnostics.report(SOURCE, "unreadable_log", `${feed.file}: it cannot be delivered any further: ${problem}`);
      }
      return null;
    }
  }

  /** Null for a log without a complete line. */
  #follow(file: string, stats: Stats, claimed: ReadonlySet<string>): Followed | null {
    const log = identityOf(join(this.#receipts, file));
    if (log === null) return null;
    const own = `file-${sha256Hex(Buffer.from(file)).slice(0, 32)}`;
    // Two files of one log contradict each other; each is delivered, under a cursor of its own.
    const key = log === "" || claimed.has(log) ? own : log;
    const position = this.#positionOf(key, file);
    const feed = new LogFeed(this.#receipts, file, { key, log: log === "" ? key : log }, position);
    return { feed, inode: stats.ino, bytes: 0, headBytes: 0, skipped: false, dry: null };
  }

  #positionOf(key: string, file: string): Position {
    const position = readPosition(this.#cursors, key);
    if (position !== null) return position;
    const message = `${file}: its cursor is damaged; the log is delivered again from its first line`;
    diagnostics.report(SOURCE, "cursor_rebuilt", message);
    return START;
  }
}

function hasMore(log: Followed): boolean {
  const { offset, heads } = log.feed.position;
  return (log.bytes !== offset || log.headBytes > heads.to) && log.dry !== sizesOf(log);
}

function sizesOf({ bytes, headBytes }: Followed): string {
  return `${bytes} ${headBytes}`;
}

/** The log that the first line of a file belongs to; empty where it does not say so, null where there is none yet. */
export function identityOf(path: string): string | null {
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  let fd: number | undefined;
  try {
    fd = openSync(path, flags);
    const bytes = Buffer.alloc(MAX_LINE_BYTES + 1);
    const read = readSync(fd, bytes, 0, bytes.length, 0);
    const end = bytes.subarray(0, read).indexOf(NEWLINE);
    if (end === -1) return read > MAX_LINE_BYTES ? "" : null;
    return logIn(bytes.subarray(0, end));
  } catch {
    return null; // what cannot be read is looked at again next time
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function logIn(line: Buffer): string {
  try {
    const { chain } = JSON.parse(line.toString("utf8")) as { readonly chain?: unknown };
    return isObject(chain) && uuid.accepts(chain.log) ? (chain.log as string) : "";
  } catch {
    return "";
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
