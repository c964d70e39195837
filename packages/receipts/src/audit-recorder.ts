/** The recorder behind `withAuditLog`: what each policy does with a receipt. */

import { plainHasher } from "@toolspan/canonical/hash";
import {
  type DispatchOutcome,
  diagnostics,
  type Hasher,
  type Intent,
  type LateSettlement,
  type Meter,
  noopMeter,
  type ReceiptLevel,
  type Recorder,
  type RecorderReply,
} from "@toolspan/core";
import type { Forwarder, Undelivered } from "./deliver/forwarder.ts";
import type { LayerForm } from "./fit-audit.ts";
import type { FunctionOutlet } from "./function-outlet.ts";
import type { LocalOutlet } from "./log/local-outlet.ts";
import type { WrittenReceipt } from "./log/written-receipt.ts";
import type { OpeningStore } from "./openings/opening-store.ts";
import { receiptLine } from "./receipt-line.ts";
import type { ToolCallReceipt } from "./records/receipt.ts";
import { settleAll, withinTime } from "./settle-all.ts";
import { toReceipt } from "./to-receipt.ts";
import { ToolHashes } from "./tool-hashes.ts";

export type ReceiptPolicy = "required" | "best_effort" | "intent_first";

export interface AuditRecorderOptions {
  readonly locals: readonly LocalOutlet[];
  readonly functions: readonly FunctionOutlet[];
  readonly policy: ReceiptPolicy;
  readonly layers: LayerForm;
  readonly hasher: Hasher | undefined;
  /** Where openings of committed hashes are kept. */
  readonly openings: OpeningStore;
  /** Delivers what the local logs hold; null where nobody asked for it. */
  readonly forwarder: Forwarder | null;
  readonly flushTimeoutMs: number;
}

const SOURCE = "receipts";
const RECORDS = "toolspan.receipts.records";
const DURATION = "toolspan.receipts.durable.duration";
const UNSEALED = "toolspan.receipts.unsealed";
const HEADS = "toolspan.receipts.heads";

export class AuditRecorder implements Recorder {
  readonly name = "with_audit_log";
  readonly hasher?: Hasher;
  readonly defaultHasher: Hasher = plainHasher({ onGuessable: warnOfGuessing });
  readonly intent?: (intent: Intent) => Promise<void>;
  readonly #options: AuditRecorderOptions;
  readonly #tools = new ToolHashes();
  #meter: Meter = noopMeter;
  #forgetGauge: () => void = () => {};
  #undelivered: Undelivered | null = null;
  /** Receipts under `best_effort` that wait for their openings. */
  readonly #waiting = new Set<Promise<void>>();

  constructor(options: AuditRecorderOptions) {
    this.#options = options;
    if (options.hasher !== undefined) this.hasher = options.hasher;
    if (options.policy === "intent_first") this.intent = (intent) => this.#intend(intent);
    const waits = options.policy !== "best_effort";
    for (const local of options.locals) {
      local.tell({
        written: (receipts) => {
          if (!waits) this.#count("written", "ok", receipts);
        },
        sealed: (receipts) => {
          this.#count("sealed", "ok", receipts);
          this.#meter.add(HEADS, 1, { level: "sealed" });
        },
        lost: (receipts, error) => {
          if (!waits) this.#lose(receipts, error);
        },
      });
    }
  }

  /** What the endpoint had not answered for when `flush` or `close` last ended; null without one. */
  get undelivered(): Undelivered | null {
    return this.#undelivered;
  }

  useMeter(meter: Meter): void {
    this.#meter = meter;
    this.#options.forwarder?.useMeter(meter);
    // A counter born at its value has no rate.
    this.#count(this.#options.locals.length > 0 ? "durable" : "written", "ok", 0);
    this.#count("failed", "failed", 0);
    this.#forgetGauge();
    this.#forgetGauge = meter.gauge(UNSEALED, () =>
      this.#options.locals.reduce((lines, local) => lines + local.unsealed(), 0),
    );
  }

  record(outcome: DispatchOutcome): RecorderReply | Promise<RecorderReply> {
    return this.#options.policy === "best_effort" ? this.#recordIfPossible(outcome) : this.#recordOrFail(outcome);
  }

  late(settlement: LateSettlement): void {
    for (const local of this.#options.locals) {
      local.late(settlement).catch((error: unknown) => {
        diagnostics.report(SOURCE, "late_settlement_lost", `a late settlement could not be written: ${wordOf(error)}`);
      });
    }
  }

  flush(): Promise<void> {
    return this.#thenDeliver(
      () => this.#inTime("flush", (outlet) => outlet.flush()),
      (forwarder, timeoutMs) => forwarder.flush(timeoutMs),
    );
  }

  /** The gauge goes last: it is read once more, at 0, since a Collector keeps for an hour what it heard last. */
  async close(): Promise<void> {
    try {
      await this.#thenDeliver(
        () => this.#inTime("close", (outlet) => outlet.close()),
        (forwarder, timeoutMs) => forwarder.close(timeoutMs),
      );
    } finally {
      this.#forgetGauge();
      this.#forgetGauge = () => {};
    }
  }

  /** Delivery has the time that the stores have left, also when one of them failed. */
  async #thenDeliver(
    act: () => Promise<void>,
    deliver: (forwarder: Forwarder, timeoutMs: number) => Promise<Undelivered>,
  ): Promise<void> {
    const { forwarder, flushTimeoutMs } = this.#options;
    if (forwarder === null) return act();
    const started = performance.now();
    try {
      await act();
    } finally {
      this.#undelivered = await deliver(forwarder, Math.max(0, flushTimeoutMs - (performance.now() - started)));
    }
  }

  /** Undefined when nothing was committed to; else resolves once everything that this receipt refers to is durable. */
  #keepOpenings(outcome: DispatchOutcome): Promise<void> | undefined {
    if (outcome.dispatch.hasher?.mode !== "commit-sha256") return undefined;
    return this.#options.openings.keep(outcome.dispatch, {
      args_hash: outcome.dispatch.argsDigest,
      executed_args_hash: outcome.executedArgs,
      result_hash: outcome.resultDigest(),
    });
  }

  /** Policies that await: openings first, then local logs first, then the same receipt to the others; any failure withholds the result. */
  async #recordOrFail(outcome: DispatchOutcome): Promise<RecorderReply> {
    const started = performance.now();
    try {
      const kept = this.#keepOpenings(outcome);
      if (kept !== undefined) await kept;
      const [first, ...others] = this.#options.locals.map((local) => local.write(outcome));
      if (first !== undefined) {
        await (others.length === 0 ? first.durable() : settleAll([first, ...others].map((one) => one.durable())));
        this.#meter.record(DURATION, (performance.now() - started) / 1000);
      }
      await this.#mirror(first, outcome);
      this.#count(first === undefined ? "written" : "durable", "ok", 1);
      if (first === undefined) return { receipt: { level: "written" } };
      this.#options.forwarder?.wake();
      const { uri, log } = first;
      const attach = this.#options.locals[0]?.attach === true;
      return { receipt: attach ? { level: "durable", uri, log } : { level: "durable", log } };
    } catch (error) {
      this.#count("failed", "failed", 1);
      return { receipt: { level: "failed" }, failure: { error } };
    }
  }

  /** Never fails the call and never waits: what is lost is counted when that is known. */
  #recordIfPossible(outcome: DispatchOutcome): RecorderReply {
    const kept = this.#keepOpenings(outcome);
    if (kept === undefined) return this.#recordNow(outcome);
    const waiting: Promise<void> = kept
      .then(() => void this.#recordNow(outcome))
      .catch((error: unknown) => this.#lose(1, error))
      .then(() => void this.#waiting.delete(waiting));
    this.#waiting.add(waiting);
    return { receipt: { level: "pending" } };
  }

  #recordNow(outcome: DispatchOutcome): RecorderReply {
    let first: WrittenReceipt | undefined;
    for (const local of this.#options.locals) {
      try {
        const written = local.write(outcome, true);
        first ??= written;
      } catch (error) {
        this.#lose(1, error);
      }
    }
    if (this.#options.functions.length > 0) {
      this.#mirror(first, outcome).catch((error: unknown) => this.#lose(1, error));
    }
    if (first === undefined) return { receipt: { level: this.#options.locals.length > 0 ? "failed" : "pending" } };
    this.#options.forwarder?.wake();
    // For some milliseconds in memory only: that is less than written, and nothing may refer to it.
    return { receipt: { level: "pending", log: first.log } };
  }

  /** Hands the receipt, as it stands in the first local log, to every function. */
  async #mirror(first: WrittenReceipt | undefined, outcome: DispatchOutcome): Promise<void> {
    const { functions, layers } = this.#options;
    if (functions.length === 0) return;
    const line = first?.line ?? receiptLine(toReceipt(outcome, this.#tools, layers, null), null);
    // Each gets its own copy: none of them can change what another one sees.
    await settleAll(functions.map(async (outlet) => outlet.give(JSON.parse(line) as ToolCallReceipt)));
  }

  async #intend(intent: Intent): Promise<void> {
    const { dispatch, executedArgs } = intent;
    const field = executedArgs === dispatch.argsDigest ? "args_hash" : "executed_args_hash";
    await this.#options.openings.keep(dispatch, { [field]: executedArgs });
    await settleAll(this.#options.locals.map((local) => local.intent(intent)));
  }

  async #inTime(what: string, act: (outlet: LocalOutlet | FunctionOutlet) => Promise<void>): Promise<void> {
    const { locals, functions, flushTimeoutMs } = this.#options;
    const all = Promise.all(this.#waiting).then(() => settleAll([...locals, ...functions].map(act)));
    await withinTime(all, flushTimeoutMs, what);
  }

  #count(level: ReceiptLevel, outcome: "ok" | "failed", receipts: number): void {
    this.#meter.add(RECORDS, receipts, { level, outcome });
  }

  #lose(receipts: number, error: unknown): void {
    this.#count("failed", "failed", receipts);
    diagnostics.report(SOURCE, "lost", `a receipt was lost under policy best_effort: ${wordOf(error)}`);
  }
}

/** Said once: plain hashes are the default, and a default must not look like secrecy. */
export function warnOfGuessing(): void {
  const message =
    'plain SHA-256 over short arguments, which can be guessed: set hash to "commit-sha256" or to a key, redact them, or accept it with hash: "sha256"';
  diagnostics.report(SOURCE, "guessable_hash", message);
}

/** What went wrong, without anything of the call: an error code, or the error's name. */
function wordOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "an error that is none";
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
  return String(code ?? name ?? "an error");
}
