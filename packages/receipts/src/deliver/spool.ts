/** All logs of a state folder as one spool: what of them an endpoint still has to take. */

import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { diagnostics } from "@toolspan/core";
import { isCompressed, isLogName, plainName } from "../log/file-name.ts";
import { headFiles } from "../log/head-files.ts";
import { syncFolder } from "../log/private-file.ts";
import { RECEIPTS_FOLDER } from "../log/receipt-folder.ts";
import { FollowedLog } from "./followed-log.ts";
import { type Fed, type Item, LogFeed } from "./log-feed.ts";
import { identityOf, keyOf, logIn } from "./log-identity.ts";
import { type Position, readPosition, START } from "./position.ts";
import { firstZippedLine, unpackedPath, unzip, unzippedSize, zippedContent } from "./unzipped-log.ts";

const SOURCE = "receipts.delivery";

/** What waits for delivery. */
export interface Waiting {
  readonly logs: number;
  readonly lines: number;
  readonly heads: number;
  readonly bytes: number;
  /** Logs that cannot be read, so that nobody knows what of them waits. */
  readonly unreadable: number;
}

export class Spool {
  readonly #receipts: string;
  readonly #cursors: string;
  /** By file name. */
  #logs = new Map<string, FollowedLog>();
  /** Names of logs that cannot be read. */
  readonly #unreadable: Set<string>;
  /** Those of them that were handed in. */
  readonly #stopped: ReadonlySet<string>;

  /**
   * @param root State root.
   * @param cursors The endpoint's folder.
   * @param unreadable Logs that somebody was stopped at before, by file name.
   */
  constructor(root: string, cursors: string, unreadable: ReadonlySet<string> = new Set()) {
    this.#receipts = join(root, RECEIPTS_FOLDER);
    this.#cursors = cursors;
    this.#stopped = new Set(unreadable);
    this.#unreadable = new Set(unreadable);
  }

  /** Logs that cannot be read any further, by file name; each is one until it was read again, or is gone. */
  get unreadable(): ReadonlySet<string> {
    return this.#unreadable;
  }

  /** Looks at the folder: which logs there are, and how long they are now. Compressed ones are left to `lookAtZipped`. */
  look(): void {
    const found = new Map<string, FollowedLog>();
    const files = this.#files();
    const claimed = new Set(files.flatMap((file) => this.#logs.get(file)?.feed.key ?? []));
    for (const file of this.#unreadable) if (!files.includes(file)) this.#unreadable.delete(file);
    let fresh = false;
    for (const file of files) {
      const stats = statSync(join(this.#receipts, file), { throwIfNoEntry: false });
      if (stats === undefined) continue;
      const known = this.#logs.get(file);
      const same = known?.inode === stats.ino ? known : null;
      const followed = same ?? (isCompressed(file) ? null : this.#follow(file, stats.ino, claimed));
      if (followed === null) continue;
      fresh ||= followed !== known;
      if (followed.unpacked === null) followed.bytes = stats.size;
      followed.headBytes = this.#headBytes(followed.feed);
      followed.skipped = followed.damagedAt === stats.size;
      claimed.add(followed.feed.key);
      found.set(file, followed);
    }
    // The name of a new log may not be durable yet; its lines are synced when they are read.
    if (fresh) syncFolder(this.#receipts);
    this.#logs = new Map([...found].sort(([, a], [, b]) => (a.feed.key < b.feed.key ? -1 : 1)));
  }

  /** Compressed logs that are new here. Of one that is compressed while it lies there the plain one counts. */
  async lookAtZipped(): Promise<void> {
    const files = this.#files();
    const claimed = new Set([...this.#logs.values()].map(({ feed }) => feed.key));
    for (const file of files) {
      if (!isCompressed(file) || this.#logs.has(file) || files.includes(plainName(file))) continue;
      try {
        await this.#followZipped(file, claimed);
      } catch (error) {
        this.#tellUnreadable(file, error);
      }
    }
  }

  async #followZipped(file: string, claimed: Set<string>): Promise<void> {
    const path = join(this.#receipts, file);
    const { ino } = statSync(path);
    const line = await firstZippedLine(path);
    if (line === null) return;
    const identity = keyOf(logIn(line), file, claimed);
    const unpacked = unpackedPath(this.#cursors, identity.key);
    const feed = new LogFeed(this.#receipts, file, identity, this.#positionOf(identity.key, file), unpacked);
    const followed = new FollowedLog(feed, ino, unpacked);
    followed.bytes = unzippedSize(path);
    followed.headBytes = this.#headBytes(feed);
    claimed.add(identity.key);
    this.#logs.set(file, followed);
    if (!this.#stopped.has(file)) this.#unreadable.delete(file);
  }

  /** Bytes that waited when the folder was last looked at, less what was delivered since. */
  get bytes(): number {
    let bytes = 0;
    for (const [file, log] of this.#logs) if (log.hasMore && !this.#unreadable.has(file)) bytes += log.waitingBytes;
    return bytes;
  }

  /** Looks again, and counts what waits. */
  async waiting(): Promise<Waiting> {
    this.look();
    await this.lookAtZipped();
    const sum = { logs: 0, lines: 0, heads: 0, bytes: 0 };
    for (const log of this.#logs.values()) {
      const { feed } = log;
      const lines = log.unpacked === null ? feed.waitingLines() : await this.#waitingZipped(log);
      const heads = feed.waitingHeads();
      if (lines + heads === 0) continue;
      sum.logs++;
      sum.lines += lines;
      sum.heads += heads;
      sum.bytes += log.waitingBytes;
    }
    return { ...sum, unreadable: this.#unreadable.size };
  }

  /** Of one that is damaged nothing is counted: what its end says of its length means nothing. */
  async #waitingZipped(log: FollowedLog): Promise<number> {
    const { file, position } = log.feed;
    if (position.offset === log.bytes) return 0;
    if (this.#stopped.has(file)) {
      log.bytes = position.offset;
      return 0;
    }
    try {
      const { lines, bytes } = await zippedContent(join(this.#receipts, file));
      log.bytes = bytes;
      return Math.max(0, lines - position.lines);
    } catch (error) {
      log.bytes = position.offset;
      this.#tellUnreadable(file, error);
      return 0;
    }
  }

  /** The next items, oldest log first, at most `room` bytes of them, but one; none once all logs have been read as far as they went. */
  async next(room: number): Promise<readonly Item[]> {
    const items: Item[] = [];
    let left = room;
    for (const log of this.#logs.values()) {
      if (!log.hasMore) log.discard();
      if (log.skipped || !log.hasMore) continue;
      const fed = await this.#read(log, left, items.length === 0);
      if (fed === null) log.skipped = true;
      else if (fed.items.length === 0 && !fed.full) log.runDry();
      for (const item of fed?.items ?? []) {
        items.push(item);
        left -= item.bytes;
      }
      if (fed?.full === true) break;
    }
    return items;
  }

  /** Null after trouble. */
  async #read(log: FollowedLog, room: number, alone: boolean): Promise<Fed | null> {
    const { feed, unpacked } = log;
    try {
      if (unpacked !== null && !log.isUnpacked) log.bytes = await unzip(join(this.#receipts, feed.file), unpacked);
      log.isUnpacked = true;
      const fed = await feed.next(room, log.bytes, alone, () => {
        const message = `${feed.file}: the cursor does not fit the log; it is delivered again from its first line`;
        diagnostics.report(SOURCE, "cursor_rebuilt", message);
      });
      this.#unreadable.delete(feed.file);
      return fed;
    } catch (error) {
      // What cannot be unpacked is not unpacked again before it has changed: that takes time and room.
      if (!log.isUnpacked && unpacked !== null) {
        log.damagedAt = statSync(join(this.#receipts, feed.file), { throwIfNoEntry: false })?.size ?? null;
      }
      this.#tellUnreadable(feed.file, error);
      return null;
    }
  }

  /** Null for a log without a complete line, or one that cannot be read. */
  #follow(file: string, inode: number, claimed: ReadonlySet<string>): FollowedLog | null {
    try {
      const log = identityOf(join(this.#receipts, file));
      if (log === null) return null;
      if (!this.#stopped.has(file)) this.#unreadable.delete(file);
      const identity = keyOf(log, file, claimed);
      const feed = new LogFeed(this.#receipts, file, identity, this.#positionOf(identity.key, file));
      return new FollowedLog(feed, inode);
    } catch (error) {
      this.#tellUnreadable(file, error);
      return null;
    }
  }

  #tellUnreadable(file: string, error: unknown): void {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return; // it was removed meanwhile
    this.#unreadable.add(file);
    const problem = code ?? (error instanceof Error ? error.message : "an error");
    diagnostics.report(SOURCE, "unreadable_log", `${file}: it cannot be delivered any further: ${problem}`);
  }

  #files(): readonly string[] {
    return existsSync(this.#receipts) ? readdirSync(this.#receipts).filter(isLogName).sort() : [];
  }

  #headBytes({ log }: LogFeed): number {
    return statSync(join(this.#receipts, headFiles(log).all), { throwIfNoEntry: false })?.size ?? 0;
  }

  #positionOf(key: string, file: string): Position {
    const position = readPosition(this.#cursors, key);
    if (position !== null) return position;
    const message = `${file}: its cursor is damaged; the log is delivered again from its first line`;
    diagnostics.report(SOURCE, "cursor_rebuilt", message);
    return START;
  }
}
