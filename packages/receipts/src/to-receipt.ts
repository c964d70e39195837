/** From the outcome of a dispatch to its receipt: the one place where receipt fields get their values. */

import {
  type Digest,
  type DispatchOutcome,
  type Executor,
  isToolStatus,
  type LayerRun,
  type TraceRef,
  toRfc3339,
} from "@toolspan/core";
import { fitAudit, type LayerForm } from "./fit-audit.ts";
import { fitText } from "./json-text.ts";
import { timeText } from "./log/wall-time.ts";
import { millisecondsText } from "./milliseconds-text.ts";
import { SCHEMA_VERSION } from "./records/envelope.ts";
import { hash } from "./records/field.ts";
import { KINDS, type ToolCallReceipt } from "./records/receipt.ts";
import type { ToolHashes } from "./tool-hashes.ts";

/** A receipt that has no place in a log yet; what is costly to print is there as JSON text. */
export interface ReceiptDraft extends Omit<ToolCallReceipt, "audit" | "chain" | "duration_ms"> {
  readonly auditText: string;
  readonly durationText: string;
}

const MAX_REDACTED = 128;
const MAX_NAMES = 48;
const NONE: readonly string[] = [];

/**
 * Builds the receipt of `outcome`; never throws for what layers, callers or tools put into it.
 *
 * @param wallMs What the wall clock says now; without it the dispatch's own clock is believed.
 */
export function toReceipt(
  outcome: DispatchOutcome,
  tools: ToolHashes,
  layers: LayerForm,
  uri: string | null,
  wallMs?: number,
): ReceiptDraft {
  const { dispatch, result, runs } = outcome;
  const { call, clock, trace } = dispatch;
  const { turn } = call;
  const audit = fitAudit(result.audit, runs, clock, layers, uri);
  const argsHash = hashOf(dispatch.argsDigest);
  const cut = new Cut();
  return {
    record: "receipt",
    schema_version: SCHEMA_VERSION,
    emitted_at: wallMs === undefined ? toRfc3339(clock, clock.now()) : timeText(clock, wallMs),
    dispatch_id: dispatch.id,
    session_id: cut.text("session_id", turn.sessionId),
    run_id: cut.text("run_id", turn.runId),
    tool_call_id: cut.text("tool_call_id", call.callId),
    tool_name: cut.text("tool_name", call.toolName) ?? "",
    tool_hash: tools.of(call),
    iteration: countOrNull(turn.iteration) ?? 0,
    turn_index: countOrNull(turn.turnIndex),
    emit_order: countOrNull(turn.toolCallIndex),
    attempts: outcome.attempts,
    reason: cut.text("reason", reasonOf(result.audit, runs)),
    kind: kindOf(result.audit?.kind),
    executor: executorOrNull(outcome.executor),
    status: isToolStatus(result.status) ? result.status : "tool_middleware_exception",
    ok: result.ok,
    error_type: cut.text("error_type", outcome.errorType),
    error_category: cut.text("error_category", result.errorCategory),
    started_at: toRfc3339(clock, dispatch.startedAt),
    durationText: millisecondsText(outcome.endedAt - dispatch.startedAt),
    args_hash: argsHash,
    executed_args_hash: outcome.executedArgs === dispatch.argsDigest ? argsHash : hashOf(outcome.executedArgs),
    args_redacted: cut.list("args_redacted", dispatch.argsDigest?.redacted ?? NONE),
    result_hash: hashOf(outcome.resultDigest()),
    auditText: audit.text,
    agent_name: cut.text("agent_name", turn.agentName),
    model: cut.text("model", turn.model),
    provider: cut.text("provider", turn.provider),
    trace_id: traceIdOf(trace),
    span_id: spanIdOf(trace),
    replayed: result.replayed === true,
    truncated: cut.names(audit.cut),
  };
}

/** Keeps free text within its size and remembers which fields were cut. */
export class Cut {
  private cut: readonly string[] = NONE;

  /** JSON Pointers of what was cut, here and elsewhere; a long list ends with the pointer to the whole. */
  names(elsewhere: readonly string[] = NONE): readonly string[] {
    if (elsewhere.length === 0) return this.cut;
    const names = [...this.cut, ...elsewhere];
    return names.length <= MAX_NAMES ? names : [...names.slice(0, MAX_NAMES), ""];
  }

  text(field: string, value: unknown): string | null {
    if (typeof value !== "string") return null;
    const fitted = fitText(value);
    if (fitted !== value) this.cut = [...this.cut, `/${field}`];
    return fitted;
  }

  list(field: string, values: readonly string[]): readonly string[] {
    if (values.length === 0) return NONE;
    const fitted = values.slice(0, MAX_REDACTED).map((value) => fitText(value, 64));
    if (values.some((value, i) => fitted[i] !== value)) this.cut = [...this.cut, `/${field}`];
    return fitted;
  }
}

/** What a hasher of somebody else's gives is checked: a line has to keep to its schema. */
export function hashOf(digest: Digest | null): string | null {
  if (digest === null) return null;
  return digest.hash.length <= 256 && hash.accepts(digest.hash) ? digest.hash : "refused:malformed_hash";
}

const HEX = /^[0-9a-f]+$/;
/** All-zero ids are OpenTelemetry's word for none. */
const NO_TRACE = "0".repeat(32);
const NO_SPAN = "0".repeat(16);

export function traceIdOf(trace: TraceRef | null): string | null {
  return trace === null ? null : hexOrNull(trace.traceId, NO_TRACE);
}

export function spanIdOf(trace: TraceRef | null): string | null {
  return trace === null ? null : hexOrNull(trace.spanId, NO_SPAN);
}

function hexOrNull(id: string, none: string): string | null {
  return id.length === none.length && id !== none && HEX.test(id) ? id : null;
}

/** What `withRequiredReason` put where it puts it, or what a layer of the user's own calls `reason`. */
function reasonOf(audit: DispatchOutcome["result"]["audit"], runs: readonly LayerRun[]): unknown {
  if (audit === undefined) return null;
  if (typeof audit.reason === "string") return audit.reason;
  // A call that was refused for giving none has a summary of some other layer's making at most.
  const given = runs.some(({ name, status }) => name === "with_required_reason" && status !== "rejected");
  return given ? audit.summary : null;
}

function kindOf(kind: unknown): ToolCallReceipt["kind"] {
  if (typeof kind !== "string") return null;
  return KINDS.find((known) => known === kind) ?? "other";
}

const EXECUTORS: ReadonlySet<unknown> = new Set(["local", "host_bridge", "mcp_server", "provider_native"]);

function executorOrNull(executor: Executor | null): Executor | null {
  return EXECUTORS.has(executor) ? executor : null;
}

function countOrNull(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;
}
