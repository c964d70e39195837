/** The line of any record but a receipt. */

import { canonicalJson } from "@toolspan/canonical";
import { type Chain, SCHEMA_VERSION } from "../records/envelope.ts";
import { nowText } from "./writer-identity.ts";

/** A record without the parts that the log gives it. */
export interface Unchained extends Readonly<Record<string, unknown>> {
  readonly record: string;
  readonly emitted_at?: string;
}

/** One line without its newline: `record` at its place, emitted now unless it says when. */
export function recordLine(record: Unchained, chain: Chain): string {
  const emitted_at = record.emitted_at ?? nowText();
  return canonicalJson({ ...record, schema_version: SCHEMA_VERSION, emitted_at, chain });
}
