/** `localReceiptSink`: the local log of one session, for explicit routing. */

import { canonicalJson } from "@toolspan/canonical";
import { kindOf, type ToolspanError } from "@toolspan/core";
import type { Signer } from "./keys/signer.ts";
import { assertSigner, signerOf } from "./keys/signer-of.ts";
import { LocalOutlet } from "./log/local-outlet.ts";
import { type SegmentLimitOptions, segmentLimitsOf } from "./log/segment-limits.ts";
import { invalidOption, oneOf, stateDirOf } from "./options.ts";
import type { ToolCallReceipt } from "./records/receipt.ts";
import { faultOf } from "./records/record.ts";

const SUBJECT = "localReceiptSink";

/** Marks a sink whose receipts go through the local log with its levels and policies. */
export const LOCAL: unique symbol = Symbol.for("toolspan.receipts.local") as never;

export interface LocalReceiptSinkOptions extends SegmentLimitOptions {
  /** State root; default `TOOLSPAN_STATE_DIR`, else `.toolspan` under the project root. */
  readonly stateDir?: string;
  /** How layers appear in receipts. Default `"compact"`. */
  readonly layers?: "compact" | "full";
  /** Form of `receipt_uri`; `"relative"` (to the state root) for logs that leave the host. Default `"absolute"`. */
  readonly receiptUri?: "absolute" | "relative";
  /** As in `withAuditLog`. */
  readonly signer?: Signer | null;
}

/** A sink that is also a function: called with a receipt it resolves once that receipt is durable. */
export interface LocalReceiptSink {
  (receipt: ToolCallReceipt): Promise<void>;
  readonly [LOCAL]: LocalOutlet;
  flush(): Promise<void>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Appends receipts to the log of one session, whichever session the calls belong to.
 *
 * The same sink that `withAuditLog("local")` uses for each session: `<state root>/receipts/<escaped session id>.jsonl`, chained, one line a receipt. A restart or a second writer takes the next numbered file.
 *
 * @param sessionId Names the file and stands in its first line; null for calls without a session.
 * @returns A sink for `withAuditLog`, also callable with a receipt that was made elsewhere; then it rejects with the store's error, or with TOOLSPAN_INVALID_OPTION for what is no receipt.
 * @throws TOOLSPAN_RECEIPT_STORE when made, if the folder cannot be used; TOOLSPAN_SIGNING_KEY as `withAuditLog`; TOOLSPAN_INVALID_OPTION for a bad id or option.
 */
export function localReceiptSink(sessionId: string | null, options: LocalReceiptSinkOptions = {}): LocalReceiptSink {
  if (sessionId !== null && typeof sessionId !== "string") {
    throw invalid("sessionId", "a string or null", kindOf(sessionId));
  }
  assertSigner("localReceiptSink", options.signer);
  const outlet = new LocalOutlet({
    stateDir: stateDirOf(SUBJECT, options.stateDir),
    layers: oneOf(SUBJECT, "layers", ["compact", "full"], options.layers),
    addresses: oneOf(SUBJECT, "receiptUri", ["absolute", "relative"], options.receiptUri),
    scope: "session",
    signer: signerOf(options.signer),
    limits: segmentLimitsOf(SUBJECT, options),
    sessionId,
  });
  const append = async (receipt: ToolCallReceipt): Promise<void> => {
    const fault = faultOf({ ...receipt });
    if (fault !== null) {
      throw invalid(
        "receipt",
        "a receipt",
        "field" in fault ? `one whose ${fault.field} is none` : `an unknown ${fault.unknown}`,
      );
    }
    const { audit, chain: _, duration_ms, ...rest } = receipt;
    await outlet.copy({ ...rest, auditText: canonicalJson(audit), durationText: String(duration_ms) }).durable();
  };
  return Object.assign(append, {
    [LOCAL]: outlet,
    flush: () => outlet.flush(),
    close: () => outlet.close(),
    [Symbol.asyncDispose]: () => outlet.close(),
  });
}

function invalid(option: string, expected: string, received: string): ToolspanError {
  return invalidOption(SUBJECT, option, expected, received);
}
