/** Signals that end a run or a call early, and waiting that gives up when one fires. */

/** Aborts that tools and models see: by name what `fetch` and the kernel take for an abort. */
export function abortError(message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, cause === undefined ? undefined : { cause }), { name: "AbortError" });
}

/** A time limit that passed: `TimeoutError`, as `AbortSignal.timeout` names it. */
export function timeoutError(message: string): Error {
  return Object.assign(new Error(message), { name: "TimeoutError" });
}

/** Calls `heard` once when `signal` fires, at once if it has; returns how to stop listening. */
export function onAbort(signal: AbortSignal | undefined, heard: (reason: unknown) => void): () => void {
  if (signal === undefined) return () => {};
  const listener = (): void => heard(signal.reason as unknown);
  if (signal.aborted) {
    listener();
    return () => {};
  }
  signal.addEventListener("abort", listener, { once: true });
  return () => signal.removeEventListener("abort", listener);
}

/** Settles as `work` does, or rejects with the signal's reason as soon as that fires; `work` then goes on unheard. */
export function orAbort<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const stop = onAbort(signal, reject);
    work.finally(stop).then(resolve, reject);
  });
}

/** Settles as `work` does, or to null once the signal has fired and `graceMs` milliseconds have passed. */
export function orLeave<T>(work: Promise<T>, signal: AbortSignal | undefined, graceMs: number): Promise<T | null> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = onAbort(signal, () => {
      timer = setTimeout(resolve, graceMs, null);
    });
    const settle = (): void => {
      stop();
      clearTimeout(timer);
    };
    work.finally(settle).then(resolve, reject);
  });
}
