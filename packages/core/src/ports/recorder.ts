/** Port: a recorder writes one receipt per dispatch, and alone may withhold a result. */

import type { DispatchScope } from "./dispatch-scope.ts";
import type { Digest, Hasher } from "./hasher.ts";
import type { Meter } from "./meter.ts";
import type { DispatchOutcome, LateSettlement } from "./outcome.ts";

/** How far a receipt has come. `pending` claims nothing. */
export type ReceiptLevel = "pending" | "written" | "durable" | "sealed" | "anchored" | "failed";

export interface ReceiptRef {
  readonly level: ReceiptLevel;
  /** Put into `result.audit.receipt_uri`; only for a receipt that is durably written. */
  readonly uri?: string;
  /** The local log that holds it. */
  readonly log?: string;
}

export interface RecorderReply {
  readonly receipt: ReceiptRef;
  /** Present when the policy demands that the result is withheld: the store's error. */
  readonly failure?: { readonly error: unknown };
}

/** Said before a handler starts. */
export interface Intent {
  readonly dispatch: DispatchScope;
  readonly attempt: number;
  readonly executedArgs: Digest | null;
}

export interface Recorder {
  /** Wire name, `with_audit_log`. */
  readonly name: string;
  /** Set when somebody configured one; it then serves all recorded values of the dispatcher. */
  readonly hasher?: Hasher;
  /** Used where nobody configured one. */
  readonly defaultHasher: Hasher;
  /** Given once, when the dispatcher is made, if an observer measures. */
  useMeter?(meter: Meter): void;
  /** Runs at the terminal before each attempt; a rejection keeps the handler from running. */
  intent?(intent: Intent): Promise<void>;
  record(outcome: DispatchOutcome): RecorderReply | Promise<RecorderReply>;
  late?(settlement: LateSettlement): void;
  flush(): Promise<void>;
  close(): Promise<void>;
}
