/** Port: an observer watches dispatches, agent runs and model calls, and cannot change any of them. */

import type { Clock, Reading } from "../vocabulary/clock.ts";
import type { Attributes, LayerRun } from "../vocabulary/record.ts";
import type { DispatchScope, TraceRef } from "./dispatch-scope.ts";
import type { Hasher } from "./hasher.ts";
import type { Meter } from "./meter.ts";
import type { LateSettlement, ObservedOutcome } from "./outcome.ts";

/** What an observer is told when a layer starts. */
export interface LayerStart {
  readonly name: string;
  readonly index: number;
  readonly depth: number;
  readonly attempt: number;
  readonly startedAt: Reading;
}

/** The end of a handler run. */
export interface LeafEnd {
  readonly attempt: number;
  readonly endedAt: Reading;
  /** `ok`, the failure's status, or `abandoned`. */
  readonly status: string;
  readonly errorType: string | undefined;
  /** Who changed the arguments is on the layers; this says whether the handler got them changed at all. */
  readonly argsChanged: boolean;
}

/** One open span. Every method is called at most as often as said; a throw is caught by the kernel and reported. */
export interface SpanObserver {
  /** Calls `fn(arg)` exactly once, synchronously, with this span active. `fn` never throws. */
  within<A>(fn: (arg: A) => void, arg: A): void;
  event(name: string, attributes: Attributes | undefined, at: Reading): void;
}

export interface LayerObserver extends SpanObserver {
  /** Once. */
  end(run: LayerRun): void;
}

export interface LeafObserver extends SpanObserver {
  end(leaf: LeafEnd): void;
}

export interface RecorderObserver {
  end(endedAt: Reading, failed: boolean): void;
}

/** One dispatch, watched: one handle object, no string keys. */
export interface DispatchObserver {
  readonly trace: TraceRef | null;
  /** False when nobody will read layers, leaf and hashes of this dispatch: the kernel then makes none. */
  readonly recording: boolean;
  /** False when nobody wants to hear of layers and handler runs while they run: `layer` and `leaf` are then not called. Absent where `recording` says it too. */
  readonly listening?: boolean;
  within<A>(fn: (arg: A) => void, arg: A): void;
  /** `parent` is the enclosing layer's observer, null for the outermost. */
  layer(start: LayerStart, parent: LayerObserver | null): LayerObserver;
  leaf(attempt: number, startedAt: Reading, parent: LayerObserver | null): LeafObserver;
  /** Only for a recorder that awaits; a child of the root. */
  recorder(name: string, startedAt: Reading): RecorderObserver;
  /** Once, last. */
  end(outcome: ObservedOutcome): void;
  /** After `end`: a handler settled that nobody waited for. */
  late(settlement: LateSettlement): void;
}

/** An agent run. */
export interface RunInfo {
  readonly agentName?: string;
  readonly sessionId?: string;
  readonly runId?: string;
  readonly model?: string;
  readonly provider?: string;
}

/** A model call. */
export interface ModelInfo {
  readonly model: string;
  readonly provider?: string;
  readonly agentName?: string;
  readonly sessionId?: string;
  /** 1-based. */
  readonly iteration: number;
  /** What the model is given; recorded only with content opt-in. */
  readonly inputMessages?: unknown;
}

/** What a run or a model call says about itself before it ends. */
export interface OperationReport {
  /** Marks the operation as failed although nothing was thrown. */
  readonly errorType?: string;
  readonly responseModel?: string;
  readonly finishReasons?: readonly string[];
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly toolCalls?: number;
  readonly modelCalls?: number;
  /** Recorded only with content opt-in. */
  readonly outputMessages?: unknown;
}

export type Report = (report: OperationReport) => void;

export interface Observer {
  /** Wire name, `with_telemetry`. */
  readonly name: string;
  /** Set when somebody configured one; it then serves all recorded values of the dispatcher. */
  readonly hasher?: Hasher;
  /** Used where nobody configured one; absent when this observer hashes nothing. */
  readonly defaultHasher?: Hasher;
  readonly meter?: Meter;
  /** The clock of the enclosing span of ours, if there is one here. */
  clock?(): Clock | undefined;
  dispatch(dispatch: DispatchScope): DispatchObserver;
  /** Runs `fn` inside an `invoke_agent` span; passes its value or error through untouched. */
  run<T>(info: RunInfo, fn: (report: Report) => Promise<T>): Promise<T>;
  /** Runs `fn` inside a `chat` span; passes its value or error through untouched. */
  model<T>(info: ModelInfo, fn: (report: Report) => Promise<T>): Promise<T>;
  /** One observer in place of two, where `other` is of the same kind: it adds sinks, never a second root. */
  merge?(other: Observer): Observer | undefined;
  flush(): Promise<void>;
  close(): Promise<void>;
}
