/** The active context: the host's context manager keeps it, or one of ours where the host has none. */

import { type Context, context, createContextKey, ROOT_CONTEXT } from "@opentelemetry/api";
import type { Clock } from "@toolspan/core";

const CLOCK_KEY = createContextKey("toolspan.clock");
/** The key by which OpenTelemetry's own packages mark work that must not be traced. */
const SUPPRESS_KEY = createContextKey("OpenTelemetry SDK Context Key SUPPRESS_TRACING");

interface ContextStorage {
  getStore(): Context | undefined;
  run(active: Context, fn: () => void): void;
}

/** Undefined until first needed: on Node 20 an AsyncLocalStorage that has run slows every `await` of the process. */
let fallback: ContextStorage | undefined;
/** Contexts of isolated observers: the others must not take those spans for their parents. */
let isolated: ContextStorage | undefined;

/** The context that is active here. An isolated reader sees its own kind alone. */
export function activeContext(isIsolated = false): Context {
  return isIsolated ? (isolated?.getStore() ?? ROOT_CONTEXT) : (fallback?.getStore() ?? context.active());
}

/** Runs `fn(arg)` with `active` as the host's active context. */
export function activate<A>(active: Context, fn: (arg: A) => void, arg: A): void {
  context.with(active, fn as (arg: unknown) => void, undefined, arg);
}

/** Runs `fn(arg)` with `active` as our own active context; where the runtime has no async storage, without one. */
export function activateOwn<A>(active: Context, isIsolated: boolean, fn: (arg: A) => void, arg: A): void {
  if (isIsolated) isolated ??= createStorage();
  else fallback ??= createStorage();
  const storage = isIsolated ? isolated : fallback;
  if (storage === undefined) fn(arg);
  else storage.run(active, () => fn(arg));
}

/** True where the host keeps contexts across calls and `active` is the one it keeps here. */
export function isActive(active: Context): boolean {
  return context.active() === active;
}

export function withClock(parent: Context, clock: Clock): Context {
  return parent.getValue(CLOCK_KEY) === clock ? parent : parent.setValue(CLOCK_KEY, clock);
}

/** The clock of the enclosing span of ours. */
export function clockOf(active: Context): Clock | undefined {
  return active.getValue(CLOCK_KEY) as Clock | undefined;
}

/** A context in which instrumentations of the host stay silent: what we send must not be traced in turn. */
export function suppressed(): Context {
  return ROOT_CONTEXT.setValue(SUPPRESS_KEY, true);
}

export function isSuppressed(active: Context): boolean {
  return active.getValue(SUPPRESS_KEY) === true;
}

function createStorage(): ContextStorage | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } };
  const hooks = process?.getBuiltinModule?.("node:async_hooks") as
    | { readonly AsyncLocalStorage: new () => ContextStorage }
    | undefined;
  return hooks === undefined ? undefined : new hooks.AsyncLocalStorage();
}
