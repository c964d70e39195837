/** All logs of a state folder as one spool: what of them an endpoint still has to take. */

import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  type Stats,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { diagnostics } from "@toolspan/core";
import { isCompressed, isLogName, plainName } from "../log/file-name.ts";
import { headFiles } from "../log/head-files.ts";
import { sha256Hex } from "../log/merkle.ts";
import { syncFolder } from "../log/private-file.ts";
import { RECEIPTS_FOLDER } from "../log/receipt-folder.ts";
import { MAX_LINE_BYTES } from "../records/envelope.ts";
import { isObject, uuid } from "../records/field.ts";
import { linesOf } from "../verify/read-lines.ts";
import { type Fed, type Item, LogFeed, StuckLog } from "./log-feed.ts";
import { type Position, readPosition, START } from "./position.ts";
import { unpackedPath, unzip, unzippedSize } from "./unzipped-log.ts";

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
  /** Set for a compressed log: where it is unpacked while it is read. */
  readonly unpacked: string | null;
  isUnpacked: boolean;
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

  /** Looks at the folder: which logs there are, and how long they are now. Compressed ones are left to `lookAtZipped`. */
  look(): void {
    const found = new Map<string, Followed>();
    const files = existsSync(this.#receipts) ? readdirSync(this.#receipts).sort() : [];
    const claimed = new Set(files.flatMap((file) => this.#logs.get(file)?.feed.key ?? []));
    let fresh = false;
    for (const file of files) {
      if (isCompressed(file)) this.#keep(file, found);
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

  /** A compressed log that is known already, unless it was replaced. */
  #keep(file: string, found: Map<string, Followed>): void {
    const known = this.#logs.get(file);
    const stats = statSync(join(this.#receipts, file), { throwIfNoEntry: false });
    if (known === undefined || known.inode !== stats?.ino) return;
    known.headBytes = sizeOf(join(this.#receipts, headFiles(known.feed.log).all));
    known.skipped = false;
    found.set(file, known);
  }

  /** Compressed logs that are new here. Of one that is compressed while it lies there the plain one counts. */
  async lookAtZipped(): Promise<void> {
    const files = existsSync(this.#receipts) ? readdirSync(this.#receipts).sort() : [];
    const claimed = new Set([...this.#logs.values()].map(({ feed }) => feed.key));
    for (const file of files) {
      if (!isCompressed(file) || !isLogName(file) || this.#logs.has(file) || files.includes(plainName(file))) continue;
      try {
        const followed = await this.#followZipped(file, claimed);
        if (followed === null) continue;
        claimed.add(followed.feed.key);
        this.#logs.set(file, followed);
      } catch (error) {
        tellUnreadable(file, error);
      }
    }
  }

  async #followZipped(file: string, claimed: ReadonlySet<string>): Promise<Followed | null> {
    const path = join(this.#receipts, file);
    const { ino } = statSync(path);
    for await (const { bytes } of linesOf(path)) {
      const identity = keyOf(logIn(bytes), file, claimed);
      const unpacked = unpackedPath(this.#cursors, identity.key);
      const feed = new LogFeed(this.#receipts, file, identity, this.#positionOf(identity.key, file), unpacked);
      const headBytes = sizeOf(join(this.#receipts, headFiles(feed.log).all));
      return {
        feed,
        inode: ino,
        bytes: unzippedSize(path),
        headBytes,
        skipped: false,
        dry: null,
        unpacked,
        isUnpacked: false,
      };
    }
    return null;
  }

  /** Bytes that waited when the folder was last looked at, less what was delivered since. */
  get bytes(): number {
    let bytes = 0;
    for (const log of this.#logs.values()) if (hasMore(log)) bytes += Math.max(0, log.bytes - log.feed.position.offset);
    return bytes;
  }

  /** Looks again, and counts what waits. */
  async waiting(): Promise<Waiting> {
    this.look();
    await this.lookAtZipped();
    const sum = { logs: 0, lines: 0, heads: 0, bytes: 0 };
    for (const { feed, bytes, unpacked } of this.#logs.values()) {
      const lines = unpacked === null ? feed.waitingLines() : await this.#waitingZipped(feed, bytes);
      const heads = feed.waitingHeads();
      if (lines + heads === 0) continue;
      sum.logs++;
      sum.lines += lines;
      sum.heads += heads;
      sum.bytes += Math.max(0, bytes - feed.position.offset);
    }
    return sum;
  }

  async #waitingZipped({ file, position }: LogFeed, bytes: number): Promise<number> {
    if (position.offset === bytes) return 0;
    let lines = 0;
    for await (const _ of linesOf(join(this.#receipts, file))) lines++;
    return Math.max(0, lines - position.lines);
  }

  /** The next items, oldest log first, at most `room` bytes of them, but one; none once all logs have been read as far as they went. */
  async next(room: number): Promise<readonly Item[]> {
    const items: Item[] = [];
    let left = room;
    for (const log of this.#logs.values()) {
      if (!hasMore(log)) discard(log);
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
    const { feed, unpacked } = log;
    try {
      if (unpacked !== null && !log.isUnpacked) await unzip(join(this.#receipts, feed.file), unpacked);
      log.isUnpacked = true;
      return await feed.next(room, log.bytes, alone, () => {
        const message = `${feed.file}: the cursor does not fit the log; it is delivered again from its first line`;
        diagnostics.report(SOURCE, "cursor_rebuilt", message);
      });
    } catch (error) {
      tellUnreadable(feed.file, error);
      return null;
    }
  }

  /** Null for a log without a complete line. */
  #follow(file: string, stats: Stats, claimed: ReadonlySet<string>): Followed | null {
    const log = identityOf(join(this.#receipts, file));
    if (log === null) return null;
    const identity = keyOf(log, file, claimed);
    const feed = new LogFeed(this.#receipts, file, identity, this.#positionOf(identity.key, file));
    return {
      feed,
      inode: stats.ino,
      bytes: 0,
      headBytes: 0,
      skipped: false,
      dry: null,
      unpacked: null,
      isUnpacked: false,
    };
  }

  #positionOf(key: string, file: string): Position {
    const position = readPosition(this.#cursors, key);
    if (position !== null) return position;
    const message = `${file}: its cursor is damaged; the log is delivered again from its first line`;
    diagnostics.report(SOURCE, "cursor_rebuilt", message);
    return START;
  }
}

/** Two files of one log contradict each other; each is delivered, under a cursor of its own. */
function keyOf(
  log: string,
  file: string,
  claimed: ReadonlySet<string>,
): { readonly key: string; readonly log: string } {
  const key = log === "" || claimed.has(log) ? `file-${sha256Hex(Buffer.from(file)).slice(0, 32)}` : log;
  return { key, log: log === "" ? key : log };
}

/** A compressed log that was delivered needs its unpacked copy no more. */
function discard(log: Followed): void {
  if (log.unpacked === null || !log.isUnpacked) return;
  log.isUnpacked = false;
  rmSync(log.unpacked, { force: true });
}

function tellUnreadable(file: string, error: unknown): void {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return; // it was removed meanwhile
  const problem = error instanceof StuckLog ? error.message : String(code ?? error);
  diagnostics.report(SOURCE, "unreadable_log", `${file}: it cannot be delivered any further: ${problem}`);
}

function hasMore(log: Followed): boolean {
  const { offset, heads } = log.feed.position;
  return (log.bytes !== offset || log.headBytes > heads.to) && log.dry !== sizesOf(log);
}

function sizesOf({ bytes, headBytes }: Followed): string {
  return `${bytes} ${headBytes}`;
}

/** The log that the first line of a file belongs to; empty where it does not say so, null where there is none yet. */
function identityOf(path: string): string | null {
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
