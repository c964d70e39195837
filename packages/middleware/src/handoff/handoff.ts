/** The handoff record: one task passed on to somebody else, and how a tool's payload becomes one. */

import { uuidv7 } from "@toolspan/core";
import { FieldReader, PayloadProblem } from "../redaction/payload-fields.ts";
import { type HandoffPolicy, readHandoffPolicy } from "./handoff-policy.ts";

/** Wire form, as it stands in `audit.handoff`: every field is present, those that were not said are null or empty. */
export interface HandoffRecord {
  readonly type: "handoff_artifact";
  readonly id: string;
  readonly source_persona: string | null;
  readonly target_persona_or_human: HandoffTarget;
  readonly task: string;
  readonly reason: string;
  /** Where the receiver can look: texts (ids, paths, URIs) or objects, as the tool gave them. */
  readonly evidence_refs: readonly unknown[];
  readonly files_or_entities_touched: readonly string[];
  readonly open_questions: readonly string[];
  readonly blocked_on: readonly string[];
  readonly requested_capabilities: readonly string[];
  readonly allowed_side_effects: readonly string[];
  /** The policy that the receiver is to run under; it can only tighten the one in force there. */
  readonly policy_override: HandoffPolicy | null;
  readonly budget_remaining: Readonly<Record<string, unknown>> | null;
  readonly deadline_checkback: Readonly<Record<string, unknown>> | null;
  /** 0 to 1. */
  readonly confidence: number | null;
  /** RFC 3339. */
  readonly created_at: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface HandoffTarget {
  readonly kind: "persona" | "human";
  readonly id: string | null;
  readonly label: string | null;
}

/** What a payload does not say itself. */
export interface HandoffDefaults {
  readonly source: string | undefined;
  readonly createdAt: string;
}

/**
 * The record of a payload: an object with a `task`, a target, and any of the other fields of the record.
 *
 * `target_persona_or_human` (or `target`) is an object, or the name of a persona. A list may be given as one text.
 *
 * @throws PayloadProblem where a field is missing or not of its shape, which it names; what cannot be read is one too.
 */
export function toHandoff(payload: unknown, { source, createdAt }: HandoffDefaults): HandoffRecord {
  const fields = new FieldReader(payload);
  return {
    type: "handoff_artifact",
    id: fields.text("id") ?? `handoff_${uuidv7()}`,
    source_persona: fields.text("source_persona") ?? source ?? null,
    target_persona_or_human: toTarget(fields),
    task: fields.text("task") ?? missing("task"),
    reason: fields.text("reason") ?? "",
    evidence_refs: fields.items("evidence_refs"),
    files_or_entities_touched: fields.texts("files_or_entities_touched"),
    open_questions: fields.texts("open_questions"),
    blocked_on: fields.texts("blocked_on"),
    requested_capabilities: fields.texts("requested_capabilities"),
    allowed_side_effects: fields.texts("allowed_side_effects"),
    policy_override: toOverride(fields.record("policy_override")),
    budget_remaining: fields.record("budget_remaining") ?? null,
    deadline_checkback: fields.record("deadline_checkback") ?? null,
    confidence: fields.share("confidence") ?? null,
    created_at: fields.text("created_at") ?? createdAt,
    metadata: fields.record("metadata") ?? {},
  };
}

function toTarget(fields: FieldReader): HandoffTarget {
  const key = fields.has("target_persona_or_human") ? "target_persona_or_human" : "target";
  if (typeof fields.value(key) === "string") {
    return { kind: "persona", id: fields.text(key) ?? missing(key), label: null };
  }
  const target = new FieldReader(fields.record(key) ?? missing("target_persona_or_human"));
  const kind = target.text("kind") ?? "persona";
  if (kind !== "persona" && kind !== "human") throw new PayloadProblem(`${key}.kind`, "persona or human");
  const id = target.text("id") ?? null;
  const label = target.text("label") ?? null;
  if (id === null && label === null) throw new PayloadProblem(key, "a target with an id or a label");
  return { kind, id, label };
}

/** An override that could not be read is none that could be left out: it was meant to restrict. */
function toOverride(policy: Readonly<Record<string, unknown>> | undefined): HandoffPolicy | null {
  if (policy === undefined) return null;
  readHandoffPolicy(policy);
  return policy;
}

function missing(field: string): never {
  throw new PayloadProblem(field, "given");
}
