/** The local logs of one sink: which session writes to which file, how many are open, what follows a lost one. */

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { fitText } from "../json-text.ts";
import type { Signer } from "../keys/signer.ts";
import type { SegmentOpen } from "../records/segment-open.ts";
import { settleAll } from "../settle-all.ts";
import { AbandonedLogs } from "./abandoned-logs.ts";
import { PROCESS_STEM, stemOf } from "./file-name.ts";
import { inspectLog, type Predecessor, tornFields } from "./predecessor.ts";
import { RECEIPTS_FOLDER, type ReceiptFolder } from "./receipt-folder.ts";
import { type ReceiptNews, SegmentWriter } from "./segment-writer.ts";
import { thisWriter } from "./writer-identity.ts";

const MAX_OPEN = 256;
/** More than this many logs closing at a time would hold too many descriptors; then one is closed at once. */
const MAX_CLOSING = 32;
/** A session id is named in full as long as its line stays well within its size. */
const MAX_SESSION_BYTES = 49_152;

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
}

export class LocalLogs {
  readonly folder: ReceiptFolder;
  readonly #options: LocalLogsOptions;
  readonly #news: ReceiptNews;
  /** Least recently used first. */
  readonly #open = new Map<string | null, OpenSegment>();
  readonly #closing = new Set<Promise<void>>();
  readonly #abandoned: AbandonedLogs;

  constructor(folder: ReceiptFolder, options: LocalLogsOptions, news: ReceiptNews) {
    this.folder = folder;
    this.#options = options;
    this.#news = news;
    this.#abandoned = new AbandonedLogs(folder.path);
  }

  /** The log that `sessionId` writes to now; opened when there is none or the last one failed. */
  of(sessionId: string | null): OpenSegment {
    const key = this.#options.scope === "process" ? null : sessionId;
    const found = this.#open.get(key);
    if (found !== undefined && !found.writer.failed) {
      if (this.#open.size > 1) this.#touch(key, found);
      return found;
    }
    this.#open.delete(key);
    if (this.#open.size >= MAX_OPEN) this.#evict();
    const opened = this.#openSegment(key);
    this.#open.set(key, opened);
    return opened;
  }

  /** Lines beyond the last heads. */
  unsealed(): number {
    let lines = 0;
    for (const { writer } of this.#open.values()) if (!writer.failed) lines += writer.unsealed;
    return lines;
  }

  async flush(): Promise<void> {
    await settleAll([...this.#living().map((writer) => writer.flush()), ...this.#closing]);
  }

  /** Closes every log. A receipt that comes later opens a new one. */
  async close(): Promise<void> {
    const writers = this.#living();
    this.#open.clear();
    await settleAll([...writers.map((writer) => writer.close("end")), ...this.#closing]);
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
    if (writer.failed) return;
    if (this.#closing.size >= MAX_CLOSING && writer.idle) {
      writer.closeNow("evicted");
      return;
    }
    const closing = writer.close("evicted").catch(() => {
      // The log has failed, and that was told.
    });
    this.#closing.add(closing);
    void closing.then(() => this.#closing.delete(closing));
  }

  #openSegment(sessionId: string | null): OpenSegment {
    const shared = this.#options.scope === "process";
    const signer = this.#options.signer?.forNextLog?.() ?? this.#options.signer ?? null;
    const stem = shared ? PROCESS_STEM : stemOf(sessionId);
    const created = this.folder.create(stem);
    const writer = new SegmentWriter(created.fd, this.folder.path, created.file, this.#news, signer);
    writeOpening(writer, this.folder.path, sessionId, created.before, signer?.verifierKey ?? null);
    for (const file of this.#abandoned.before(stem, created.number)) {
      writeRecovery(writer, inspectLog(this.folder.path, file));
    }
    return { writer, address: this.#addressOf(created.file) };
  }

  #addressOf(file: string): string {
    const absolute = `${pathToFileURL(join(this.folder.path, file)).href}#`;
    if (this.#options.addresses === "absolute") return absolute;
    return `${RECEIPTS_FOLDER}/${absolute.slice(absolute.lastIndexOf("/") + 1)}`;
  }
}

/** First line, and the second one where the writer before has died. */
function writeOpening(
  writer: SegmentWriter,
  folder: string,
  sessionId: string | null,
  before: string | null,
  verifierKey: string | null,
): void {
  const found = before === null ? null : inspectLog(folder, before);
  const session_id = sessionId === null ? null : fitText(sessionId, MAX_SESSION_BYTES);
  const opening: Omit<SegmentOpen, "chain" | "emitted_at" | "schema_version"> = {
    record: "segment_open",
    session_id,
    writer: thisWriter(),
    previous:
      found === null
        ? null
        : { file: found.file, log: found.log, lines: found.lines, root: found.root, state: found.state },
    truncated: session_id === sessionId ? [] : ["/session_id"],
    heartbeat_ms: null,
    verifier_key: verifierKey,
  };
  writer.add({ ...opening });
  if (found !== null) writeRecovery(writer, found);
}

/** Vouches for what a dead writer has left; says nothing of other logs. */
function writeRecovery(writer: SegmentWriter, { file, log, lines, root, state, torn }: Predecessor): void {
  if (state !== "crashed") return;
  writer.add({ record: "recovery", file, log, lines, root, ...tornFields(torn) });
}
