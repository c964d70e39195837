/** What an open log is made of, and whom it tells. */

import type { Signer } from "../keys/signer.ts";
import type { Orphan } from "./pending-receipts.ts";
import type { ReceiptNews } from "./receipt-news.ts";
import type { SegmentLimits } from "./segment-limits.ts";

export interface SegmentOptions {
  readonly fd: number;
  readonly folder: string;
  readonly file: string;
  readonly news: ReceiptNews;
  readonly signer: Signer | null;
  readonly limits: SegmentLimits;
  /** Told when the log has reached its size or age and no caller is there to see it; `idle` when it was silent. */
  readonly onDue: (idle: boolean) => void;
  /** Told when the log fails, of the receipts that nobody waits for. */
  readonly onOrphans: (orphans: readonly Orphan[], error: unknown) => void;
}
