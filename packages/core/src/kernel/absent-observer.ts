/** Absence as an object: the observer of a dispatch that nobody watches. */

import type { DispatchObserver, LayerObserver, LeafObserver, RecorderObserver } from "../ports/observer.ts";

const within = <A>(fn: (arg: A) => void, arg: A): void => fn(arg);

export const absentLayer: LayerObserver = Object.freeze({ within, event() {}, end() {} });
export const absentLeaf: LeafObserver = Object.freeze({ within, event() {}, end() {} });
export const absentRecorder: RecorderObserver = Object.freeze({ end() {} });

export const absentDispatch: DispatchObserver = Object.freeze({
  trace: null,
  recording: false,
  within,
  layer: () => absentLayer,
  leaf: () => absentLeaf,
  recorder: () => absentRecorder,
  end() {},
  late() {},
});
