/** What `show --json` prints. */

import { ATTR } from "../attributes.ts";
import type { ReceiptEntry } from "../report/receipt-entry.ts";
import type { Shown } from "./show.ts";
import { inOrder, msBetween, type SpanNode, selfMs, toSpanTrees } from "./span-tree.ts";
import { attributeOf } from "./trace-span.ts";

/** `{ traces: [{ trace_id, session_id, spans }], omitted_traces, receipts, receipt_count, logs }`; spans in the order drawn. */
export function toShownJson({ traces, receipts }: Shown): object {
  return {
    traces: traces.traces.map(({ traceId, sessionId, spans }) => ({
      trace_id: traceId,
      session_id: sessionId,
      spans: inOrder(toSpanTrees(spans)).map(spanJson),
    })),
    omitted_traces: traces.omitted,
    receipts: receipts.receipts.map(receiptJson),
    receipt_count: receipts.total,
    logs: receipts.logs,
  };
}

function spanJson(node: SpanNode): object {
  const { span } = node;
  const measured = attributeOf(span, ATTR.layerSelfTimeMs);
  return {
    name: span.name,
    span_id: span.spanId,
    parent_span_id: span.parentSpanId,
    start_time_unix_nano: String(span.startedAt),
    duration_ms: msBetween(span.startedAt, span.endedAt),
    self_time_ms: typeof measured === "number" ? measured : selfMs(node),
    failed: span.failed,
    status: attributeOf(span, ATTR.layerStatus) ?? attributeOf(span, ATTR.status) ?? null,
    error_type: attributeOf(span, ATTR.errorType) ?? null,
  };
}

function receiptJson(receipt: ReceiptEntry): object {
  return {
    dispatch_id: receipt.dispatchId,
    session_id: receipt.sessionId,
    trace_id: receipt.traceId,
    tool_name: receipt.toolName,
    status: receipt.status,
    ok: receipt.ok,
    error_type: receipt.errorType,
    started_at: receipt.startedAt,
    duration_ms: receipt.durationMs,
  };
}
