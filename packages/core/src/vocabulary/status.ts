/** The closed table of result statuses: which ones are successes, and which ones mark a span as failed. */

interface StatusFacts {
  readonly ok: boolean;
  /** True when the span gets status ERROR and an `error.type`. */
  readonly error: boolean;
}

const SUCCESS: StatusFacts = { ok: true, error: false };
const FAILURE: StatusFacts = { ok: false, error: true };

export type ToolStatus =
  | "ok"
  | "dry_run"
  | "redacted"
  | "suspended"
  | "tool_not_found"
  | "schema_violation"
  | "consent_denied"
  | "policy_blocked"
  | "scope_violation"
  | "executor_error"
  | "rate_limited"
  | "timeout"
  | "aborted"
  | "exception"
  | "error"
  | "tool_middleware_exception";

/** Every status a result may have. The words are wire values. */
export const STATUSES: Readonly<Record<ToolStatus, StatusFacts>> = {
  ok: SUCCESS,
  dry_run: SUCCESS,
  redacted: SUCCESS,
  suspended: { ok: false, error: false },
  tool_not_found: FAILURE,
  schema_violation: FAILURE,
  consent_denied: FAILURE,
  policy_blocked: FAILURE,
  scope_violation: FAILURE,
  executor_error: FAILURE,
  rate_limited: FAILURE,
  timeout: FAILURE,
  aborted: FAILURE,
  exception: FAILURE,
  error: FAILURE,
  tool_middleware_exception: FAILURE,
};

const FACTS: ReadonlyMap<unknown, StatusFacts> = new Map(Object.entries(STATUSES));

/** True for a word of the table. */
export function isToolStatus(value: unknown): value is ToolStatus {
  return FACTS.has(value);
}

/** True for a word of the table that agrees with `ok`. */
export function agrees(status: unknown, ok: unknown): boolean {
  return FACTS.get(status)?.ok === ok && typeof ok === "boolean";
}
