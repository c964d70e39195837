/** Waiting that can be ended, and that keeps no process alive. */

/** True after `ms`; false as soon as `signal` fires. */
export function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (whole: boolean): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      resolve(whole);
    };
    const stop = (): void => end(false);
    const timer = setTimeout(end, ms, true);
    timer.unref();
    signal.addEventListener("abort", stop);
  });
}
