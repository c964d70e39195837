/** One clock per trace: a wall anchor taken once, then monotonic readings that never tie. */

/** Nanoseconds since the clock's anchor, an integer. */
export type Reading = number;

/**
 * Time for everything inside one outermost span.
 *
 * The wall clock is read once; afterwards only the monotonic clock counts, so a stepped wall clock cannot put a child
 * outside its parent, and each reading is at least one nanosecond after the last, so order is never a tie.
 */
export interface Clock {
  /** Unix seconds of the anchor, integer. */
  readonly anchorSeconds: number;
  /** Nanoseconds of the anchor within its second, integer below 1e9. */
  readonly anchorNanos: number;
  now(): Reading;
}

class MonotonicClock implements Clock {
  readonly anchorSeconds: number;
  readonly anchorNanos: number;
  private readonly origin: number;
  private last: Reading = -1;

  constructor() {
    this.origin = performance.now();
    const wall = wallMs(this.origin);
    this.anchorSeconds = Math.floor(wall / 1000);
    this.anchorNanos = Math.min(999_999_999, Math.round((wall - this.anchorSeconds * 1000) * 1e6));
  }

  now(): Reading {
    const elapsed = Math.round((performance.now() - this.origin) * 1e6);
    this.last = elapsed > this.last ? elapsed : this.last + 1;
    return this.last;
  }
}

/**
 * Wall time with sub-millisecond digits. `Date.now()` alone floors to the millisecond, which would put a second dispatch
 * of the same millisecond before the end of the first; once the wall clock was stepped it is the only truth.
 */
function wallMs(monotonic: number): number {
  const wall = Date.now();
  const fine = performance.timeOrigin + monotonic;
  return Math.abs(fine - wall) < 2 ? Math.max(fine, wall) : wall;
}

/** A clock anchored now. */
export function createClock(): Clock {
  return new MonotonicClock();
}

/** The clock of a dispatch that nobody records: no reading is taken. */
export const stoppedClock: Clock = Object.freeze({ anchorSeconds: 0, anchorNanos: 0, now: () => 0 });

/** `[seconds, nanoseconds]` since the Unix epoch, the form that OpenTelemetry takes. */
export function toHrTime(clock: Clock, reading: Reading): [number, number] {
  const nanos = clock.anchorNanos + reading;
  const seconds = Math.floor(nanos / 1e9);
  return [clock.anchorSeconds + seconds, nanos - seconds * 1e9];
}

/** Unix nanoseconds as a decimal string, the OTLP/JSON form of a 64-bit integer. */
export function toUnixNano(clock: Clock, reading: Reading): string {
  const [seconds, nanos] = toHrTime(clock, reading);
  return `${seconds}${String(nanos).padStart(9, "0")}`;
}

let cachedSecond = Number.NaN;
let cachedPrefix = "";

/** RFC 3339 UTC with nine decimals. */
export function toRfc3339(clock: Clock, reading: Reading): string {
  const [seconds, nanos] = toHrTime(clock, reading);
  if (seconds !== cachedSecond) {
    cachedPrefix = new Date(seconds * 1000).toISOString().slice(0, 19);
    cachedSecond = seconds;
  }
  return `${cachedPrefix}.${String(nanos).padStart(9, "0")}Z`;
}

/** Milliseconds between two readings. */
export function elapsedMs(from: Reading, to: Reading): number {
  return (to - from) / 1e6;
}
