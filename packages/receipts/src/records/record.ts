/** All records of a receipt log: their types, their published JSON Schemas, and the check that follows the same tables. */

import { type Envelope, SCHEMA_VERSION } from "./envelope.ts";
import { type Erasure, erasureFields } from "./erasure.ts";
import { closedSchema, type Field, type JsonSchema } from "./field.ts";
import { type Heartbeat, heartbeatFields } from "./heartbeat.ts";
import { type IntentRecord, intentFields } from "./intent.ts";
import { type KeyRotation, keyRotationFields } from "./key-rotation.ts";
import { type LateSettlementRecord, lateSettlementFields } from "./late-settlement.ts";
import { type Prune, pruneFields } from "./prune.ts";
import { receiptFields, type ToolCallReceipt } from "./receipt.ts";
import { type Recovery, recoveryFields } from "./recovery.ts";
import { type SegmentClose, segmentCloseFields } from "./segment-close.ts";
import { type SegmentOpen, segmentOpenFields } from "./segment-open.ts";

/** A receipt as it stands in a log. */
export type LoggedReceipt = ToolCallReceipt & Envelope;

/** One line of a receipt log. */
export type LogRecord =
  | SegmentOpen
  | LoggedReceipt
  | IntentRecord
  | SegmentClose
  | Recovery
  | Heartbeat
  | KeyRotation
  | Erasure
  | LateSettlementRecord
  | Prune;

export type RecordName = LogRecord["record"];

const FIELDS: Readonly<Record<RecordName, Readonly<Record<string, Field>>>> = {
  segment_open: { ...segmentOpenFields },
  receipt: { ...receiptFields },
  intent: { ...intentFields },
  segment_close: { ...segmentCloseFields },
  recovery: { ...recoveryFields },
  heartbeat: { ...heartbeatFields },
  key_rotation: { ...keyRotationFields },
  erasure: { ...erasureFields },
  late_settlement: { ...lateSettlementFields },
  prune: { ...pruneFields },
};

/** The JSON Schema (draft 2020-12) of each record, also published as `schemas/<record>.json`. */
export const RECORD_SCHEMAS: Readonly<Record<RecordName, JsonSchema>> = Object.fromEntries(
  Object.entries(FIELDS).map(([name, fields]) => [
    name,
    {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      $id: `urn:toolspan:record:${name}:${SCHEMA_VERSION}`,
      title: `Toolspan receipt log, record ${name}`,
      ...closedSchema(fields),
    },
  ]),
) as unknown as Readonly<Record<RecordName, JsonSchema>>;

const TABLES: ReadonlyMap<unknown, readonly (readonly [string, Field])[]> = new Map(
  Object.entries(FIELDS).map(([name, fields]) => [name, Object.entries(fields)]),
);

/** Why a parsed line is not a record: the field at fault, or what makes it unreadable for this version. */
export type RecordFault = { readonly field: string } | { readonly unknown: "record" | "schema_version" };

/** Checks a parsed line against its record's schema; null when it keeps to it. Says the same as the JSON Schema. */
export function faultOf(line: Readonly<Record<string, unknown>>): RecordFault | null {
  if (line.schema_version !== SCHEMA_VERSION) {
    return Number.isSafeInteger(line.schema_version) ? { unknown: "schema_version" } : { field: "schema_version" };
  }
  const table = TABLES.get(line.record);
  if (table === undefined) return typeof line.record === "string" ? { unknown: "record" } : { field: "record" };
  let present = 0;
  for (const [name, field] of table) {
    if (!Object.hasOwn(line, name) || !field.accepts(line[name])) return { field: name };
    present++;
  }
  if (Object.keys(line).length === present) return null;
  return { field: Object.keys(line).find((name) => !table.some(([known]) => known === name)) ?? "" };
}
