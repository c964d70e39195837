/** Counts what a report shows, and remembers refusals and gaps for its end, within bounds. */

import type { EvidenceEntry } from "./evidence-entry.ts";
import type { EvidenceEnd, EvidenceGap } from "./evidence-writer.ts";

/** More than this nobody reads at the end of a report; each refusal also stands among the actions. */
const MAX_KEPT = 10_000;

export class EvidenceCollector {
  readonly #refusals: EvidenceEntry[] = [];
  readonly #gaps: EvidenceGap[] = [];
  readonly #statuses = new Map<string, number>();
  #moreGaps = 0;
  #receipts = 0;
  #ok = 0;
  #refused = 0;
  #replayed = 0;
  #notShown = 0;

  add(entry: EvidenceEntry): void {
    this.#receipts++;
    if (entry.ok) this.#ok++;
    if (entry.replayed) this.#replayed++;
    this.#statuses.set(entry.status, (this.#statuses.get(entry.status) ?? 0) + 1);
    if (!entry.refused) return;
    this.#refused++;
    if (this.#refusals.length < MAX_KEPT) this.#refusals.push(entry);
  }

  gap(gap: EvidenceGap): void {
    if (this.#gaps.length < MAX_KEPT) this.#gaps.push(gap);
    else this.#moreGaps++;
  }

  notShown(lines: number): void {
    this.#notShown += lines;
  }

  end(): EvidenceEnd {
    return {
      refusals: this.#refusals,
      more_refusals: this.#refused - this.#refusals.length,
      gaps: this.#gaps,
      more_gaps: this.#moreGaps,
      totals: {
        receipts: this.#receipts,
        ok: this.#ok,
        failed: this.#receipts - this.#ok - this.#refused,
        refused: this.#refused,
        replayed: this.#replayed,
        lines_not_shown: this.#notShown,
        statuses: Object.fromEntries([...this.#statuses].sort(([a], [b]) => (a < b ? -1 : 1))),
      },
    };
  }
}
