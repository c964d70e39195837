// An observer that keeps what it is told, as one tree per dispatch, and knows in whose context code runs.
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Clock,
  type DispatchScope,
  type Hasher,
  type LateSettlement,
  type LayerRun,
  type LeafEnd,
  type ModelInfo,
  type ObservedOutcome,
  type ObserverCaller,
  type OperationReport,
  observerCaller,
  type RunInfo,
  type SpanObserver,
  type TraceRef,
} from "@toolspan/core";

export interface RecordedSpan {
  readonly kind: "layer" | "leaf" | "recorder";
  readonly name: string;
  /** Null for a child of the root. */
  readonly parent: RecordedSpan | null;
  readonly dispatch: RecordedDispatch;
  readonly startedAt: number;
  readonly events: string[];
  /** One reading per end; exactly one in a sound kernel. */
  readonly endedAt: number[];
  run?: LayerRun;
  leaf?: LeafEnd;
}

export interface RecordedDispatch {
  readonly scope: DispatchScope;
  readonly spans: RecordedSpan[];
  readonly ends: ObservedOutcome[];
  readonly late: LateSettlement[];
}

export interface RecordedOperation {
  readonly kind: "run" | "model";
  readonly info: RunInfo | ModelInfo;
  readonly reports: OperationReport[];
  outcome?: "returned" | "threw";
}

export interface RecordingObserver {
  readonly caller: ObserverCaller;
  readonly dispatches: RecordedDispatch[];
  readonly operations: RecordedOperation[];
  /** What has happened, one word each, shared with other recording parts through `log`. */
  readonly log: string[];
  /** Where the running code stands: `root`, a layer's name, `leaf#1`; undefined outside. */
  active(): string | undefined;
  activeDispatch(): RecordedDispatch | undefined;
  /** The only dispatch so far. */
  only(): RecordedDispatch;
  /** Spans of a dispatch as indented text, in order of start. */
  tree(dispatch?: RecordedDispatch): string;
  flushes: number;
  closes: number;
}

export interface RecordingOptions {
  readonly name?: string;
  readonly log?: string[];
  readonly hasher?: Hasher;
  readonly defaultHasher?: Hasher;
  readonly trace?: TraceRef | null;
  readonly recording?: boolean;
  readonly clock?: Clock;
}

interface Place {
  readonly dispatch: RecordedDispatch | undefined;
  readonly label: string;
}

export function recordingObserver(options: RecordingOptions = {}): RecordingObserver {
  const { name = "with_telemetry", log = [], trace = null, recording = true, hasher, defaultHasher, clock } = options;
  const places = new AsyncLocalStorage<Place>();
  const dispatches: RecordedDispatch[] = [];
  const operations: RecordedOperation[] = [];
  const parents = new WeakMap<object, RecordedSpan>();

  function spanObserver(span: RecordedSpan, label: string): SpanObserver {
    const place = { dispatch: span.dispatch, label };
    const observer: SpanObserver = {
      within: (fn, arg) => places.run(place, fn, arg),
      event: (event) => void span.events.push(event),
    };
    return observer;
  }

  function open(
    dispatch: RecordedDispatch,
    kind: RecordedSpan["kind"],
    spanName: string,
    parent: object | null,
    startedAt: number,
  ): RecordedSpan {
    const above = parent === null ? null : parents.get(parent);
    if (above === undefined) throw new Error(`${name}: ${spanName} was opened under a parent of somebody else`);
    const span: RecordedSpan = { kind, name: spanName, parent: above, dispatch, startedAt, events: [], endedAt: [] };
    dispatch.spans.push(span);
    return span;
  }

  function operation<T>(kind: "run" | "model") {
    return async (info: never, fn: (report: (said: OperationReport) => void) => Promise<T>): Promise<T> => {
      const recorded: RecordedOperation = { kind, info, reports: [] };
      operations.push(recorded);
      try {
        const place = { dispatch: undefined, label: kind };
        const value = await places.run(place, fn, (said: OperationReport) => void recorded.reports.push(said));
        recorded.outcome = "returned";
        return value;
      } catch (thrown) {
        recorded.outcome = "threw";
        throw thrown;
      }
    };
  }

  const recorder: RecordingObserver = {
    caller: observerCaller({
      name,
      ...(hasher === undefined ? {} : { hasher }),
      ...(defaultHasher === undefined ? {} : { defaultHasher }),
      clock: () => clock,
      dispatch(scope) {
        const dispatch: RecordedDispatch = { scope, spans: [], ends: [], late: [] };
        dispatches.push(dispatch);
        return {
          trace,
          recording,
          within: (fn, arg) => places.run({ dispatch, label: "root" }, fn, arg),
          layer(start, parent) {
            const span = open(dispatch, "layer", start.name, parent, start.startedAt);
            const observer = {
              ...spanObserver(span, start.name),
              end(run: LayerRun) {
                span.run = run;
                span.endedAt.push(run.endedAt);
              },
            };
            parents.set(observer, span);
            return observer;
          },
          leaf(attempt, startedAt, parent) {
            const span = open(dispatch, "leaf", `leaf#${attempt}`, parent, startedAt);
            return {
              ...spanObserver(span, `leaf#${attempt}`),
              end(leaf: LeafEnd) {
                span.leaf = leaf;
                span.endedAt.push(leaf.endedAt);
              },
            };
          },
          recorder(recorderName, startedAt) {
            const span = open(dispatch, "recorder", recorderName, null, startedAt);
            return { end: (endedAt) => void span.endedAt.push(endedAt) };
          },
          end(outcome) {
            dispatch.ends.push(outcome);
            log.push(name);
          },
          late(settlement) {
            dispatch.late.push(settlement);
            log.push(`${name}.late`);
          },
        };
      },
      run: operation("run") as never,
      model: operation("model") as never,
      async flush() {
        recorder.flushes += 1;
      },
      async close() {
        recorder.closes += 1;
      },
    }),
    dispatches,
    operations,
    log,
    active: () => places.getStore()?.label,
    activeDispatch: () => places.getStore()?.dispatch,
    only() {
      const [only] = dispatches;
      if (only === undefined || dispatches.length > 1) throw new Error(`${dispatches.length} dispatches were observed`);
      return only;
    },
    tree: (dispatch = recorder.only()) => dispatch.spans.map((span) => line(span)).join("\n"),
    flushes: 0,
    closes: 0,
  };
  return recorder;
}

function line(span: RecordedSpan): string {
  const status = span.run?.status ?? span.leaf?.status ?? (span.endedAt.length === 0 ? "open" : "ended");
  return `${"  ".repeat(depthOf(span))}${span.name} ${status}`;
}

function depthOf(span: RecordedSpan): number {
  return span.parent === null ? 0 : depthOf(span.parent) + 1;
}
