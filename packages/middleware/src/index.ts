/** The bundled layers; each is also a subpath of its own. */

export {
  autoApprove,
  type ConsentAnswer,
  type ConsentOptions,
  type ConsentPrompt,
  withConsent,
} from "./with-consent.ts";
export { type DryRunOptions, withDryRun } from "./with-dry-run.ts";
export { type RateLimitOptions, withRateLimit } from "./with-rate-limit.ts";
export { type RequiredReason, type RequiredReasonOptions, withRequiredReason } from "./with-required-reason.ts";
export { type TimeoutOptions, withTimeout } from "./with-timeout.ts";
