/** Keeps what opens committed hashes: one file per subject, durable before any line refers to it. */

import { closeSync, fdatasync, readSync } from "node:fs";
import { promisify } from "node:util";
import { type Digest, type DispatchScope, kindOf, type ToolCall } from "@toolspan/core";
import { openPrivate, syncFolder, writeAll } from "../log/private-file.ts";
import { OpeningFolder } from "./opening-folder.ts";
import { type OpenedField, openingText } from "./opening-line.ts";

const fdatasyncAsync = promisify(fdatasync);
const NEWLINE = 0x0a;

/** Whom a call is about: what `toolspan erase --subject` names. */
export type SubjectOf = (call: ToolCall) => string;

export interface OpeningStoreOptions {
  /** State root. */
  readonly root: string;
  readonly subject: SubjectOf | undefined;
  /** Keeps what was hashed, too. */
  readonly keepText: boolean;
}

/** Lines of one file that wait for their turn, and those who wait for them. */
interface Batch {
  text: string;
  readonly durable: Promise<void>;
}

export class OpeningStore {
  readonly #options: OpeningStoreOptions;
  #folder: OpeningFolder | undefined;
  /** What each digest's keeper waits for: an intent's opening is the receipt's too. */
  readonly #kept = new WeakMap<Digest, Promise<void>>();
  /** By pseudonym: the batch that nobody has begun to write. */
  readonly #waiting = new Map<string, Batch>();
  /** By pseudonym: the write that is under way. */
  readonly #writing = new Map<string, Promise<void>>();

  constructor(options: OpeningStoreOptions) {
    this.#options = options;
  }

  /** Makes folder and key. Throws TOOLSPAN_RECEIPT_STORE. */
  prepare(): OpeningFolder {
    this.#folder ??= OpeningFolder.make(this.#options.root);
    return this.#folder;
  }

  /**
   * Makes the openings among `digests` durable.
   *
   * @returns Undefined when none of them has one; else a promise that rejects with the store's error, or with what `subject` threw.
   */
  keep(dispatch: DispatchScope, digests: Partial<Record<OpenedField, Digest | null>>): Promise<void> | undefined {
    const committed = Object.entries(digests).filter(([, digest]) => digest?.opening !== undefined);
    if (committed.length === 0) return undefined;
    const waits = new Set<Promise<void>>();
    try {
      for (const [field, digest] of committed)
        waits.add(this.#keepOne(dispatch, field as OpenedField, digest as Digest));
    } catch (error) {
      return Promise.reject(error);
    }
    return Promise.all(waits).then(() => {});
  }

  #keepOne(dispatch: DispatchScope, field: OpenedField, digest: Digest): Promise<void> {
    const kept = this.#kept.get(digest);
    if (kept !== undefined) return kept;
    const { salt, text } = digest.opening as NonNullable<Digest["opening"]>;
    const pseudonym = this.prepare().pseudonym(this.#subjectOf(dispatch.call));
    const line = openingText({
      record: "opening",
      schema_version: 1,
      dispatch_id: dispatch.id,
      field,
      hash: digest.hash,
      salt,
      text: this.#options.keepText && !holdsWhatIsRedacted(dispatch, field) ? text : null,
    });
    const durable = this.#append(pseudonym, line);
    this.#kept.set(digest, durable);
    return durable;
  }

  /** Without a function of the user's own, a session is a subject. */
  #subjectOf(call: ToolCall): string {
    const { subject } = this.#options;
    if (subject === undefined) return typeof call.turn.sessionId === "string" ? call.turn.sessionId : "";
    const named: unknown = subject(call);
    if (typeof named === "string") return named;
    throw new TypeError(`withAuditLog: subject answered with ${kindOf(named)}, expected a string`);
  }

  /** Lines that come while a file is written share the next write. */
  #append(pseudonym: string, line: string): Promise<void> {
    const waiting = this.#waiting.get(pseudonym);
    if (waiting !== undefined) {
      waiting.text += line;
      return waiting.durable;
    }
    const before = this.#writing.get(pseudonym) ?? Promise.resolve();
    const durable = before
      .catch(() => {
        // Told to those who waited for that one.
      })
      .then(() => this.#writeNext(pseudonym));
    this.#waiting.set(pseudonym, { text: line, durable });
    return durable;
  }

  async #writeNext(pseudonym: string): Promise<void> {
    const { text, durable } = this.#waiting.get(pseudonym) as Batch;
    this.#waiting.delete(pseudonym);
    this.#writing.set(pseudonym, durable);
    try {
      await this.#write(pseudonym, text);
    } finally {
      if (this.#writing.get(pseudonym) === durable) this.#writing.delete(pseudonym);
    }
  }

  /** Opened anew for each batch: an erasure may have taken the file away meanwhile. */
  async #write(pseudonym: string, text: string): Promise<void> {
    const folder = this.prepare();
    const { fd, size } = openPrivate(folder.file(pseudonym));
    try {
      writeAll(fd, Buffer.from(isTorn(fd, size) ? `\n${text}` : text));
      await fdatasyncAsync(fd);
    } finally {
      closeSync(fd);
    }
    if (size === 0) syncFolder(folder.path);
  }
}

/** True for arguments that could not be parsed, where keys are redacted: their text may hold them, and nobody can take them out of it. */
function holdsWhatIsRedacted({ call, hasher }: DispatchScope, field: OpenedField): boolean {
  if (hasher === null || hasher === undefined || hasher.redact.length === 0) return false;
  return field === "args_hash" && call.toolArgs === undefined && call.rawArgs !== undefined;
}

/** True when somebody's last line was not written to its end. */
function isTorn(fd: number, size: number): boolean {
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  readSync(fd, last, 0, 1, size - 1);
  return last[0] !== NEWLINE;
}
