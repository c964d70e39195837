/** When a log is followed by the next one, and how long it may be silent. */

import { kindOf } from "@toolspan/core";
import { invalidOption } from "../options.ts";

export interface SegmentLimits {
  readonly maxSegmentBytes: number;
  readonly maxSegmentAgeMs: number;
  /** 0 = no heartbeats. */
  readonly heartbeatMs: number;
}

/** Options that factories of local logs take. */
export interface SegmentLimitOptions {
  /** A log that has reached so many bytes is closed, and the next one goes on; >= 1024. Default 64 MiB. */
  readonly maxSegmentBytes?: number;
  /** A log that is open for so long is closed, and the next one goes on; milliseconds, >= 1000. Default 24 hours. */
  readonly maxSegmentAgeMs?: number;
  /** An open log without a line for so long gets a `heartbeat` under a head; milliseconds, 0 = never. Default 5 minutes. */
  readonly heartbeatMs?: number;
}

export const DEFAULT_LIMITS: SegmentLimits = {
  maxSegmentBytes: 64 * 1024 * 1024,
  maxSegmentAgeMs: 24 * 60 * 60 * 1000,
  heartbeatMs: 5 * 60 * 1000,
};

/** The longest delay of a timer. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** @throws TOOLSPAN_INVALID_OPTION for a value that is none. */
export function segmentLimitsOf(subject: string, options: SegmentLimitOptions): SegmentLimits {
  const { maxSegmentBytes, maxSegmentAgeMs, heartbeatMs } = options;
  const whole = (option: keyof SegmentLimits, value: number | undefined, unit: string, min: number, max: number) => {
    if (value === undefined) return DEFAULT_LIMITS[option];
    if (Number.isInteger(value) && value >= min && value <= max) return value;
    const expected = `an integer of ${unit} from ${min} to ${max}`;
    throw invalidOption(subject, option, expected, typeof value === "number" ? String(value) : kindOf(value));
  };
  return {
    maxSegmentBytes: whole("maxSegmentBytes", maxSegmentBytes, "bytes", 1024, Number.MAX_SAFE_INTEGER),
    maxSegmentAgeMs: whole("maxSegmentAgeMs", maxSegmentAgeMs, "milliseconds", 1000, MAX_DELAY_MS),
    heartbeatMs: whole("heartbeatMs", heartbeatMs, "milliseconds", 0, MAX_DELAY_MS),
  };
}
