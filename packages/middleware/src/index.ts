/** The bundled layers; each is also a subpath of its own. */

export { redactKeys } from "./redaction/redact-keys.ts";
export {
  autoApprove,
  type ConsentAnswer,
  type ConsentOptions,
  type ConsentPrompt,
  withConsent,
} from "./with-consent.ts";
export { type DryRunOptions, withDryRun } from "./with-dry-run.ts";
export {
  type HandoffArtifactOptions,
  type HandoffPolicy,
  type HandoffRecord,
  type HandoffTarget,
  runUnderHandoff,
  withHandoffArtifact,
} from "./with-handoff-artifact.ts";
export {
  argsKey,
  type IdempotencyOptions,
  type IdempotencyStore,
  type KeyFunction,
  type KeyScope,
  lruIdempotencyStore,
  type StoredResult,
  withIdempotency,
} from "./with-idempotency.ts";
export { type RateLimitOptions, withRateLimit } from "./with-rate-limit.ts";
export {
  composeRedactors,
  type RedactionInput,
  type RedactionOptions,
  type RedactionOutput,
  type Redactor,
  withRedaction,
} from "./with-redaction.ts";
export { type RequiredReason, type RequiredReasonOptions, withRequiredReason } from "./with-required-reason.ts";
export { type RetryOptions, type ToolRetry, withRetry } from "./with-retry.ts";
export { type ScopedExecutorOptions, withScopedExecutor } from "./with-scoped-executor.ts";
export { type SummaryFormat, withSummary } from "./with-summary.ts";
export { type TimeoutOptions, withTimeout } from "./with-timeout.ts";
