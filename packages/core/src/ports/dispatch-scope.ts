/** What is known about one dispatch while it runs; shared by layers, recorders and observers. */

import type { Clock, Reading } from "../vocabulary/clock.ts";
import type { ToolCall } from "../vocabulary/tool-call.ts";
import type { Digest, Hasher } from "./hasher.ts";

/** The span that stands for a dispatch. */
export interface TraceRef {
  /** 32 lower-case hex digits. */
  readonly traceId: string;
  /** 16 lower-case hex digits. */
  readonly spanId: string;
  readonly sampled: boolean;
}

export interface DispatchScope {
  /** UUIDv7, unique: the only join key between spans, records, events and receipts. */
  readonly id: string;
  /** The call as the dispatch was entered. */
  readonly call: ToolCall;
  readonly clock: Clock;
  readonly startedAt: Reading;
  /** Set by the first observer; null where none has a trace. */
  readonly trace: TraceRef | null;
  /** The hasher that serves all recorded values; null where nobody brought one. */
  readonly hasher: Hasher | null;
  /** Digest of the arguments as entered; null when nobody records them. */
  readonly argsDigest: Digest | null;
}
