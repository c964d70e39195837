/** The only owner of async context: `AsyncLocalStorage` where the runtime has it, taken on first use. */

/** Carries one value along an asynchronous call chain. */
export interface AsyncContext<T> {
  /** What the enclosing `run` was given; undefined outside of any. */
  get(): T | undefined;
  /** Calls `fn` with `value` in place, for everything it starts as well. */
  run<R>(value: T, fn: () => R): R;
}

interface Storage<T> {
  getStore(): T | undefined;
  run<R>(store: T, fn: () => R): R;
}

interface AsyncHooks {
  readonly AsyncLocalStorage?: new <T>() => Storage<T>;
}

interface Runtime {
  readonly process?: { getBuiltinModule?(name: string): AsyncHooks | undefined };
}

/** A new context; null in a runtime without `AsyncLocalStorage`. */
export function createAsyncContext<T>(): AsyncContext<T> | null {
  const { process } = globalThis as Runtime;
  const Storage = process?.getBuiltinModule?.("node:async_hooks")?.AsyncLocalStorage;
  if (Storage === undefined) return null;
  const storage = new Storage<T>();
  return { get: () => storage.getStore(), run: (value, fn) => storage.run(value, fn) };
}
