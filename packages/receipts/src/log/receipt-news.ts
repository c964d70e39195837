/** What is told of receipts that nobody waits for. */

export interface ReceiptNews {
  written(receipts: number): void;
  /** So many receipts more lie under a signed head. */
  sealed(receipts: number): void;
  lost(receipts: number, error: unknown): void;
}
