/** Lines and heads of a log as OTLP log records, written as JSON text. */

import { isUtf8 } from "node:buffer";
import { isObject, spanId, time, traceId, uuid } from "../records/field.ts";

const RECEIPT_EVENT = "toolspan.tool_call.receipt";
const HEAD_EVENT = "toolspan.receipts.head";
const SCOPE = '{"name":"@toolspan/receipts","version":"0.1.0"}';

/** Where a line stands, as its reader counted. */
export interface LinePlace {
  readonly log: string;
  readonly seq: number;
}

/**
 * One line as a log record: its body is the line byte for byte, what stands beside it serves to find it.
 *
 * A line that is not UTF-8, which no writer leaves, travels as `bytesValue`. Equal lines give equal records, so that duplicates can be told.
 *
 * @source OTLP 1.x, `opentelemetry.proto.logs.v1.LogRecord`, JSON form: 64-bit integers as strings, ids as hex
 */
export function lineRecord(bytes: Buffer, place: LinePlace): string {
  const text = isUtf8(bytes) ? bytes.toString("utf8") : null;
  const record = text === null ? {} : objectIn(text);
  const body = text === null ? bytesValue(bytes) : stringValue(text);
  const at = time.accepts(record.emitted_at) ? nanosOf(record.emitted_at as string) : null;
  const ids =
    (traceId.accepts(record.trace_id) ? `"traceId":"${record.trace_id}",` : "") +
    (spanId.accepts(record.span_id) ? `"spanId":"${record.span_id}",` : "");
  const attributes = [
    textAttribute("toolspan.record", typeof record.record === "string" ? record.record : "unreadable"),
    ...(uuid.accepts(record.dispatch_id) ? [textAttribute("toolspan.dispatch_id", record.dispatch_id as string)] : []),
    textAttribute("toolspan.log", place.log),
    countAttribute("toolspan.seq", place.seq),
  ];
  return (
    `{${at === null ? "" : `"timeUnixNano":"${at}","observedTimeUnixNano":"${at}",`}${severityOf(record)},` +
    `"eventName":"${RECEIPT_EVENT}","body":${body},${ids}"attributes":[${attributes.join(",")}]}`
  );
}

/** One head as a log record: its body is the checkpoint text with its signature lines. */
export function headRecord(text: string, head: { readonly log: string; readonly size: number }): string {
  const attributes = [
    textAttribute("toolspan.record", "head"),
    textAttribute("toolspan.log", head.log),
    countAttribute("toolspan.head.size", head.size),
  ];
  return `{${severity(true)},"eventName":"${HEAD_EVENT}","body":${stringValue(text)},"attributes":[${attributes.join(",")}]}`;
}

/** The body of `POST /v1/logs`. */
export function exportRequest(resource: string, records: readonly string[]): string {
  return `{"resourceLogs":[{"resource":${resource},"scopeLogs":[{"scope":${SCOPE},"logRecords":[${records.join(",")}]}]}]}`;
}

/** Attributes of the resource, as JSON text. */
export function resourceText(attributes: Readonly<Record<string, string>>): string {
  const list = Object.entries(attributes).map(([key, value]) => textAttribute(key, value));
  return `{"attributes":[${list.join(",")}]}`;
}

function severityOf(record: Readonly<Record<string, unknown>>): string {
  const calm = record.record === "receipt" ? record.ok === true : record.record !== "recovery";
  return severity(calm);
}

function severity(calm: boolean): string {
  return calm ? '"severityNumber":9,"severityText":"INFO"' : '"severityNumber":13,"severityText":"WARN"';
}

/** Unix nanoseconds of a time with nine decimals. */
function nanosOf(text: string): string | null {
  const seconds = Date.parse(`${text.slice(0, 19)}Z`) / 1000;
  return Number.isSafeInteger(seconds) && seconds > 0 ? `${seconds}${text.slice(20, 29)}` : null;
}

function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {}; // a damaged line travels as it is
  }
}

function textAttribute(key: string, value: string): string {
  return `{"key":${JSON.stringify(key)},"value":${stringValue(value)}}`;
}

function countAttribute(key: string, value: number): string {
  return `{"key":"${key}","value":{"intValue":"${value}"}}`;
}

function stringValue(text: string): string {
  return `{"stringValue":${JSON.stringify(text)}}`;
}

function bytesValue(bytes: Buffer): string {
  return `{"bytesValue":"${bytes.toString("base64")}"}`;
}
