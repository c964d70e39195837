/** What a folder's logs say of each dispatch: which receipts there are, which intents wait, which records stand twice. */

import stableStringify from "fast-json-stable-stringify";
import type { LogRecord } from "../../records/record.ts";
import type { Findings } from "../findings.ts";
import { isKeyed, type KeyedFacts, type SeenRecord } from "../lines/examine-line.ts";
import { type Key, KeyTable, keyOf } from "./key-table.ts";

/** Room for a million dispatches; more take another pass. */
const MAX_SLOTS = 1_250_000;
const FIRST_SLOTS = 1024;
/** No receipt's line is shorter, so that a table for `bytes / LINE_BYTES` lines need not grow. */
const LINE_BYTES = 1000;
const MAX_WAITING = 100_000;
const RECEIPT = 1;
const INTENT = 2;
const LATE = 3;

interface Place {
  readonly file: string;
  readonly line: number;
}

export class Dispatches {
  readonly #findings: Findings;
  readonly #table: KeyTable;
  /** Intents whose receipt has not come yet, by dispatch. */
  readonly #waiting = new Map<string, Place>();
  /** Keys seen twice, with the content of the first copy once it is known. */
  readonly #copies = new Map<string, { readonly content: string; readonly place: Place } | null>();
  #tooMany = false;

  /**
   * @param logs How many logs there are.
   * @param bytes About how much is going to be read.
   */
  constructor(findings: Findings, logs: number, bytes: number, maxSlots: number = MAX_SLOTS) {
    this.#findings = findings;
    this.#table = new KeyTable(maxSlots, FIRST_SLOTS + Math.ceil(bytes / LINE_BYTES), logs);
  }

  /** Passes that the keys need; known once all logs were read. */
  get passes(): number {
    return this.#table.parts;
  }

  get hasCopies(): boolean {
    return this.#copies.size > 0;
  }

  begin(pass: number): void {
    this.#table.begin(pass);
  }

  /** Takes a record of the log with index `log`; on the first pass of everything, later of the pass's keys. */
  take(record: SeenRecord, log: number, file: string, line: number, pass: number): void {
    if (!isKeyed(record)) return;
    if (this.#table.add(keyOfRecord(record), log)) this.#remember(nameOf(record));
    if (pass > 0) return;
    if (record.record === "receipt") this.#waiting.delete(record.dispatch_id);
    if (record.record === "intent") this.#wait(record.dispatch_id, { file, line });
  }

  /** True when there is a receipt of `dispatchId` in log `log`; undefined when another pass has to say. */
  hasReceipt(dispatchId: string, log: number): boolean | undefined {
    const key = keyOf(dispatchId, RECEIPT, 0);
    return this.#table.covers(key) ? this.#table.has(key, log) : undefined;
  }

  /** Ends a pass: intents of its keys that have no receipt in any log. */
  endPass(): void {
    for (const [dispatch, { file, line }] of this.#waiting) {
      const key = keyOf(dispatch, RECEIPT, 0);
      if (!this.#table.covers(key) || this.#table.has(key)) continue;
      this.#findings.add("UNFINISHED", file, line, `the intent of dispatch ${dispatch} has no receipt`);
    }
    if (this.#tooMany) this.#findings.add("TOO_MANY", "", null, `more than ${MAX_WAITING} to compare`);
    this.#tooMany = false;
  }

  /** Compares a record with the first copy of it. */
  compare(record: LogRecord, file: string, line: number): void {
    if (!isKeyed(record)) return;
    const name = nameOf(record);
    const first = this.#copies.get(name);
    if (first === undefined) return;
    const content = contentOf(record);
    if (first === null) this.#copies.set(name, { content, place: { file, line } });
    else if (first.content !== content) {
      const message = `it differs from the copy of ${name} in line ${first.place.line} of ${first.place.file}`;
      this.#findings.add("CONFLICT", file, line, message);
    }
  }

  #wait(dispatch: string, place: Place): void {
    if (this.#waiting.size < MAX_WAITING) this.#waiting.set(dispatch, place);
    else this.#tooMany = true;
  }

  #remember(name: string): void {
    if (this.#copies.has(name)) return;
    if (this.#copies.size < MAX_WAITING) this.#copies.set(name, null);
    else this.#tooMany = true;
  }
}

function keyOfRecord(record: KeyedFacts): Key {
  if (record.record === "receipt") return keyOf(record.dispatch_id, RECEIPT, 0);
  return keyOf(record.dispatch_id, record.record === "intent" ? INTENT : LATE, record.attempt);
}

function nameOf(record: KeyedFacts): string {
  const attempt = record.record === "receipt" ? "" : ` attempt ${record.attempt}`;
  return `${record.record} ${record.dispatch_id}${attempt}`;
}

/** What copies have to agree in: everything but where and when each was written. */
function contentOf(record: LogRecord): string {
  const { chain: _chain, emitted_at: _emitted, ...content } = record;
  if (record.record !== "receipt" || record.audit === null) return stableStringify(content);
  const { receipt_uri: _uri, ...audit } = record.audit as Readonly<Record<string, unknown>>;
  return stableStringify({ ...content, audit: Object.keys(audit).length === 0 ? null : audit });
}
