/** Hears a signal's abort, for many calls at once, through a single listener. */

interface Hearing {
  readonly callbacks: Set<() => void>;
  readonly tellAll: () => void;
}

const hearings = new WeakMap<AbortSignal, Hearing>();

/**
 * Calls `fn` once when `signal` fires; returns how to stop listening. A signal that has fired already is not heard.
 *
 * A run's signal outlives its calls and is shared by those that run at once. One listener for all of them, taken away with
 * the last, leaves nothing behind and does not set off Node's warning about many listeners. `AbortSignal.any` would leave
 * something: on Node 20 a long-lived signal keeps every signal that was made from it.
 */
export function onAbort(signal: AbortSignal | undefined, fn: () => void): () => void {
  if (signal === undefined || signal.aborted) return () => {};
  const { callbacks, tellAll } = hearings.get(signal) ?? listenTo(signal);
  const own = (): void => fn(); // two calls may bring the same function
  callbacks.add(own);
  return () => {
    if (!callbacks.delete(own) || callbacks.size > 0) return;
    signal.removeEventListener("abort", tellAll);
    hearings.delete(signal);
  };
}

function listenTo(signal: AbortSignal): Hearing {
  const callbacks = new Set<() => void>();
  const tellAll = (): void => {
    hearings.delete(signal);
    for (const callback of callbacks) callback();
  };
  const hearing = { callbacks, tellAll };
  hearings.set(signal, hearing);
  signal.addEventListener("abort", tellAll, { once: true });
  return hearing;
}
