/** One log on its way to an endpoint: durable lines and heads behind the cursor, in order. */

import { closeSync, constants, fdatasync, fstatSync, openSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { headFiles } from "../log/head-files.ts";
import { leafHash } from "../log/merkle.ts";
import { MAX_LINE_BYTES } from "../records/envelope.ts";
import { type FedHead, headsAfter, isHeadPositionOf } from "./head-feed.ts";
import { countLines, readAt, seqIn } from "./log-tail.ts";
import { headRecord, lineRecord } from "./otlp-log-record.ts";
import { type Position, START } from "./position.ts";

const fdatasyncAsync = promisify(fdatasync);
const NEWLINE = 0x0a;

/** One line or head that is to be delivered. */
export interface Item {
  readonly kind: "line" | "head";
  readonly feed: LogFeed;
  /** OTLP log record, JSON text. */
  readonly record: string;
  readonly bytes: number;
  /** Where the line stands; of a head the lines that it covers. */
  readonly place: number;
  /** True for a head that its log's own key has signed, as it says. */
  readonly signed: boolean;
  /** Where the cursor stands once this has been answered for. */
  readonly after: Position;
}

/** What a log had to give. */
export interface Fed {
  readonly items: readonly Item[];
  /** True where more was there and did not fit. */
  readonly full: boolean;
}

/** Why nothing can be read of a log any further. */
export class StuckLog extends Error {}

export class LogFeed {
  /** Names the cursor: the log's id where no other file claims it. */
  readonly key: string;
  /** The id that its first line gives; the key where it gives none. */
  readonly log: string;
  readonly file: string;
  readonly #path: string;
  readonly #heads: string;
  #position: Position;

  /** @param path Where its lines are read. */
  constructor(
    folder: string,
    file: string,
    identity: { readonly key: string; readonly log: string },
    at: Position,
    path: string = join(folder, file),
  ) {
    this.key = identity.key;
    this.log = identity.log;
    this.file = file;
    this.#path = path;
    this.#heads = join(folder, headFiles(identity.log).all);
    this.#position = at;
  }

  get position(): Position {
    return this.#position;
  }

  /** Everything up to and with `item` has been answered for. */
  moveTo(position: Position): void {
    this.#position = position;
  }

  /**
   * The next lines and heads, at most `room` bytes of records, and none behind byte `limit` of the log.
   *
   * The lines are synced before they are handed out: whoever wrote them may not have done it yet.
   *
   * @param alone True where one item may be larger than the room.
   * @param onRebuilt Told when the cursor does not fit the log, and delivery begins anew.
   * @throws StuckLog for a line that is longer than any may be; what the system throws.
   */
  async next(room: number, limit: number, alone: boolean, onRebuilt: () => void): Promise<Fed> {
    const fd = openSync(this.#path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
    try {
      if (!fstatSync(fd).isFile()) throw new StuckLog("it is no regular file");
      if (!this.#fits(fd)) {
        onRebuilt();
        this.#position = { ...START, anchored: 0 };
      }
      const { offset } = this.#position;
      const bytes = readAt(fd, offset, Math.min(room + MAX_LINE_BYTES + 1, Math.max(0, limit - offset)));
      if (bytes.length > 0) await fdatasyncAsync(fd);
      return this.#itemsOf(bytes, room, alone);
    } finally {
      closeSync(fd);
    }
  }

  /** Counts heads behind the cursor. */
  waitingHeads(): number {
    const { heads: at } = this.#position;
    let heads = 0;
    for (let more = headsAfter(this.#heads, this.log, at); more.length > 0; ) {
      heads += more.length;
      more = headsAfter(this.#heads, this.log, (more.at(-1) as FedHead).at);
    }
    return heads;
  }

  /** Counts whole lines behind the cursor. */
  waitingLines(): number {
    const { offset, lines } = this.#position;
    return Math.max(0, countLines(this.#path, offset, lines) - lines);
  }

  #itemsOf(bytes: Buffer, room: number, alone: boolean): Fed {
    const items: Item[] = [];
    let at = this.#position;
    let left = room;
    let heads = headsAfter(this.#heads, this.log, at.heads);
    const take = (item: Item): boolean => {
      if (item.bytes > left && !(alone && items.length === 0)) return false;
      items.push(item);
      at = item.after;
      left -= item.bytes;
      return true;
    };
    const takeHeads = (): boolean => {
      while (heads[0] !== undefined && heads[0].head.size <= at.lines) {
        if (!take(this.#headItem(heads[0], at))) return false;
        heads = heads.length > 1 ? heads.slice(1) : headsAfter(this.#heads, this.log, at.heads);
      }
      return true;
    };
    if (!takeHeads()) return { items, full: true };
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      if (end - start > MAX_LINE_BYTES) return this.#stuckBehind(items);
      if (!take(this.#lineItem(bytes.subarray(start, end), at)) || !takeHeads()) return { items, full: true };
      start = end + 1;
    }
    return bytes.length - start > MAX_LINE_BYTES ? this.#stuckBehind(items) : { items, full: false };
  }

  /** What stands before a line that is none is delivered first. */
  #stuckBehind(items: readonly Item[]): Fed {
    if (items.length === 0) throw new StuckLog("a line is longer than 64 KiB");
    return { items, full: true };
  }

  #lineItem(line: Buffer, at: Position): Item {
    const after = {
      ...at,
      offset: at.offset + line.length + 1,
      lines: at.lines + 1,
      leaf: leafHash(line),
    };
    const record = lineRecord(line, { log: this.log, seq: at.lines });
    return { ...sized(record), kind: "line", feed: this, place: at.lines, signed: false, after };
  }

  #headItem({ head, text, at: heads }: FedHead, at: Position): Item {
    const record = headRecord(text, head);
    const after = { ...at, heads };
    return { ...sized(record), kind: "head", feed: this, place: head.size, signed: head.keyName !== null, after };
  }

  /** True when what lies before the cursor is still what was delivered. */
  #fits(fd: number): boolean {
    const { offset, lines, leaf, heads } = this.#position;
    if (!isHeadPositionOf(this.#heads, heads)) return false;
    if (offset === 0) return true;
    if (fstatSync(fd).size < offset) return false;
    const from = Math.max(0, offset - MAX_LINE_BYTES - 2);
    const bytes = readAt(fd, from, offset - from);
    if (bytes.length === 0 || bytes[bytes.length - 1] !== NEWLINE) return false;
    const line = bytes.subarray(bytes.lastIndexOf(NEWLINE, bytes.length - 2) + 1, -1);
    return leafHash(line) === leaf && (seqIn(line) ?? lines - 1) === lines - 1;
  }
}

function sized(record: string): { readonly record: string; readonly bytes: number } {
  return { record, bytes: Buffer.byteLength(record) + 1 };
}
