/** Port: the few instruments that other packages need without knowing OpenTelemetry. */

import type { Attributes } from "../vocabulary/record.ts";

/** Where measurements go. No method throws. Names and units are those of design section 5. */
export interface Meter {
  /** Adds to a counter or up-down counter. */
  add(name: string, value: number, attributes?: Attributes): void;
  /** Records into a histogram. */
  record(name: string, value: number, attributes?: Attributes): void;
  /** Registers a gauge that is read when metrics are collected; returns its removal, which may read it once more. */
  gauge(name: string, read: () => number): () => void;
}

/** Measures nothing. */
export const noopMeter: Meter = Object.freeze({ add() {}, record() {}, gauge: () => () => {} });
