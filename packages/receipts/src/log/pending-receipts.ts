/** The receipts of one log that are on their way: whom to tell that they are written, and which ones a failed log leaves in doubt. */

import type { ReceiptNews } from "./receipt-news.ts";

/** A receipt of a failed log of which nobody knows whether it is there. */
export interface Orphan {
  readonly line: string;
  /** True when it was told as written already. */
  readonly told: boolean;
}

/** What a log has to do for a receipt. */
export interface ReceiptCare {
  /** Nobody waits for it: it is remembered until it is durable. */
  readonly kept?: boolean;
  /** It was told as written already, by another log. */
  readonly told?: boolean;
}

interface KeptReceipt {
  readonly seq: number;
  readonly line: string;
}

export class PendingReceipts {
  readonly #news: ReceiptNews;
  readonly #onOrphans: (orphans: readonly Orphan[], error: unknown) => void;
  /** Added, and not told as written yet. */
  #untold = 0;
  /** Receipts that nobody waits for, until they are durable. */
  #unsure: KeptReceipt[] = [];

  /** @param onOrphans Told when the log fails, of the receipts that nobody waits for. */
  constructor(news: ReceiptNews, onOrphans: (orphans: readonly Orphan[], error: unknown) => void) {
    this.#news = news;
    this.#onOrphans = onOrphans;
  }

  add(seq: number, line: string, { kept = false, told = false }: ReceiptCare): void {
    if (!told) this.#untold++;
    if (kept) this.#unsure.push({ seq, line });
  }

  /** Every receipt so far was accepted by the operating system. */
  nowWritten(): void {
    if (this.#untold > 0) this.#news.written(this.#untold);
    this.#untold = 0;
  }

  /** The first `lines` lines of the log are durable. */
  nowDurable(lines: number): void {
    if (this.#unsure.length > 0) this.#unsure = this.#unsure.filter(({ seq }) => seq >= lines);
  }

  /** The log has failed when `written` of its lines had been accepted. */
  nowLost(written: number, error: unknown): void {
    const orphans = this.#unsure.map(({ seq, line }) => ({ line, told: seq < written }));
    this.#unsure = [];
    const lost = this.#untold - orphans.filter(({ told }) => !told).length;
    this.#untold = 0;
    if (lost > 0) this.#news.lost(lost, error);
    if (orphans.length > 0) this.#onOrphans(orphans, error);
  }
}
