/** `withAuditLog`: one receipt for every tool call. */

import {
  type Hasher,
  kindOf,
  type RecorderCaller,
  recorderCaller,
  type Sink,
  type ToolspanError,
} from "@toolspan/core";
import { AuditRecorder, type ReceiptPolicy, warnOfGuessing } from "./audit-recorder.ts";
import type { DeliveryOptions } from "./deliver/delivery-endpoint.ts";
import type { Undelivered } from "./deliver/forwarder.ts";
import { forwarderOf, isMirrored } from "./deliver/forwarder-of.ts";
import { FunctionOutlet, type ReceiptFunction } from "./function-outlet.ts";
import { type HashChoice, toHasher } from "./hash-choice.ts";
import type { Signer } from "./keys/signer.ts";
import { assertSigner, signerOf } from "./keys/signer-of.ts";
import { LOCAL, type LocalReceiptSink } from "./local-receipt-sink.ts";
import { LocalOutlet } from "./log/local-outlet.ts";
import { type SegmentLimitOptions, segmentLimitsOf } from "./log/segment-limits.ts";
import { stateRoot } from "./log/state-root.ts";
import { OpeningStore, type SubjectOf } from "./openings/opening-store.ts";
import { invalidOption, oneOf, stateDirOf } from "./options.ts";
import type { ToolCallReceipt } from "./records/receipt.ts";

/** Where receipts go: the local log, also on to an endpoint, a function, a sink, or the local log of one session. */
export type ReceiptSink = "local" | "cloud" | "both" | ReceiptFunction | Sink<ToolCallReceipt> | LocalReceiptSink;

export interface AuditLogOptions extends SegmentLimitOptions {
  /** Default `"local"`. */
  readonly sink?: ReceiptSink;
  /** Several sinks instead of one: local logs are written first, the others get the same receipt. */
  readonly sinks?: readonly ReceiptSink[];
  /** Default `"required"`. */
  readonly policy?: ReceiptPolicy;
  /** Exact key names that are left out, at any depth, before anything is hashed. */
  readonly redact?: readonly string[];
  /**
   * How all recorded values of the dispatcher are hashed, on spans too: a mode, or a hasher, which brings its own redact keys. Default plain SHA-256, with a warning once short arguments are hashed so.
   */
  readonly hash?: Hasher | HashChoice;
  /** Commitments: whom a call is about. Their openings lie in one file per subject, and go with it. Default the session. */
  readonly subject?: SubjectOf;
  /** Commitments: `"text"` also keeps what was hashed beside its salt, so that a hash can be opened without it lying anywhere else. Default `"salt"`. */
  readonly openings?: "salt" | "text";
  /** Layers in a receipt: name, status and self time, or all of each record. Default `"compact"`. */
  readonly layers?: "compact" | "full";
  /** One log for each session, or one for the whole process (servers). Default `"session"`. */
  readonly log?: "session" | "process";
  /** Form of `receipt_uri`; `"relative"` (to the state root) for logs that leave the host. Default `"absolute"`. */
  readonly receiptUri?: "absolute" | "relative";
  /** State root; default `TOOLSPAN_STATE_DIR`, else `.toolspan` under the project root. */
  readonly stateDir?: string;
  /** Signs the heads of local logs: a `fileSigner`, a `commandSigner` or your own. Default: the key file that `TOOLSPAN_SIGNING_KEY` names; without one, and with null, heads are unsigned. */
  readonly signer?: Signer | null;
  /** `"cloud"` and `"both"`: where receipts and heads are delivered. Default `TOOLSPAN_RECEIPTS_OTLP_ENDPOINT`. */
  readonly delivery?: DeliveryOptions;
  /** Longest time that `flush` and `close` wait, milliseconds, > 0. Default 10,000. */
  readonly flushTimeoutMs?: number;
}

/** What stands in the list of layers, and ends what it opened. */
export type AuditLog = RecorderCaller & {
  /**
   * Makes every receipt so far durable, under a head, waits for functions that still run, and delivers.
   *
   * @returns What the endpoint has not answered for by then, and what it has refused; zeros for nothing; null without one. It stays in the logs.
   */
  flush(): Promise<Undelivered | null>;
  /** Flushes, closes all logs, and ends delivery; returns the same. A later receipt opens a new log. */
  close(): Promise<Undelivered | null>;
  [Symbol.asyncDispose](): Promise<void>;
};

const SUBJECT = "withAuditLog";
const DEFAULT_FLUSH_TIMEOUT_MS = 10_000;

/**
 * Leaves one receipt for every dispatch, refusals included, that an outsider can verify offline.
 *
 * `"local"` appends to `<state root>/receipts/<session>.jsonl`, a chained log under Merkle heads; a function gets each receipt as an object. Arguments and results appear as hashes only; `hash` says of which kind. What opens commitments is durable before the line that holds them.
 * `"both"` also delivers lines and heads to an OTLP endpoint, in the background, from the log; `"cloud"` does the same and gives results no `receipt_uri`.
 * Policy `required` gives the result out once the receipt is durable (local) or taken (function), and withholds it otherwise; `best_effort` never waits and never fails a call; `intent_first` also writes a durable intent before each start of the handler. List it anywhere among the layers: it covers the whole stack.
 *
 * @param sink A sink, or options.
 * @returns A recorder for `createDispatcher`; called by hand it throws TOOLSPAN_NOT_IN_DISPATCHER.
 * @throws TOOLSPAN_INVALID_OPTION when made, for an option that is not of these or a second argument; TOOLSPAN_RECEIPT_STORE when made, if the receipt folder is not private, read-only, full or otherwise of no use; TOOLSPAN_SIGNING_KEY when made, if the key file is not there, readable by others or no Ed25519 key.
 */
export function withAuditLog(sink: ReceiptSink | AuditLogOptions = "local", ...more: readonly never[]): AuditLog {
  if (more.length > 0) throw invalid("its only argument", "a sink, or options with sink", "more");
  const options = isSink(sink) ? { sink } : optionsOf(sink);
  const sinks = options.sinks ?? [options.sink ?? "local"];
  if (!Array.isArray(sinks) || sinks.length === 0) throw invalid("sinks", "a list of at least one sink", kindOf(sinks));
  const layers = oneOf(SUBJECT, "layers", ["compact", "full"], options.layers);
  const policy = oneOf(SUBJECT, "policy", ["required", "best_effort", "intent_first"], options.policy);
  const scope = oneOf(SUBJECT, "log", ["session", "process"], options.log);
  const addresses = oneOf(SUBJECT, "receiptUri", ["absolute", "relative"], options.receiptUri);
  const flushTimeoutMs = timeoutOf(options.flushTimeoutMs);
  const hasher = toHasher(options.hash, options.redact, warnOfGuessing);
  const kept = oneOf(SUBJECT, "openings", ["salt", "text"], options.openings);
  const subject = subjectOf(options.subject);
  const stateDir = stateDirOf(SUBJECT, options.stateDir);
  for (const one of sinks) assertSink(one);
  assertSigner(SUBJECT, options.signer);
  const limits = segmentLimitsOf(SUBJECT, options);
  const makeForwarder = forwarderOf(SUBJECT, sinks, options.delivery);
  if (policy === "intent_first" && sinks.every((one) => !isLocal(one))) {
    throw invalid("policy", '"intent_first" together with a local sink', "no local sink to write intents to");
  }

  const locals = sinks.flatMap((one) => {
    if (one === "local" || isMirrored(one)) {
      const attach = one !== "cloud";
      return [
        new LocalOutlet({ stateDir, scope, addresses, layers, attach, limits, signer: signerOf(options.signer) }),
      ];
    }
    return localOf(one) ?? [];
  });
  const functions = sinks.flatMap((one) =>
    one === "local" || isMirrored(one) || localOf(one) !== undefined ? [] : [new FunctionOutlet(one)],
  );
  const root = stateDir ?? locals[0]?.root ?? stateRoot();
  const openings = new OpeningStore({ root, subject, keepText: kept === "text" });
  if (hasher?.mode === "commit-sha256") openings.prepare();
  const forwarder = makeForwarder(root);
  const recorder = new AuditRecorder({
    locals,
    functions,
    policy,
    layers,
    hasher,
    openings,
    forwarder,
    flushTimeoutMs,
  });
  return Object.assign(recorderCaller(recorder), {
    flush: () => recorder.flush().then(() => recorder.undelivered),
    close: () => recorder.close().then(() => recorder.undelivered),
    [Symbol.asyncDispose]: () => recorder.close(),
  });
}

function isSink(value: ReceiptSink | AuditLogOptions): value is ReceiptSink {
  return typeof value === "string" || typeof value === "function" || isSinkObject(value);
}

function isSinkObject(value: unknown): value is Sink<ToolCallReceipt> {
  if (typeof value !== "object" || value === null) return false;
  const { export: give, forceFlush, shutdown } = value as Partial<Sink<ToolCallReceipt>>;
  return typeof give === "function" && typeof forceFlush === "function" && typeof shutdown === "function";
}

function localOf(sink: ReceiptSink): LocalOutlet | undefined {
  return typeof sink === "function" ? (sink as Partial<LocalReceiptSink>)[LOCAL] : undefined;
}

function isLocal(sink: ReceiptSink): boolean {
  return sink === "local" || isMirrored(sink) || localOf(sink) !== undefined;
}

function assertSink(sink: ReceiptSink): void {
  if (isLocal(sink) || typeof sink === "function" || isSinkObject(sink)) return;
  throw invalid(
    "sink",
    '"local", "cloud", "both", a function, a sink with export, forceFlush and shutdown, or localReceiptSink(...)',
    typeof sink === "string" ? JSON.stringify(String(sink).slice(0, 40)) : kindOf(sink),
  );
}

function optionsOf(value: unknown): AuditLogOptions {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid("its argument", "a sink or an object of options", kindOf(value));
  }
  return value;
}

function subjectOf(value: SubjectOf | undefined): SubjectOf | undefined {
  if (value === undefined || typeof value === "function") return value;
  throw invalid("subject", "a function from a call to a string", kindOf(value));
}

function timeoutOf(value: number | undefined): number {
  if (value === undefined) return DEFAULT_FLUSH_TIMEOUT_MS;
  if (typeof value === "number" && value > 0 && value <= 2 ** 31 - 1) return value;
  throw invalid(
    "flushTimeoutMs",
    "a number of milliseconds > 0",
    typeof value === "number" ? String(value) : kindOf(value),
  );
}

function invalid(option: string, expected: string, received: string): ToolspanError {
  return invalidOption(SUBJECT, option, expected, received);
}
