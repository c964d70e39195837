/** Reads what `anchors` names: checkpoint texts, one after another, or the Collector's file of OTLP/JSON log records. */

import { isUtf8 } from "node:buffer";
import { ToolspanError } from "@toolspan/core";
import { parseSignatureLine, SIGNATURE_START, type SignatureLine } from "../../keys/signature-line.ts";
import { type NamedCheckpoint, parseCheckpoint } from "../../log/checkpoint.ts";
import { isObject, uuid } from "../../records/field.ts";
import type { Checks } from "../checks.ts";
import type { Findings } from "../findings.ts";
import type { Line } from "../lines/line-buffer.ts";
import { objectsIn, otlpRequestIn, textAttribute } from "../lines/otlp-request.ts";
import { readLines } from "../lines/read-lines.ts";
import { wordOf } from "../lines/word-of.ts";
import { signingOf } from "../trust/signing.ts";
import type { Trust } from "../trust/trust.ts";
import { AnchorStore } from "./anchor-store.ts";

/** Name of the log records that carry heads. */
const HEAD_EVENT = "toolspan.receipts.head";
const HEAD_EVENT_BYTES: Buffer = Buffer.from(HEAD_EVENT);
/** A batch of log records is long; what is longer than this is not read. */
const MAX_BATCH_BYTES = 64 * 1024 * 1024;
/** So many lines of signatures a head may bear. */
const MAX_SIGNATURES = 64;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const MAX_FILES = 1000;

interface Note {
  readonly head: NamedCheckpoint;
  /** What is signed. */
  readonly text: string;
  readonly signatures: readonly SignatureLine[];
}

export interface AnchorFacts {
  readonly trust: Trust | null;
  readonly checks: Checks;
  /** Told of what is no head. */
  readonly findings: Findings;
  /** For tests. */
  readonly maxEntries?: number;
}

/**
 * Reads files of heads that were kept elsewhere.
 *
 * What stands in them beside heads (receipts, other log records) is passed over; what cannot be read is a finding.
 *
 * @throws TOOLSPAN_INVALID_OPTION for a file that cannot be opened.
 */
export async function loadAnchors(paths: readonly string[], facts: AnchorFacts): Promise<AnchorStore> {
  if (paths.length > MAX_FILES) throw invalid(`at most ${MAX_FILES} files`, String(paths.length));
  const store = new AnchorStore(facts.maxEntries);
  for (const path of new Set(paths)) await readAnchors(path, store, facts);
  if (store.full) facts.findings.add("TOO_MANY", paths[0] ?? "", null, "more heads than can be kept in bounded memory");
  return store;
}

async function readAnchors(path: string, store: AnchorStore, { trust, checks, findings }: AnchorFacts): Promise<void> {
  const take = (line: number, { head, text, signatures }: Note): void => {
    const { log, size, root, keyName } = head;
    const signing = trust === null ? null : signingOf({ keyName, text, signatures }, trust, checks);
    store.add({ log, size, root, file: path, line, signing });
  };
  const refuse = (line: number, message: string): void => findings.add("UNREADABLE_ANCHORS", path, line, message);
  const notes = new NoteReader(take, refuse);
  let batches: boolean | null = null;
  try {
    const tail = await readLines(
      path,
      (line, number) => {
        if (batches === null && line.bytes.length > 0) batches = line.bytes[0] === OPENING_BRACE;
        if (batches === true) takeBatch(line, number, take, refuse);
        else notes.take(line, number);
      },
      { maxBytes: MAX_BATCH_BYTES, followLink: true },
    );
    if (batches !== true) notes.end();
    if (tail.bytes.length > 0) refuse(tail.lines + 1, "its last line was not written to its end");
  } catch (error) {
    throw invalid("a file of heads that can be read", `${path}: ${wordOf(error)}`);
  }
}

/** Takes checkpoint texts apart, one after another. */
class NoteReader {
  readonly #take: (line: number, note: Note) => void;
  readonly #refuse: (line: number, message: string) => void;
  /** Lines of the note that is being read. */
  #lines: string[] = [];
  #first = 1;
  /** True while what is read belongs to a note that was refused. */
  #skipping = false;

  constructor(take: (line: number, note: Note) => void, refuse: (line: number, message: string) => void) {
    this.#take = take;
    this.#refuse = refuse;
  }

  take({ bytes, overlong }: Line, number: number): void {
    const text = overlong || !isUtf8(bytes) ? "\0" : bytes.toString("utf8");
    const signature = text.startsWith(SIGNATURE_START);
    if (this.#lines.length >= 4 && !signature) this.end();
    if (this.#skipping && (text === "" || signature)) return;
    if (this.#lines.length === 0 && text === "") return;
    if (this.#lines.length === 0) this.#first = number;
    this.#skipping = false;
    this.#lines.push(text);
    if (this.#lines.length === 4 && text !== "") this.#fail("it is not a head: three lines, a blank one, signatures");
    else if (this.#lines.length > 4 + MAX_SIGNATURES) this.#fail("it has too many signatures");
  }

  /** Nothing more belongs to the note that is being read. */
  end(): void {
    const lines = this.#lines;
    if (lines.length === 0) return;
    const note = lines.length < 4 ? null : noteOf(lines);
    if (note === null) this.#fail("it is not a head of a receipt log");
    else this.#take(this.#first, note);
    this.#lines = [];
  }

  #fail(message: string): void {
    this.#refuse(this.#first, message);
    this.#lines = [];
    this.#skipping = true;
  }
}

/** The note that these lines are; null when they are none of a receipt log. */
function noteOf([origin = "", size = "", root = "", blank, ...rest]: readonly string[]): Note | null {
  const head = parseCheckpoint(origin, size, root);
  const signatures = rest.map(parseSignatureLine);
  if (head === null || !uuid.accepts(head.log) || head.size === 0 || blank !== "") return null;
  if (!signatures.every((signature) => signature !== null)) return null;
  if (head.keyName !== null && !signatures.some(({ name }) => name === head.keyName)) return null;
  return { head, text: `${origin}\n${size}\n${root}\n`, signatures };
}

function takeBatch(
  { bytes, overlong }: Line,
  number: number,
  take: (line: number, note: Note) => void,
  refuse: (line: number, message: string) => void,
): void {
  if (bytes.length === 0) return;
  if (overlong || bytes[0] !== OPENING_BRACE || bytes[bytes.length - 1] !== CLOSING_BRACE) {
    refuse(number, "it is no export request");
    return;
  }
  // Receipts are many and long: what names no head is not parsed.
  if (!bytes.includes(HEAD_EVENT_BYTES)) return;
  const bodies = headBodiesIn(bytes);
  if (bodies === null) refuse(number, "it is no export request");
  for (const body of bodies ?? []) {
    const note = body === null ? null : noteIn(body);
    if (note === null) refuse(number, `its record ${HEAD_EVENT} holds no head of the log that it names`);
    else take(number, note);
  }
}

/** Bodies of the records that carry heads, with the log that each names; null for a record without a text. */
function headBodiesIn(
  bytes: Buffer,
): readonly ({ readonly text: string; readonly log: string | null } | null)[] | null {
  const request = otlpRequestIn(bytes);
  if (request === null) return null;
  return objectsIn(request.resourceLogs)
    .flatMap((resource) => objectsIn(resource.scopeLogs))
    .flatMap((scope) => objectsIn(scope.logRecords))
    .filter(({ eventName }) => eventName === HEAD_EVENT)
    .map(({ body, attributes }) => {
      const text = isObject(body) ? body.stringValue : undefined;
      return typeof text === "string" ? { text, log: textAttribute(attributes, "toolspan.log") } : null;
    });
}

function noteIn({ text, log }: { readonly text: string; readonly log: string | null }): Note | null {
  if (!text.endsWith("\n")) return null;
  const note = noteOf(text.slice(0, -1).split("\n"));
  return note !== null && (log === null || log === note.head.log) ? note : null;
}

function invalid(expected: string, received: string): ToolspanError {
  return new ToolspanError("TOOLSPAN_INVALID_OPTION", { subject: "verifyLog", option: "anchors", expected, received });
}
