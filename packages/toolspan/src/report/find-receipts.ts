/** Finds receipts in logs, by the conversation or the traces that they name. */

import { readLines } from "../files/read-lines.ts";
import { type ReceiptEntry, receiptOfLine } from "./receipt-entry.ts";

export interface FoundReceipts {
  /** The latest, in the order of the logs. */
  readonly receipts: readonly ReceiptEntry[];
  /** Logs that hold at least one of them. */
  readonly logs: readonly string[];
  /** How many fit in all. */
  readonly total: number;
}

/**
 * Reads logs for receipts.
 *
 * @param sessionId Only receipts of this conversation; every receipt where it is undefined.
 * @param limit At most so many are given, the latest; all are counted.
 */
export async function findReceipts(
  paths: readonly string[],
  sessionId: string | undefined,
  limit: number,
): Promise<FoundReceipts> {
  const needle = sessionId === undefined ? "" : JSON.stringify(sessionId);
  const logs = new Set<string>();
  let receipts: ReceiptEntry[] = [];
  let total = 0;
  for (const path of paths) {
    for await (const { text } of readLines(path)) {
      if (!text.includes(needle)) continue;
      const receipt = receiptOfLine(text);
      if (receipt === undefined || (sessionId !== undefined && receipt.sessionId !== sessionId)) continue;
      total += 1;
      logs.add(path);
      receipts.push(receipt);
      if (receipts.length >= 2 * limit) receipts = receipts.slice(-limit);
    }
  }
  return { receipts: receipts.slice(-limit), logs: [...logs], total };
}
