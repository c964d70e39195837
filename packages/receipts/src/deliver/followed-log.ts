/** A log that is followed on its way to an endpoint: how long it is, and whether it is worth reading. */

import { rmSync } from "node:fs";
import type { LogFeed } from "./log-feed.ts";

export class FollowedLog {
  readonly feed: LogFeed;
  readonly inode: number;
  /** Set for a compressed log: where it is unpacked while it is read. */
  readonly unpacked: string | null;
  /** Bytes of the log when the folder was last looked at; delivery goes no further before it is looked at again. */
  bytes = 0;
  headBytes = 0;
  /** True after trouble with this log, until the next look. */
  skipped = false;
  /** Set for a compressed log that could not be unpacked: its size then. */
  damagedAt: number | null = null;
  isUnpacked = false;
  /** Sizes at which there was nothing more to read: a line without an end is none. */
  #dry: string | null = null;

  constructor(feed: LogFeed, inode: number, unpacked: string | null = null) {
    this.feed = feed;
    this.inode = inode;
    this.unpacked = unpacked;
  }

  get hasMore(): boolean {
    const { offset, heads } = this.feed.position;
    return (this.bytes !== offset || this.headBytes > heads.to) && this.#dry !== this.#sizes;
  }

  /** Bytes behind the cursor. */
  get waitingBytes(): number {
    return Math.max(0, this.bytes - this.feed.position.offset);
  }

  get #sizes(): string {
    return `${this.bytes} ${this.headBytes}`;
  }

  /** Nothing more can be read of it before it grows. */
  runDry(): void {
    this.#dry = this.#sizes;
  }

  /** A compressed log that was delivered needs its unpacked copy no more. */
  discard(): void {
    if (this.unpacked === null || !this.isUnpacked) return;
    this.isUnpacked = false;
    rmSync(this.unpacked, { force: true });
  }
}
