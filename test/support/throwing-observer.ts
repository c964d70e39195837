// An observer that breaks where it is told to: by throwing, or by answering with a promise that rejects.
import { type Observer, type ObserverCaller, observerCaller } from "@toolspan/core";

/** Every place of the observer port that can break during a call. */
export const OBSERVER_PLACES = [
  "clock",
  "dispatch",
  "trace",
  "recording",
  "root.within",
  "root.end",
  "layer",
  "layer.within",
  "layer.event",
  "layer.end",
  "leaf",
  "leaf.within",
  "leaf.end",
  "recorder",
  "recorder.end",
  "late",
] as const;

export type ObserverPlace = (typeof OBSERVER_PLACES)[number];

/** Breaks at the given places; `within` breaks before or after it has run its function. */
export function throwingObserver(
  places: readonly ObserverPlace[] = OBSERVER_PLACES,
  how: "before" | "after" | "rejects" | "answers nothing" = "before",
): ObserverCaller {
  const at = <T>(place: ObserverPlace, otherwise: () => T): T => {
    if (!places.includes(place)) return otherwise();
    if (how === "answers nothing") return undefined as T;
    const error = new Error(`observer: ${place}`);
    if (how === "rejects") return Promise.reject(error) as T;
    if (how === "after") otherwise();
    throw error;
  };
  const span = (kind: "root" | "layer" | "leaf") => ({
    within: <A>(fn: (arg: A) => void, arg: A): void => at(`${kind}.within` as ObserverPlace, () => fn(arg)),
    event: (): void => at("layer.event", () => {}),
    end: (): void => at(`${kind}.end` as ObserverPlace, () => {}),
  });
  const observer: Observer = {
    name: "with_telemetry",
    clock: () => at("clock", () => undefined),
    dispatch: () =>
      at("dispatch", () => ({
        ...span("root"),
        get trace() {
          return at("trace", () => null);
        },
        get recording() {
          return at("recording", () => true);
        },
        layer: () => at("layer", () => span("layer")),
        leaf: () => at("leaf", () => span("leaf")),
        recorder: () => at("recorder", () => ({ end: () => at("recorder.end", () => {}) })),
        late: () => at("late", () => {}),
      })),
    run: (_info, fn) => fn(() => {}),
    model: (_info, fn) => fn(() => {}),
    flush: async () => {},
    close: async () => {},
  };
  return observerCaller(observer);
}
