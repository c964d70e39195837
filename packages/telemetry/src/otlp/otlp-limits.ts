/** How much the sink of a collector holds and sends at once, from the environment. */

import { type Environment, readNumber } from "../start/environment.ts";

export interface OtlpLimits {
  /** Spans of one request at most. */
  readonly maxBatch: number;
  /** Spans held at most, sent ones included until they are answered. */
  readonly maxHeld: number;
  /** How long a span may wait for others, milliseconds. */
  readonly delayMs: number;
  readonly flushTimeoutMs: number;
  /** Whether failed spans are taken whatever the sampler has decided. */
  readonly keepErrors: boolean;
}

/** The limits of the batch processor's variables. @source OpenTelemetry specification, Batch Span Processor */
export function otlpLimits(env: Environment, flushTimeoutMs: number, keepErrors = false): OtlpLimits {
  return {
    maxBatch: readNumber(env, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 1) ?? 512,
    maxHeld: readNumber(env, "OTEL_BSP_MAX_QUEUE_SIZE", 1) ?? 262_144,
    delayMs: readNumber(env, "OTEL_BSP_SCHEDULE_DELAY") ?? 1000,
    flushTimeoutMs,
    keepErrors,
  };
}
