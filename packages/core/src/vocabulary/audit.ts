/** The audit blob that layers attach to a result, how blobs merge, and the event that carries one to listeners. */

import type { LayerRecord } from "./record.ts";
import type { SideEffectLevel } from "./tool-call.ts";

/** The kind of work a call does, as the Agent Client Protocol names it. */
export type AuditKind = "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "other";

/** Audit facts of one call. Wire names; free keys are allowed beside the conventional ones. */
export interface AuditBlob {
  /** One line for the user. */
  readonly summary?: string;
  /** Longer rationale. */
  readonly description?: string;
  readonly kind?: AuditKind;
  readonly hints?: {
    readonly read_only?: boolean;
    readonly destructive?: boolean;
    readonly idempotent?: boolean;
    readonly open_world?: boolean;
  };
  readonly consent?: {
    readonly decision: "approved" | "denied";
    readonly decided_by?: string;
    readonly decided_at?: string;
    readonly reason?: string;
  };
  readonly scope?: {
    readonly stage: string;
    readonly allowed_tools?: readonly string[];
    readonly side_effect_level?: SideEffectLevel;
  };
  /** Set by the kernel alone: one entry per layer run, outermost first. */
  readonly layers?: readonly LayerRecord[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly handoff?: unknown;
  /** Where the receipt lies; present only if that receipt is durable. */
  readonly receipt_uri?: string;
  /** JSON Pointers of what was cut to keep the blob within its size. */
  readonly truncated?: readonly string[];
  readonly [key: string]: unknown;
}

/** Event emitted once per dispatch in which a layer set audit. */
export interface ToolCallAuditEvent {
  readonly type: "tool_call_audit";
  readonly session_id: string | null;
  readonly tool_call_id: string | null;
  readonly tool_name: string;
  readonly dispatch_id: string;
  readonly audit: AuditBlob;
}

/** Outer keys win; inner ones stay even where the outer layer dropped them. Shallow. */
export function mergeAudit(inner: AuditBlob | undefined, outer: AuditBlob): AuditBlob {
  return inner === undefined ? outer : { ...inner, ...outer };
}
