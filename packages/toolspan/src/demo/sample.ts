/** Picks the run that is worth a look: short, and something went wrong in it. */

import type { ReceiptEntry } from "../report/receipt-entry.ts";

export interface SampleTrace {
  readonly traceId: string;
  readonly sessionId: string | null;
}

interface Candidate extends SampleTrace {
  calls: number;
  failed: number;
}

/** Only the first traces are looked at: a choice among a hundred thousand would not be better, only dearer. */
const MAX_CANDIDATES = 256;
/** A waterfall of so many tool calls still fits a screen; fewer than two show no sequence. */
const GOOD_CALLS = 3;
/** The spans of a longer run would not fit the memory of a demo that streams. */
const MAX_CALLS = 1000;

export class Sample {
  readonly #candidates = new Map<string, Candidate>();

  take({ traceId, sessionId, ok }: ReceiptEntry): void {
    if (traceId === null) return;
    let candidate = this.#candidates.get(traceId);
    if (candidate === undefined) {
      if (this.#candidates.size === MAX_CANDIDATES) return;
      candidate = { traceId, sessionId, calls: 0, failed: 0 };
      this.#candidates.set(traceId, candidate);
    }
    candidate.calls += 1;
    if (!ok) candidate.failed += 1;
  }

  /** A run with a failure before one without, then the one whose number of calls is nearest to three. */
  best(): SampleTrace | undefined {
    return [...this.#candidates.values()]
      .filter(({ calls }) => calls <= MAX_CALLS)
      .sort((a, b) => rank(a) - rank(b))[0];
  }
}

function rank({ calls, failed }: Candidate): number {
  return Math.abs(calls - GOOD_CALLS) + (failed > 0 ? 0 : 1000);
}
