/** A receipt as it stands in a log, as far as the command shows it. */

import { parseObject } from "../files/json.ts";

export interface ReceiptEntry {
  readonly dispatchId: string;
  readonly sessionId: string | null;
  readonly traceId: string | null;
  readonly toolName: string;
  readonly status: string;
  readonly ok: boolean;
  readonly errorType: string | null;
  /** RFC 3339. */
  readonly startedAt: string;
  readonly durationMs: number;
}

/** The receipt on a line; undefined for the other records of a log and for everything else. */
export function receiptOfLine(line: string): ReceiptEntry | undefined {
  const record = parseObject(line);
  if (record?.record !== "receipt") return undefined;
  return {
    dispatchId: text(record.dispatch_id) ?? "",
    sessionId: text(record.session_id),
    traceId: text(record.trace_id),
    toolName: text(record.tool_name) ?? "",
    status: text(record.status) ?? "",
    ok: record.ok === true,
    errorType: text(record.error_type),
    startedAt: text(record.started_at) ?? "",
    durationMs: typeof record.duration_ms === "number" ? record.duration_ms : 0,
  };
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
