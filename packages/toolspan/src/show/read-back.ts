/** Counts what one run of the demo left on disk, from the files themselves: nothing that was meant to be written counts. */

import { ATTR, EXECUTE_TOOL } from "../attributes.ts";
import { Sample } from "../demo/sample.ts";
import { asObject, parseObject } from "../files/json.ts";
import { readLines } from "../files/read-lines.ts";
import { receiptOfLine } from "../report/receipt-entry.ts";
import { attributeOf, spansOfLine, type TraceSpan } from "./trace-span.ts";

export interface ReceiptsOnDisk {
  readonly receipts: number;
  readonly failed: number;
  /** Logs of this process. */
  readonly logs: readonly string[];
  /** A trace worth showing, if there is one. */
  readonly sample: { readonly traceId: string; readonly sessionId: string | null } | undefined;
}

/**
 * Reads the logs of this process back.
 *
 * @param paths Logs that were not there before; those that another process opened meanwhile are passed over.
 */
export async function readBackReceipts(paths: readonly string[]): Promise<ReceiptsOnDisk> {
  const sample = new Sample();
  const logs: string[] = [];
  let receipts = 0;
  let failed = 0;
  for (const path of paths) {
    for await (const { number, text } of readLines(path)) {
      if (number === 1) {
        if (!isOurs(text)) break;
        logs.push(path);
      }
      const receipt = receiptOfLine(text);
      if (receipt === undefined) continue;
      receipts += 1;
      if (!receipt.ok) failed += 1;
      sample.take(receipt);
    }
  }
  return { receipts, failed, logs, sample: sample.best() };
}

export interface SpansOnDisk {
  /** Roots of dispatches: spans of operation `execute_tool`. */
  readonly dispatches: number;
  /** Every span of the trace that was asked for. */
  readonly traced: readonly TraceSpan[];
}

/** Reads a file of spans back, with the spans of one trace. */
export async function readBackSpans(path: string, traceId: string | undefined): Promise<SpansOnDisk> {
  const traced: TraceSpan[] = [];
  let dispatches = 0;
  for await (const { text } of readLines(path)) {
    for (const span of spansOfLine(text) ?? []) {
      if (attributeOf(span, ATTR.operationName) === EXECUTE_TOOL) dispatches += 1;
      if (span.traceId === traceId) traced.push(span);
    }
  }
  return { dispatches, traced };
}

/** A log's first line names its writer. */
function isOurs(firstLine: string): boolean {
  const opened = parseObject(firstLine);
  return opened?.record === "segment_open" && asObject(opened.writer)?.pid === process.pid;
}
