/** Absence as an object: the observer where `TOOLSPAN_DISABLED` switches telemetry off. */

import type { DispatchObserver, Hasher, Observer, Report } from "@toolspan/core";

const within = <A>(fn: (arg: A) => void, arg: A): void => fn(arg);
const span = Object.freeze({ within, event() {}, end() {} });

const dispatch: DispatchObserver = Object.freeze({
  trace: null,
  recording: false,
  within,
  layer: () => span,
  leaf: () => span,
  recorder: () => span,
  end() {},
  late() {},
});

/** Watches nothing; a hasher that was configured still serves receipts. */
export function silentObserver(name: string, hasher: Hasher | undefined): Observer {
  return {
    name,
    ...(hasher === undefined ? {} : { hasher }),
    dispatch: () => dispatch,
    run: (_info, fn) => fn(unheard),
    model: (_info, fn) => fn(unheard),
    flush: async () => {},
    close: async () => {},
  };
}

const unheard: Report = () => {};
