/** Receipts, intents and late settlements on their way into local logs. */

import { type DispatchOutcome, elapsedMs, type Intent, type LateSettlement, toRfc3339 } from "@toolspan/core";
import type { LayerForm } from "../fit-audit.ts";
import { receiptLine } from "../receipt-line.ts";
import { Cut, hashOf, type ReceiptDraft, spanIdOf, toReceipt, traceIdOf } from "../to-receipt.ts";
import { ToolHashes } from "../tool-hashes.ts";
import { LocalLogs, type LocalLogsOptions } from "./local-logs.ts";
import { ReceiptFolder } from "./receipt-folder.ts";
import type { ReceiptNews, SegmentWriter, Unchained } from "./segment-writer.ts";
import { stateRoot } from "./state-root.ts";

export interface LocalOutletOptions extends LocalLogsOptions {
  readonly stateDir: string | undefined;
  readonly layers: LayerForm;
  /** False leaves receipts and results without a reference to the line. Default true. */
  readonly attach?: boolean;
  /** Writes everything to this session's log, whatever the call's own session. */
  readonly sessionId?: string | null;
}

/** A receipt that stands in a log, not yet durable. */
export class WrittenReceipt {
  readonly line: string;
  /** Null where nobody is to refer to it. */
  readonly uri: string | null;
  private readonly writer: SegmentWriter;

  constructor(line: string, uri: string | null, writer: SegmentWriter) {
    this.line = line;
    this.uri = uri;
    this.writer = writer;
  }

  get log(): string {
    return this.writer.log;
  }

  durable(): Promise<void> {
    return this.writer.durable();
  }
}

export class LocalOutlet {
  /** State root. */
  readonly root: string;
  readonly #logs: LocalLogs;
  readonly #options: LocalOutletOptions;
  readonly #tools = new ToolHashes();
  #news: ReceiptNews | undefined;

  /** @throws TOOLSPAN_RECEIPT_STORE when the folder cannot be used. */
  constructor(options: LocalOutletOptions) {
    this.#options = options;
    this.root = stateRoot(options.stateDir);
    this.#logs = new LocalLogs(new ReceiptFolder(this.root), options, {
      written: (receipts) => this.#news?.written(receipts),
      sealed: (receipts) => this.#news?.sealed(receipts),
      lost: (receipts, error) => this.#news?.lost(receipts, error),
    });
  }

  /** Says who hears of receipts that nobody waits for. */
  tell(news: ReceiptNews): void {
    this.#news = news;
  }

  /** Puts the receipt of `outcome` into its log. Throws what the store throws. */
  write(outcome: DispatchOutcome): WrittenReceipt {
    const { writer, address } = this.#logOf(outcome.dispatch.call.turn.sessionId);
    const uri = this.#options.attach === false ? null : address + outcome.dispatch.id;
    return this.#append(writer, toReceipt(outcome, this.#tools, this.#options.layers, uri), uri);
  }

  /** Puts a receipt that was made elsewhere into its log. */
  copy(draft: ReceiptDraft): WrittenReceipt {
    const { writer, address } = this.#logOf(draft.session_id);
    return this.#append(writer, draft, address + draft.dispatch_id);
  }

  /** Resolves once the intent is durable. */
  async intent({ dispatch, attempt, executedArgs }: Intent): Promise<void> {
    const { call, clock, trace } = dispatch;
    const cut = new Cut();
    const record: Unchained = {
      record: "intent",
      emitted_at: toRfc3339(clock, clock.now()),
      dispatch_id: dispatch.id,
      attempt,
      tool_name: cut.text("tool_name", call.toolName) ?? "",
      session_id: cut.text("session_id", call.turn.sessionId),
      tool_call_id: cut.text("tool_call_id", call.callId),
      executed_args_hash: hashOf(executedArgs),
      trace_id: traceIdOf(trace),
      span_id: spanIdOf(trace),
    };
    const { writer } = this.#logOf(call.turn.sessionId);
    writer.add({ ...record, truncated: cut.names() });
    await writer.durable();
  }

  /** Adds a late settlement; resolves once it is durable. */
  async late({ dispatch, attempt, startedAt, settledAt, ok, errorType }: LateSettlement): Promise<void> {
    const { call, clock, trace } = dispatch;
    const cut = new Cut();
    const record: Unchained = {
      record: "late_settlement",
      emitted_at: toRfc3339(clock, clock.now()),
      dispatch_id: dispatch.id,
      attempt,
      tool_name: cut.text("tool_name", call.toolName) ?? "",
      session_id: cut.text("session_id", call.turn.sessionId),
      tool_call_id: cut.text("tool_call_id", call.callId),
      started_at: toRfc3339(clock, startedAt),
      duration_ms: Math.max(0, elapsedMs(startedAt, settledAt)),
      ok,
      error_type: cut.text("error_type", errorType),
      trace_id: traceIdOf(trace),
      span_id: spanIdOf(trace),
    };
    const { writer } = this.#logOf(call.turn.sessionId);
    writer.add({ ...record, truncated: cut.names() });
    await writer.durable();
  }

  /** Says durably that `openings` were destroyed; resolves to where the line stands. */
  async erasure(openings: number, reason: string | null): Promise<string> {
    const { writer, address } = this.#logOf(null);
    const { log, seq } = writer.next();
    const cut = new Cut();
    writer.add({ record: "erasure", dispatch_id: null, key_id: null, openings, reason: cut.text("reason", reason) });
    await writer.durable();
    return `${address}${log}:${seq}`;
  }

  unsealed(): number {
    return this.#logs.unsealed();
  }

  flush(): Promise<void> {
    return this.#logs.flush();
  }

  close(): Promise<void> {
    return this.#logs.close();
  }

  #logOf(sessionId: unknown): ReturnType<LocalLogs["of"]> {
    const { sessionId: fixed } = this.#options;
    if (fixed !== undefined) return this.#logs.of(fixed);
    return this.#logs.of(typeof sessionId === "string" ? sessionId : null);
  }

  #append(writer: SegmentWriter, draft: ReceiptDraft, uri: string | null): WrittenReceipt {
    const line = receiptLine(draft, writer.next());
    writer.addReceipt(line);
    return new WrittenReceipt(line, uri, writer);
  }
}
