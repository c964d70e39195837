/** Delivery of a state folder to one endpoint, pass by pass, under the endpoint's lock. */

import { existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { Courier } from "./courier.ts";
import { deadLetterFile, park } from "./dead-letters.ts";
import type { DeliveryEndpoint } from "./delivery-endpoint.ts";
import { makeDeliveryFolder, sweep } from "./delivery-folder.ts";
import { EndpointLock } from "./endpoint-lock.ts";
import type { Item, LogFeed } from "./log-feed.ts";
import { type Position, writePosition } from "./position.ts";
import { resendDeadLetters } from "./resend-dead-letters.ts";
import type { RetryLimits } from "./retry-waits.ts";
import { Spool, type Waiting } from "./spool.ts";

const CURSORS_AT_A_TIME = 16;

/** What became of records so far. */
export interface DeliveryCounts {
  /** Lines that the endpoint has accepted. */
  readonly lines: number;
  /** Heads that it has accepted. */
  readonly heads: number;
  /** Signed ones of these, where the endpoint is outside. */
  readonly anchored: number;
  /** Lines and heads that it refused for good; they stand in the dead-letter file. */
  readonly parked: number;
}

export interface DeliveryNews {
  /** Something was answered for, or the endpoint was found to be away for a while. */
  progress?(counts: DeliveryCounts): void;
  anchored?(heads: number): void;
  away?(reason: string, waitMs: number): void;
}

export class Delivery {
  readonly folder: string;
  readonly #root: string;
  readonly #endpoint: DeliveryEndpoint;
  readonly #news: DeliveryNews;
  readonly #courier: Courier;
  #spool: Spool;
  #lock: EndpointLock | null = null;
  #counts = { lines: 0, heads: 0, anchored: 0, parked: 0 };
  #oldest: number | null = null;

  /** @throws TOOLSPAN_RECEIPT_STORE when the endpoint's folder cannot be made. */
  constructor(root: string, endpoint: DeliveryEndpoint, news: DeliveryNews = {}, retry?: RetryLimits) {
    this.#root = root;
    this.#endpoint = endpoint;
    this.#news = news;
    this.folder = makeDeliveryFolder(root, endpoint);
    this.#courier = new Courier(endpoint, retry);
    this.#spool = new Spool(root, this.folder);
  }

  get counts(): DeliveryCounts {
    return this.#counts;
  }

  /** Bytes that wait now, for who holds the lock: a folder goes on growing while its endpoint is away. 0 for others, who do not know the cursors. */
  get spoolBytes(): number {
    if (this.#lock === null) return 0;
    this.#spool.look();
    return this.#spool.bytes;
  }

  /** When the oldest line that waits was written, Unix milliseconds; null where none waits. */
  get oldestAt(): number | null {
    return this.#oldest;
  }

  /** Takes the endpoint's lock; null once it is ours, else who holds it. */
  take(): string | null {
    if (this.#lock !== null) return null;
    makeDeliveryFolder(this.#root, this.#endpoint); // it may have been removed since
    const taken = EndpointLock.take(this.folder);
    if (!(taken instanceof EndpointLock)) return taken.heldBy;
    this.#lock = taken;
    sweep(this.folder);
    this.#spool = new Spool(this.#root, this.folder); // somebody else may have moved the cursors
    return null;
  }

  release(): void {
    const lock = this.#lock;
    this.#lock = null;
    if (lock === null || !existsSync(this.folder)) return;
    sweep(this.folder);
    lock.release();
  }

  /** Delivers everything that is durable now. False when `signal` fired first. Only for who holds the lock. */
  async pass(signal: AbortSignal): Promise<boolean> {
    this.#spool.look();
    await this.#spool.lookAtZipped();
    for (;;) {
      const items = await this.#spool.next(this.#courier.room);
      this.#oldest = timeOf(items);
      if (items.length === 0) return true;
      const book = {
        delivered: (some: readonly Item[]) => this.#delivered(some),
        parked: (some: readonly Item[], reason: string) => this.#parked(some, reason),
        waiting: (reason: string, ms: number) => this.#news.away?.(reason, ms),
      };
      if (!(await this.#courier.carry(items, book, signal))) return false;
    }
  }

  /** Sends what was parked once more, in its order; what is refused again is parked again. False when `signal` fired first. Only for who holds the lock. */
  resend(signal: AbortSignal): Promise<boolean> {
    return resendDeadLetters(this.folder, this.#courier, signal, {
      sent: ({ lines, heads }) => {
        this.#counts = { ...this.#counts, lines: this.#counts.lines + lines, heads: this.#counts.heads + heads };
        this.#news.progress?.(this.#counts);
      },
      parked: (records) => {
        this.#counts = { ...this.#counts, parked: this.#counts.parked + records };
        this.#news.progress?.(this.#counts);
      },
      away: (reason, ms) => this.#news.away?.(reason, ms),
    });
  }

  /** What the endpoint has not answered for, by the cursors on disk; whoever moves them. */
  waiting(): Promise<Waiting> {
    return new Spool(this.#root, this.folder, this.#spool.unreadable).waiting();
  }

  async #delivered(items: readonly Item[]): Promise<void> {
    const heads = items.filter(({ kind }) => kind === "head");
    const anchored = this.#endpoint.outside ? heads.filter(({ signed }) => signed) : [];
    await this.#move(items, new Set(anchored));
    this.#counts = {
      ...this.#counts,
      lines: this.#counts.lines + items.length - heads.length,
      heads: this.#counts.heads + heads.length,
      anchored: this.#counts.anchored + anchored.length,
    };
    if (anchored.length > 0) this.#news.anchored?.(anchored.length);
    this.#news.progress?.(this.#counts);
  }

  /** The cursor moves past them once they are safe elsewhere. */
  async #parked(items: readonly Item[], reason: string): Promise<void> {
    const letters = items.map(({ record, kind, place, feed }) => ({ record, kind, place, log: feed.log, reason }));
    await park(deadLetterFile(this.folder), this.folder, letters);
    await this.#move(items, new Set());
    this.#counts = { ...this.#counts, parked: this.#counts.parked + items.length };
    this.#news.progress?.(this.#counts);
  }

  async #move(items: readonly Item[], anchored: ReadonlySet<Item>): Promise<void> {
    const moved = new Map<LogFeed, Position>();
    for (const item of items) {
      const before = moved.get(item.feed)?.anchored ?? item.feed.position.anchored;
      const size = anchored.has(item) ? item.place : 0;
      moved.set(item.feed, { ...item.after, anchored: Math.max(before, size) });
    }
    const writes = [...moved];
    // Syncs of many small files share what the file system does for each.
    for (let at = 0; at < writes.length; at += CURSORS_AT_A_TIME) {
      const some = writes.slice(at, at + CURSORS_AT_A_TIME);
      await Promise.all(some.map(([feed, position]) => writePosition(this.folder, feed.key, position)));
    }
    await syncInPool(this.folder);
    for (const [feed, position] of moved) feed.moveTo(position);
  }
}

function timeOf([first]: readonly Item[]): number | null {
  const nanos = first === undefined ? undefined : /"timeUnixNano":"(\d+)\d{6}"/.exec(first.record)?.[1];
  return nanos === undefined ? null : Number(nanos);
}

/** Makes names in `folder` durable without holding up the event loop. */
async function syncInPool(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
