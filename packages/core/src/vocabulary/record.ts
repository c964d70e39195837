/** What one run of one layer leaves behind: live as numbers, on the wire as a record. */

import { type Clock, elapsedMs, type Reading, toRfc3339 } from "./clock.ts";

/** A scalar that spans, records and metrics can all carry. */
export type AttributeValue = string | number | boolean;
export type Attributes = Readonly<Record<string, AttributeValue>>;

/** One run of one layer. Serialised as it stands. */
export interface LayerRecord {
  readonly name: string;
  /** 0-based position in the flattened stack. */
  readonly index: number;
  /** How many layer runs enclose this one. */
  readonly depth: number;
  /** 1-based: which run of this layer within its dispatch. */
  readonly attempt: number;
  /** The layer's own word: `ok`, `approved`, `denied`, `hit`, `timeout`, `abandoned`, … */
  readonly status: string;
  /** RFC 3339 UTC, nine decimals. */
  readonly started_at: string;
  readonly ended_at: string;
  /** Time in the layer itself: its run less the union of its inner runs, milliseconds. */
  readonly self_time_ms: number;
  readonly short_circuited: boolean;
  readonly args_changed: boolean;
  readonly error_type?: string;
  readonly attributes?: Attributes;
}

/** One finished run of one layer, before it becomes a record. */
export interface LayerRun {
  readonly name: string;
  readonly index: number;
  readonly depth: number;
  readonly attempt: number;
  readonly status: string;
  readonly startedAt: Reading;
  readonly endedAt: Reading;
  /** Nanoseconds spent in the layer itself. */
  readonly selfTime: Reading;
  readonly shortCircuited: boolean;
  readonly argsChanged: boolean;
  readonly errorType: string | undefined;
  readonly attributes: Attributes | undefined;
}

/** The wire form of a run; the only place where it is made. */
export function toLayerRecord(run: LayerRun, clock: Clock): LayerRecord {
  return {
    name: run.name,
    index: run.index,
    depth: run.depth,
    attempt: run.attempt,
    status: run.status,
    started_at: toRfc3339(clock, run.startedAt),
    ended_at: toRfc3339(clock, run.endedAt),
    self_time_ms: elapsedMs(0, run.selfTime),
    short_circuited: run.shortCircuited,
    args_changed: run.argsChanged,
    ...(run.errorType === undefined ? {} : { error_type: run.errorType }),
    ...(run.attributes === undefined ? {} : { attributes: run.attributes }),
  };
}
