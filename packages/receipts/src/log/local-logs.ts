/** The local logs of one sink: which session writes to which file, how many are open, what follows a lost one. */

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { diagnostics } from "@toolspan/core";
import type { Signer } from "../keys/signer.ts";
import type { Previous } from "../records/segment-open.ts";
import { settleAll } from "../settle-all.ts";
import { AbandonedLogs } from "./abandoned-logs.ts";
import { ClosingLogs } from "./closing-logs.ts";
import { PROCESS_STEM, stemOf } from "./file-name.ts";
import { writeOpening } from "./opening-lines.ts";
import type { Orphan } from "./pending-receipts.ts";
import { type CreatedLog, RECEIPTS_FOLDER, type ReceiptFolder } from "./receipt-folder.ts";
import type { ReceiptNews } from "./receipt-news.ts";
import type { SegmentLimits } from "./segment-limits.ts";
import { SegmentWriter } from "./segment-writer.ts";
import { movedLine } from "./written-receipt.ts";

const MAX_OPEN = 256;

export interface OpenSegment {
  readonly writer: SegmentWriter;
  /** Where its lines can be pointed at, up to and with the `#`. */
  readonly address: string;
}

export interface LocalLogsOptions {
  /** One log for each session, or one for all. */
  readonly scope: "session" | "process";
  readonly addresses: "absolute" | "relative";
  /** Signs heads; without one they are unsigned. */
  readonly signer?: Signer | null;
  readonly limits: SegmentLimits;
}

export class LocalLogs {
  readonly folder: ReceiptFolder;
  readonly #options: LocalLogsOptions;
  readonly #news: ReceiptNews;
  /** Least recently used first. */
  readonly #open = new Map<string | null, OpenSegment>();
  /** `flush` and `close` wait for them. */
  readonly #closing = new ClosingLogs();
  readonly #abandoned: AbandonedLogs;
  /** How often receipts of a failed log came to another one. */
  #adoptions = 0;

  constructor(folder: ReceiptFolder, options: LocalLogsOptions, news: ReceiptNews) {
    this.folder = folder;
    this.#options = options;
    this.#news = news;
    this.#abandoned = new AbandonedLogs(folder.path);
  }

  /** The log that `sessionId` writes its next line to; opened when there is none, the last one failed, or has its size. */
  of(sessionId: string | null): OpenSegment {
    const key = this.#options.scope === "process" ? null : sessionId;
    const found = this.#open.get(key);
    if (found?.writer.isDue === true) this.#rotate(key, found.writer);
    const current = this.#open.get(key);
    if (current !== undefined && !current.writer.failed) {
      if (this.#open.size > 1) this.#touch(key, current);
      current.writer.mindTime();
      return current;
    }
    this.#open.delete(key);
    if (this.#open.size >= MAX_OPEN) this.#evict();
    return this.#begin(key, this.folder.create(this.#stemOf(key)));
  }

  /** Lines beyond the last heads. */
  unsealed(): number {
    let lines = 0;
    for (const { writer } of this.#open.values()) if (!writer.failed) lines += writer.unsealed;
    return lines;
  }

  async flush(): Promise<void> {
    await this.#withAdopted(() =>
      settleAll([...this.#living().map((writer) => writer.flush()), ...this.#closing.pending]),
    );
  }

  /** Closes every log. A receipt that comes later opens a new one. */
  async close(): Promise<void> {
    await this.#withAdopted(() => {
      const writers = this.#living();
      this.#open.clear();
      return settleAll([...writers.map((writer) => writer.close("end")), ...this.#closing.pending]);
    });
  }

  /** A log that fails under `act` may have passed its receipts on; then it is what becomes of those that counts. */
  async #withAdopted(act: () => Promise<void>): Promise<void> {
    const before = this.#adoptions;
    try {
      await act();
    } catch (error) {
      if (this.#adoptions === before) throw error;
      await act();
    }
  }

  #living(): SegmentWriter[] {
    return [...this.#open.values()].map(({ writer }) => writer).filter((writer) => !writer.failed);
  }

  #touch(key: string | null, segment: OpenSegment): void {
    this.#open.delete(key);
    this.#open.set(key, segment);
  }

  #evict(): void {
    const oldest = this.#open.entries().next().value;
    if (oldest === undefined) return;
    const [key, { writer }] = oldest;
    this.#open.delete(key);
    this.#closing.evict(writer);
  }

  /** A log that nobody writes to right now has its size or age. A session's need not go on before its next call. */
  #due(key: string | null, log: string, idle: boolean): void {
    const writer = this.#open.get(key)?.writer;
    if (writer?.log !== log) return;
    if (idle && this.#options.scope === "session") {
      this.#open.delete(key);
      this.#closing.track(writer.close("rotated"));
    } else this.#rotate(key, writer);
  }

  /** The next file first: where there can be none, the log goes on. Never throws. */
  #rotate(key: string | null, writer: SegmentWriter): void {
    let created: CreatedLog;
    try {
      created = this.folder.create(this.#stemOf(key));
    } catch (error) {
      writer.postpone();
      const code = (error as NodeJS.ErrnoException).code ?? "an error";
      diagnostics.report("receipts.local", "rotation_failed", `${writer.path} goes on, no next file: ${code}`);
      return;
    }
    this.#open.delete(key); // whatever happens now, it ends
    try {
      this.#begin(key, created, writer);
    } catch {
      // Whoever calls next tries to open a log and hears of it.
    }
  }

  #begin(key: string | null, created: CreatedLog, former?: SegmentWriter): OpenSegment {
    const { signer: given = null, limits } = this.#options;
    const { path: folder } = this.folder;
    const signer = given?.forNextLog?.() ?? given;
    const { fd, file, number } = created;
    const onDue = (idle: boolean): void => this.#due(key, writer.log, idle);
    const address = this.#addressOf(file);
    const onOrphans = (orphans: readonly Orphan[], error: unknown): void => {
      queueMicrotask(() => this.#adopt(key, address, orphans, error)); // whatever failed has to end first
    };
    const writer = new SegmentWriter({ fd, folder, file, news: this.#news, signer, limits, onDue, onOrphans });
    try {
      const before = former === undefined ? created.before : this.#retire(former, { file, log: writer.log });
      const abandoned = this.#abandoned.before(this.#stemOf(key), former === undefined ? number : number + 1);
      const verifierKey = signer?.verifierKey ?? null;
      writeOpening(writer, { folder, sessionId: key, verifierKey, heartbeatMs: limits.heartbeatMs, before, abandoned });
      writer.writeOut(); // an empty file would look like one whose writer died
    } catch (error) {
      writer.abandon(error);
      throw error;
    }
    const opened = { writer, address };
    this.#open.set(key, opened);
    return opened;
  }

  /** Nobody can say what became of these receipts in their log: each is written once more, to the log that takes over. */
  #adopt(key: string | null, former: string, orphans: readonly Orphan[], error: unknown): void {
    let lost = 0;
    for (const { line, told } of orphans) {
      try {
        const { writer, address } = this.of(key);
        writer.addReceipt(movedLine(line, former, address, writer.next()), { told });
      } catch {
        lost++;
      }
    }
    if (lost > 0) this.#news.lost(lost, error);
    else this.#adoptions++;
  }

  /** What the next log may say of `former`, which ends now; its name, to be looked at, where it could not be ended. */
  #retire(former: SegmentWriter, next: { readonly file: string; readonly log: string }): Previous | string {
    const { file } = former;
    try {
      const { claim, finished } = former.retire(next);
      this.#closing.track(finished);
      return { file, log: claim.log, lines: claim.size, root: claim.root, state: "closed" };
    } catch {
      return file; // it has failed, and that was told
    }
  }

  #stemOf(key: string | null): string {
    return this.#options.scope === "process" ? PROCESS_STEM : stemOf(key);
  }

  #addressOf(file: string): string {
    const absolute = `${pathToFileURL(join(this.folder.path, file)).href}#`;
    if (this.#options.addresses === "absolute") return absolute;
    return `${RECEIPTS_FOLDER}/${absolute.slice(absolute.lastIndexOf("/") + 1)}`;
  }
}
