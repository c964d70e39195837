/** What is fixed when a dispatch ends: the one object that receipt, span, metric and event are made from. */

import type { Reading } from "../vocabulary/clock.ts";
import type { LayerRun } from "../vocabulary/record.ts";
import type { Executor, ToolCall } from "../vocabulary/tool-call.ts";
import type { DispatchResult } from "../vocabulary/tool-result.ts";
import type { DispatchScope } from "./dispatch-scope.ts";
import type { Digest } from "./hasher.ts";
import type { ReceiptRef } from "./recorder.ts";

export interface DispatchOutcome {
  readonly dispatch: DispatchScope;
  /** The result before any receipt failure. */
  readonly result: DispatchResult;
  /** Low-cardinality failure word: same on span, metric and receipt; undefined on success. */
  readonly errorType: string | undefined;
  /** One per layer run, in order of entry; `toLayerRecord` gives the wire form. */
  readonly runs: readonly LayerRun[];
  /** When the result was fixed. */
  readonly endedAt: Reading;
  /** How often the handler was started. */
  readonly attempts: number;
  /** What the handler got last; null if it never ran or nobody records. */
  readonly executedArgs: Digest | null;
  readonly executor: Executor | null;
  /** Digest of the final result, computed on first use; null if there is no result. */
  resultDigest(): Digest | null;
}

/** An outcome as observers see it: after the recorders have spoken. */
export interface ObservedOutcome extends DispatchOutcome {
  /** The result that leaves the dispatcher. */
  readonly finalResult: DispatchResult;
  readonly finalErrorType: string | undefined;
  readonly receipt: ReceiptRef | undefined;
  /** When recorders were done: the end of the root span. */
  readonly observedAt: Reading;
  /** The call as content may be recorded of it: the dispatch's own, its arguments masked where a layer of the stack redacts. */
  contentCall(): ToolCall;
}

/** A handler that settled after its dispatch had ended without it. */
export interface LateSettlement {
  readonly dispatch: DispatchScope;
  readonly attempt: number;
  readonly startedAt: Reading;
  readonly settledAt: Reading;
  readonly ok: boolean;
  readonly errorType: string | undefined;
}
