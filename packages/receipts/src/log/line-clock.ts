/** When a log's last line was made, by both clocks, and whether what they did since has to be said. */

import type { Heartbeat } from "../records/heartbeat.ts";

/** Clocks that moved so far apart were set, or the machine slept; a clock that is only corrected drifts far less. */
export const APART_MS = 1000;
/** A heartbeat that comes so much after its time is late. */
const LATE_MS = 1000;

/** What a heartbeat says of the time since the line before. */
export type Lapse = Pick<Heartbeat, "reason" | "wall_ms" | "monotonic_ms">;

export class LineClock {
  readonly #longest: number;
  #wall = Date.now();
  #monotonic: number = performance.now();

  /** @param heartbeatMs After so much silence a heartbeat is due; 0 when none is. */
  constructor(heartbeatMs: number) {
    this.#longest = heartbeatMs === 0 ? Number.POSITIVE_INFINITY : heartbeatMs + LATE_MS;
  }

  /** What the wall clock said when the last line was made; Unix milliseconds. */
  get wallMs(): number {
    return this.#wall;
  }

  /** Milliseconds since the last line, by the monotonic clock. */
  get silence(): number {
    return performance.now() - this.#monotonic;
  }

  /** Takes note of a line that is made now. Returns what has to be said before it: null in nearly every case. */
  tick(): Lapse | null {
    const wall = this.#wall;
    const monotonic = this.#monotonic;
    this.#wall = Date.now();
    this.#monotonic = performance.now();
    const moved = this.#wall - wall;
    const passed = this.#monotonic - monotonic;
    if (Math.abs(moved - passed) > APART_MS) return lapse("clock", moved, passed);
    return passed > this.#longest ? lapse("late", moved, passed) : null;
  }

  /** As `tick`, for a line that is due because there was none. */
  beat(): Lapse {
    const wall = this.#wall;
    const monotonic = this.#monotonic;
    return this.tick() ?? lapse("idle", this.#wall - wall, this.#monotonic - monotonic);
  }
}

function lapse(reason: Lapse["reason"], wall: number, monotonic: number): Lapse {
  return { reason, wall_ms: Math.round(wall), monotonic_ms: Math.max(0, Math.round(monotonic)) };
}
