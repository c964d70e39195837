/** Receipts, intents and late settlements on their way into local logs. */

import { type DispatchOutcome, elapsedMs, type Intent, type LateSettlement, toRfc3339 } from "@toolspan/core";
import type { PrunedLog } from "../deliver/prune-receipts.ts";
import type { LayerForm } from "../fit-audit.ts";
import { receiptLine } from "../receipt-line.ts";
import { Cut, hashOf, type ReceiptDraft, spanIdOf, toReceipt, traceIdOf } from "../to-receipt.ts";
import { ToolHashes } from "../tool-hashes.ts";
import { LocalLogs, type LocalLogsOptions, type OpenSegment } from "./local-logs.ts";
import { ReceiptFolder } from "./receipt-folder.ts";
import type { ReceiptNews } from "./receipt-news.ts";
import type { Unchained } from "./record-line.ts";
import { stateRoot } from "./state-root.ts";
import { timeText } from "./wall-time.ts";
import { nowText } from "./writer-identity.ts";
import { WrittenReceipt } from "./written-receipt.ts";

export interface LocalOutletOptions extends LocalLogsOptions {
  readonly stateDir: string | undefined;
  readonly layers: LayerForm;
  /** False leaves receipts and results without a reference to the line. Default true. */
  readonly attach?: boolean;
  /** Writes everything to this session's log, whatever the call's own session. */
  readonly sessionId?: string | null;
}

export class LocalOutlet {
  /** State root. */
  readonly root: string;
  /** True when receipts and results refer to their line. */
  readonly attach: boolean;
  readonly #logs: LocalLogs;
  readonly #options: LocalOutletOptions;
  readonly #tools = new ToolHashes();
  #news: ReceiptNews | undefined;

  /** @throws TOOLSPAN_RECEIPT_STORE when the folder cannot be used. */
  constructor(options: LocalOutletOptions) {
    this.#options = options;
    this.root = stateRoot(options.stateDir);
    this.attach = options.attach ?? true;
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

  /**
   * Puts the receipt of `outcome` into its log. Throws what the store throws.
   *
   * @param kept Nobody waits until it is durable: the log has to see to it.
   */
  write(outcome: DispatchOutcome, kept = false): WrittenReceipt {
    const { sessionId } = outcome.dispatch.call.turn;
    const segment = this.#logOf(sessionId);
    const uri = this.attach ? segment.address + outcome.dispatch.id : null;
    const draft = toReceipt(outcome, this.#tools, this.#options.layers, uri, segment.writer.wallMs);
    return this.#append(segment, draft, sessionId, kept);
  }

  /** Puts a receipt that was made elsewhere into its log. */
  copy(draft: ReceiptDraft): WrittenReceipt {
    return this.#append(this.#logOf(draft.session_id), draft, draft.session_id, false);
  }

  /** Resolves once the intent is durable. */
  async intent({ dispatch, attempt, executedArgs }: Intent): Promise<void> {
    const { call, clock, trace } = dispatch;
    const cut = new Cut();
    const record: Unchained = {
      record: "intent",
      emitted_at: timeText(clock),
      dispatch_id: dispatch.id,
      attempt,
      tool_name: cut.text("tool_name", call.toolName) ?? "",
      session_id: cut.text("session_id", call.turn.sessionId),
      tool_call_id: cut.text("tool_call_id", call.callId),
      executed_args_hash: hashOf(executedArgs),
      trace_id: traceIdOf(trace),
      span_id: spanIdOf(trace),
    };
    await this.#addDurably(call.turn.sessionId, { ...record, truncated: cut.names() });
  }

  /** Adds a late settlement; resolves once it is durable. */
  async late({ dispatch, attempt, startedAt, settledAt, ok, errorType }: LateSettlement): Promise<void> {
    const { call, clock, trace } = dispatch;
    const cut = new Cut();
    const record: Unchained = {
      record: "late_settlement",
      emitted_at: timeText(clock),
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
    await this.#addDurably(call.turn.sessionId, { ...record, truncated: cut.names() });
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

  /** Says durably that these logs were removed, before they are; resolves to the file that says it. */
  async prunes(pruned: readonly PrunedLog[]): Promise<string> {
    const { writer } = this.#logOf(null);
    for (const { file, log, lines, root } of pruned) writer.add({ record: "prune", file, log, lines, root });
    await writer.flush();
    return writer.file;
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

  #append(segment: OpenSegment, draft: ReceiptDraft, sessionId: unknown, kept: boolean): WrittenReceipt {
    const line = receiptLine(draft, segment.writer.next());
    const written = new WrittenReceipt(line, draft.dispatch_id, segment, () => this.#logOf(sessionId));
    try {
      segment.writer.addReceipt(line, { kept });
    } catch {
      written.move();
    }
    return written;
  }

  /** Adds `record`, and once more to a new log when its log fails: nobody knows then whether it is there. */
  async #addDurably(sessionId: unknown, record: Unchained): Promise<void> {
    const { writer } = this.#logOf(sessionId);
    try {
      writer.add(record);
      await writer.durable();
    } catch {
      const { writer: next } = this.#logOf(sessionId);
      next.add({ ...record, emitted_at: nowText() });
      await next.durable();
    }
  }
}
