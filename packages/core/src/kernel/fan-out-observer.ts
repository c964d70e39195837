/** Several observers of one dispatch as one: spans are opened outermost first and ended innermost first. */

import type { DispatchObserver, LayerObserver, LeafEnd, LeafObserver, SpanObserver } from "../ports/observer.ts";
import type { LayerRun } from "../vocabulary/record.ts";
import { absentLayer, absentLeaf, absentRecorder } from "./absent-observer.ts";
import { openSafely, tellSafely } from "./guard.ts";

type Within = Pick<SpanObserver, "within">;

/** `observers` has at least two members; the first one's trace is the dispatch's trace. */
export function fanOutObserver(observers: readonly DispatchObserver[]): DispatchObserver {
  return {
    trace: observers[0]?.trace ?? null,
    recording: observers.some(({ recording }) => recording),
    listening: observers.some(listens),
    within: (fn, arg) => withinAll(observers, fn, arg),
    layer: (start, parent) => {
      const parents = parent === null ? null : (parent as FanOutLayer).parts;
      const parts = observers.map((observer, i) =>
        openSafely(() => (listens(observer) ? observer.layer(start, parents?.[i] ?? null) : absentLayer), absentLayer),
      );
      return { ...fanOutSpan(parts), parts, end: (run: LayerRun) => tellAll(parts, (part) => part.end(run)) };
    },
    leaf: (attempt, startedAt, parent) => {
      const parents = parent === null ? null : (parent as FanOutLayer).parts;
      const parts: readonly LeafObserver[] = observers.map((observer, i) =>
        openSafely(
          () => (listens(observer) ? observer.leaf(attempt, startedAt, parents?.[i] ?? null) : absentLeaf),
          absentLeaf,
        ),
      );
      return { ...fanOutSpan(parts), end: (leaf: LeafEnd) => tellAll(parts, (part) => part.end(leaf)) };
    },
    recorder: (name, startedAt) => {
      const parts = observers.map((observer) =>
        openSafely(() => (observer.recording ? observer.recorder(name, startedAt) : absentRecorder), absentRecorder),
      );
      return { end: (endedAt, failed) => tellAll(parts, (part) => part.end(endedAt, failed)) };
    },
    end: (outcome) => tellAll(observers, (observer) => observer.end(outcome)),
    late: (settlement) => tellAll(observers, (observer) => observer.late(settlement)),
  };
}

/** True when the observer wants to hear of layers and handler runs while they run. */
export function listens({ recording, listening }: DispatchObserver): boolean {
  return recording && listening !== false;
}

interface FanOutLayer extends LayerObserver {
  readonly parts: readonly LayerObserver[];
}

function fanOutSpan(parts: readonly SpanObserver[]): SpanObserver {
  return {
    within: (fn, arg) => withinAll(parts, fn, arg),
    event: (name, attributes, at) => tellAll(parts, (part) => part.event(name, attributes, at)),
  };
}

function withinAll<A>(parts: readonly Within[], fn: (arg: A) => void, arg: A): void {
  const nested = parts.reduceRight<(inner: A) => void>(
    (inner, part) => (passed) => {
      let entered = false;
      const enter = (given: A): void => {
        if (entered) return;
        entered = true;
        inner(given);
      };
      tellSafely(() => part.within(enter, passed));
      enter(passed);
    },
    fn,
  );
  nested(arg);
}

function tellAll<T>(parts: readonly T[], tell: (part: T) => void): void {
  for (const part of parts.toReversed()) tellSafely(() => tell(part));
}
