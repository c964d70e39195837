/** Draws receipts as a table, for logs whose spans are not at hand. */

import type { Paint } from "../terminal/paint.ts";
import { duration } from "../terminal/quantity.ts";
import { terminalText } from "../terminal/terminal-text.ts";
import { alignRight, inColumns } from "../terminal/terminal-width.ts";
import type { ReceiptEntry } from "./receipt-entry.ts";

const TIME_COLUMNS = 30;
const TOOK_COLUMNS = 9;
const TOOL_COLUMNS = 32;

/** Lines without their newlines, the first a heading. What comes from the log is escaped. */
export function receiptTable(receipts: readonly ReceiptEntry[], paint: Paint): readonly string[] {
  const heading = [
    inColumns("started", TIME_COLUMNS),
    inColumns("tool", TOOL_COLUMNS),
    alignRight("took", TOOK_COLUMNS),
    "outcome",
  ];
  return [paint.faint(heading.join(" ")), ...receipts.map((receipt) => row(receipt, paint))];
}

function row(receipt: ReceiptEntry, paint: Paint): string {
  const { startedAt, toolName, durationMs, status, errorType, ok } = receipt;
  const words = terminalText(errorType === null || errorType === status ? status : `${status}, ${errorType}`);
  return [
    inColumns(terminalText(startedAt), TIME_COLUMNS),
    inColumns(terminalText(toolName), TOOL_COLUMNS),
    alignRight(duration(durationMs), TOOK_COLUMNS),
    ok ? words : paint.bad(words),
  ].join(" ");
}
