/** What a line says and is, before its neighbours and the heads over it are looked at. */

import type { Chain } from "../../records/envelope.ts";
import type { IntentRecord } from "../../records/intent.ts";
import type { LateSettlementRecord } from "../../records/late-settlement.ts";
import type { LoggedReceipt, LogRecord } from "../../records/record.ts";
import type { Line } from "./line-buffer.ts";
import { type ParsedLine, parseLine } from "./parse-line.ts";

type Named = "record" | "dispatch_id" | "emitted_at";

/** What verification needs of the records that stand in logs by the thousand. */
export type KeyedFacts =
  | Pick<LoggedReceipt, Named>
  | Pick<IntentRecord, Named | "attempt">
  | Pick<LateSettlementRecord, Named | "attempt">;

/** A record, or as much of it as verification needs. */
export type SeenRecord =
  | Exclude<LogRecord, { readonly dispatch_id: string; readonly attempt: number } | LoggedReceipt>
  | KeyedFacts;

export interface ExaminedLine {
  /** RFC 6962 leaf hash, lower-case hex. */
  readonly leaf: string;
  readonly chain: Chain | null;
  readonly problem: ParsedLine["problem"];
  readonly record: SeenRecord | null;
}

/** Hashes, parses and checks one line. */
export function examineLine(line: Line, strict: boolean): ExaminedLine {
  const leaf = line.leaf();
  const { chain, problem, record } = parseLine(line, strict);
  return { leaf, chain, problem, record };
}

export function isKeyed(record: SeenRecord): record is KeyedFacts {
  return record.record === "receipt" || record.record === "intent" || record.record === "late_settlement";
}
