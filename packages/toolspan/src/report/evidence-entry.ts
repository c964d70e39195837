/** What a report says of one receipt: who, what, when, by what authority, with what outcome, and where that stands. */

import type { LoggedReceipt, VerifiedLine } from "@toolspan/receipts";

/** Wire names: this is an action in `report --format json`, and its columns in CSV. */
export interface EvidenceEntry {
  readonly started_at: string;
  readonly duration_ms: number;
  readonly agent_name: string | null;
  readonly session_id: string | null;
  readonly run_id: string | null;
  readonly provider: string | null;
  readonly model: string | null;
  readonly tool_name: string;
  readonly tool_hash: string | null;
  readonly kind: string | null;
  readonly executor: string | null;
  readonly tool_call_id: string | null;
  readonly iteration: number;
  readonly turn_index: number | null;
  readonly emit_order: number | null;
  readonly args_hash: string | null;
  readonly executed_args_hash: string | null;
  readonly args_redacted: readonly string[];
  readonly result_hash: string | null;
  /** Consent: `approved`, `denied`, or null where nobody was asked. */
  readonly decision: string | null;
  readonly decided_by: string | null;
  readonly decided_at: string | null;
  /** Stage of the policy that the call ran under. */
  readonly policy_stage: string | null;
  readonly policy_level: string | null;
  /** In the model's own words. */
  readonly reason: string | null;
  /** `name=status` of every layer that ran, outermost first. */
  readonly layers: readonly string[];
  readonly status: string;
  readonly ok: boolean;
  /** Refused: it failed, and its handler was never started. */
  readonly refused: boolean;
  readonly error_type: string | null;
  readonly error_category: string | null;
  readonly attempts: number;
  readonly replayed: boolean;
  readonly truncated: readonly string[];
  readonly dispatch_id: string;
  readonly trace_id: string | null;
  readonly span_id: string | null;
  readonly emitted_at: string;
  readonly file: string;
  readonly line: number;
  readonly log: string;
  readonly seq: number;
}

export function toEvidenceEntry({ file, line, record }: VerifiedLine<LoggedReceipt>): EvidenceEntry {
  const { audit, chain, ok, attempts, status, record: _record, schema_version: _version, ...same } = record;
  const consent = membersOf(audit?.consent);
  const scope = membersOf(audit?.scope);
  return {
    ...same,
    status,
    ok,
    attempts,
    refused: !ok && attempts === 0 && status !== "suspended",
    decision: textOf(consent.decision),
    decided_by: textOf(consent.decided_by),
    decided_at: textOf(consent.decided_at),
    policy_stage: textOf(scope.stage),
    policy_level: textOf(scope.side_effect_level),
    layers: (audit?.layers ?? []).map((layer) => `${layer.name}=${layer.status}`),
    file,
    line,
    log: chain.log,
    seq: chain.seq,
  };
}

/** Layers may attach what they like. */
function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
