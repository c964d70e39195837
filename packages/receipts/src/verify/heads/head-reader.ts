/** Reads the entries of a file of heads one by one, in bounded memory. */

import { closeSync, fstatSync, readSync } from "node:fs";
import { parseSignatureLine, type SignatureLine } from "../../keys/signature-line.ts";
import {
  isTornCheckpoint,
  isTornSignature,
  type NamedCheckpoint,
  parseCheckpoint,
  SIGNATURE_START_LATIN1,
} from "../../log/checkpoint.ts";
import { openRegular } from "../lines/read-lines.ts";

const CHUNK_BYTES = 4096;
/** An entry is three short lines and its signatures; what goes on without a newline is none. */
const MAX_REST = 4096;
const MAX_SIGNATURES = 64;
/** A whole entry; files are read as Latin-1, so that every byte counts. */
export interface Head {
  readonly kind: "head";
  readonly line: number;
  readonly head: NamedCheckpoint;
  readonly text: string;
  /** What is signed. */
  readonly body: string;
  readonly signatures: readonly SignatureLine[];
}

export type HeadEntry =
  | Head
  | { readonly kind: "torn"; readonly line: number }
  | { readonly kind: "damaged"; readonly line: number };

export class HeadReader {
  readonly #fd: number;
  readonly #log: string;
  readonly #origins: readonly string[] | null;
  readonly #lines: string[] = [];
  /** Bytes still to read: a head that is written while lines are read vouches for lines that were not there yet. */
  #left: number;
  #rest = "";
  #ended = false;
  #number = 1;

  /** @param origins Origins of the log's writer; null when they are not known. */
  constructor(path: string, log: string, origins: readonly string[] | null = null) {
    this.#origins = origins;
    this.#fd = openRegular(path);
    this.#log = log;
    this.#left = fstatSync(this.#fd).size;
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** The next entry, or null at the end. */
  next(): HeadEntry | null {
    const line = this.#number;
    this.#fill(4);
    const [origin, size, root, blank] = this.#lines;
    if (blank === undefined) return this.#atEnd(line);
    const head = parseCheckpoint(origin as string, size as string, root as string);
    if (head === null || head.log !== this.#log || head.size === 0 || blank !== "") return this.#damaged(line);
    const body = this.#take(4);
    const lines = this.#takeSignatures();
    const signatures = lines.map((text) => parseSignatureLine(Buffer.from(text, "latin1").toString("utf8")));
    if (!isSignedAsItSays(head, signatures)) {
      if (lines.length > 0 || !this.#isTornBefore(head)) return this.#damaged(line, 0);
      this.#rest = "";
      return { kind: "torn", line };
    }
    const text = [...body, ...lines].map((part) => `${part}\n`).join("");
    return {
      kind: "head",
      line,
      head,
      text,
      body: body
        .slice(0, 3)
        .map((part) => `${part}\n`)
        .join(""),
      signatures,
    };
  }

  #takeSignatures(): readonly string[] {
    const lines: string[] = [];
    for (
      this.#fill(1);
      this.#lines[0]?.startsWith(SIGNATURE_START_LATIN1) && lines.length < MAX_SIGNATURES;
      this.#fill(1)
    ) {
      lines.push(...this.#take(1));
    }
    return lines;
  }

  /** True when the file ends where the signature of `head` has to stand. */
  #isTornBefore({ keyName }: NamedCheckpoint): boolean {
    return keyName !== null && this.#ended && this.#lines.length === 0 && isTornSignature(this.#rest, keyName);
  }

  /** What is left when there is no whole entry any more. */
  #atEnd(line: number): HeadEntry | null {
    const left = this.#lines.map((part) => `${part}\n`).join("") + this.#rest;
    this.#lines.length = 0;
    this.#rest = "";
    if (left === "") return null;
    return { kind: isTornCheckpoint(left, this.#log, this.#origins) ? "torn" : "damaged", line };
  }

  /** Goes on at the next line that begins an entry. */
  #damaged(line: number, skip = 1): HeadEntry {
    const origin = `/${this.#log}`;
    this.#take(skip);
    for (this.#fill(1); this.#lines.length > 0 && !this.#lines[0]?.endsWith(origin); this.#fill(1)) this.#take(1);
    if (this.#lines.length === 0) this.#rest = "";
    return { kind: "damaged", line };
  }

  #take(count: number): string[] {
    this.#number += count;
    return this.#lines.splice(0, count);
  }

  /** Sees to it that `count` lines are there, if the file has as many. */
  #fill(count: number): void {
    while (this.#lines.length < count && !this.#ended) {
      const chunk = Buffer.alloc(CHUNK_BYTES);
      const read = readSync(this.#fd, chunk, 0, Math.min(CHUNK_BYTES, this.#left), null);
      this.#left -= read;
      this.#ended = read === 0;
      const parts = (this.#rest + chunk.toString("latin1", 0, read)).split("\n");
      this.#rest = (parts.pop() as string).slice(0, MAX_REST);
      this.#lines.push(...parts);
    }
  }
}

/** An unsigned head may bear signatures of others; one that names a key has to bear that key's. */
function isSignedAsItSays(
  { keyName }: NamedCheckpoint,
  signatures: readonly (SignatureLine | null)[],
): signatures is readonly SignatureLine[] {
  if (!signatures.every((signature) => signature !== null)) return false;
  return keyName === null || signatures.some(({ name }) => name === keyName);
}
