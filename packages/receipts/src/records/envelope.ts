/** What every line of a receipt log has: the kind of record, its version, when it was written, and its place in the chain. */

import { closed, constant, count, type Field, hex64, orNull, time, uuid } from "./field.ts";

/** Version of every record's shape. A reader that does not know it cannot say anything about the line. */
export const SCHEMA_VERSION = 1;

/** Longest line, bytes, its newline not counted. */
export const MAX_LINE_BYTES = 65_536;

/** A line's place in its log. */
export interface Chain {
  /** The log's id, a UUIDv7: one file, one writer. */
  readonly log: string;
  /** 0-based position, without gaps. */
  readonly seq: number;
  /** Leaf hash of the line before, 64 lower-case hex digits; null at `seq` 0. */
  readonly prev: string | null;
}

export interface Envelope {
  readonly record: string;
  readonly schema_version: typeof SCHEMA_VERSION;
  /** RFC 3339 UTC, nine decimals: when the line was made, by the writer's clock. */
  readonly emitted_at: string;
  readonly chain: Chain;
}

export const chain: Field = closed({ log: uuid, prev: orNull(hex64), seq: count });

export interface EnvelopeFields {
  readonly record: Field;
  readonly schema_version: Field;
  readonly emitted_at: Field;
  readonly chain: Field;
}

export function envelope(record: string): EnvelopeFields {
  return { record: constant(record), schema_version: constant(SCHEMA_VERSION), emitted_at: time, chain };
}
