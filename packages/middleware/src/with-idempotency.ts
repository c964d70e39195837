/** The layer that lets a call with the same key run once, and gives its result again to those that follow. */

import { sha256Text } from "@toolspan/canonical/hash";
import {
  defineLayer,
  diagnostics,
  failedResult,
  type Layer,
  type LayerScope,
  type Next,
  type ToolCall,
  type ToolResult,
} from "@toolspan/core";
import { checksFor, MAX_DELAY_MS } from "./assert-option.ts";
import type { KeyFunction } from "./idempotency/args-key.ts";
import { type FlightEnd, mayStillRun, sharedFailure } from "./idempotency/flight-end.ts";
import { type IdempotencyStore, lruIdempotencyStore } from "./idempotency/idempotency-store.ts";
import { type Landed, SingleFlight } from "./idempotency/single-flight.ts";
import { checkStored, replayed, toStored } from "./idempotency/stored-result.ts";
import { onAbort } from "./on-abort.ts";

export { argsKey, type KeyFunction, type KeyScope } from "./idempotency/args-key.ts";
export { type IdempotencyStore, lruIdempotencyStore, type StoredResult } from "./idempotency/idempotency-store.ts";

export interface IdempotencyOptions {
  /** How long a result is given again, milliseconds, integer from 1 to 2,147,483,647. Default 300,000. */
  readonly ttlMs?: number;
  /** Where results are kept. Default: one store in memory that all layers of this process share. */
  readonly store?: IdempotencyStore;
  /** Keeps keys of one kind apart from those of others in the same store. Default none. */
  readonly namespace?: string;
  /** When the store cannot say whether a call has run: `refuse` (default) it, or `run` it. */
  readonly onStoreFailure?: "refuse" | "run";
}

const OPTIONS = ["ttlMs", "store", "namespace", "onStoreFailure"] as const;
/** Outlives every layer, as a cache has to. */
const sharedStore = lruIdempotencyStore();
/** Layers that share a store share what is under way in it. */
const flightsOf = new WeakMap<IdempotencyStore, SingleFlight<FlightEnd>>();

/**
 * Runs a tool once for calls of the same key; the others get its result again, marked `replayed`.
 *
 * Only successes are kept. Calls that come while the first one runs wait for it: if it succeeds they get its result, if the
 * tool fails the next of them runs. If it is given up (`timeout`, `aborted`) or a layer breaks, the tool may still be at it:
 * those that wait get the same failure, `executed: false`, and only a later call may run. What is kept is a copy; results without a canonical form, and streams, are not kept. The
 * store never sees a key: it gets the SHA-256 of namespace, tool and key.
 *
 * @param keyFn Says which calls are the same; undefined lets a call through. `argsKey()` goes by session and arguments.
 * @returns A layer; a replay says in `audit.metadata.replayed_from` which dispatch it repeats. Where the store fails, a call
 *   gives `status: "tool_middleware_exception"`, `errorCategory: "idempotency_store_failed"`, and the tool does not run.
 * @throws TOOLSPAN_INVALID_OPTION when made, if an option is not of its declared shape.
 */
export function withIdempotency(keyFn: KeyFunction, options: IdempotencyOptions = {}): Layer {
  const settings = toSettings(keyFn, options);
  return defineLayer({
    name: "with_idempotency",
    traits: { rewritesArgs: "no", audits: true, caches: true },
    async call(call, next, scope) {
      const key = readKey(keyFn(call));
      if (key === undefined) {
        scope.report({ status: "bypassed" });
        return next(call);
      }
      scope.report({ attributes: { key_hash: keyHash(key, scope) } });
      return once(settings, sha256Text(JSON.stringify([settings.namespace, call.toolName, key])), call, next, scope);
    },
  });
}

interface Settings {
  readonly store: IdempotencyStore;
  readonly flights: SingleFlight<FlightEnd>;
  readonly ttlMs: number;
  readonly namespace: string;
  readonly runsBlind: boolean;
}

function toSettings(keyFn: KeyFunction, options: IdempotencyOptions): Settings {
  const checks = checksFor("withIdempotency", options, OPTIONS);
  const { ttlMs = 300_000, store = sharedStore, namespace = "", onStoreFailure = "refuse" } = options;
  checks.fn("keyFn", keyFn);
  checks.count("ttlMs", ttlMs, 1, MAX_DELAY_MS);
  checks.text("namespace", options.namespace);
  checks.oneOf("onStoreFailure", onStoreFailure, ["refuse", "run"]);
  checks.fn("store.get", store?.get);
  checks.fn("store.set", store?.set);
  const flights = flightsOf.get(store) ?? new SingleFlight<FlightEnd>();
  flightsOf.set(store, flights);
  return { store, flights, ttlMs, namespace, runsBlind: onStoreFailure === "run" };
}

/** What a key function must not answer with is a fault that stops the call: it might have run before. */
function readKey(key: unknown): string | undefined {
  if (key === undefined || key === null || key === "") return undefined;
  if (typeof key !== "string") throw new TypeError(`the key function answered with a ${typeof key}, expected a string`);
  return key;
}

/** As it may be recorded: by the hasher that serves all recorded values, if there is one. */
function keyHash(key: string, { dispatch }: LayerScope): string {
  return dispatch.hasher?.text(key, "key").hash ?? `sha256:${sha256Text(key)}`;
}

/** Follows whoever is at it already; leads if nobody is. */
async function once(
  settings: Settings,
  key: string,
  call: ToolCall,
  next: Next,
  scope: LayerScope,
): Promise<ToolResult> {
  for (;;) {
    const flight = settings.flights.of(key);
    if (flight === undefined) return settings.flights.lead(key, (land) => run(settings, key, call, next, scope, land));
    const landed = await unlessAborted(flight, call.signal);
    if (landed === "aborted") {
      scope.report({ status: "aborted" });
      return failedResult(call, "aborted", "aborted", `tool ${call.toolName}: aborted while the same call was running`);
    }
    if (landed !== undefined) {
      const end = landed.value;
      if ("failed" in end) {
        scope.report({ status: "joined_failure", attributes: { shared_from: end.dispatchId } });
        return sharedFailure(end, call);
      }
      scope.report({ status: "joined", attributes: { replayed_from: end.kept.dispatchId } });
      return replayed(structuredClone(end.kept), call);
    }
  }
}

async function run(
  { store, ttlMs, runsBlind }: Settings,
  key: string,
  call: ToolCall,
  next: Next,
  scope: LayerScope,
  land: (end: FlightEnd) => void,
): Promise<ToolResult> {
  const found = await askStore(async () => checkStored(await store.get(key)), "get");
  if (found === "failed" && !runsBlind) {
    scope.report({ status: "refused" });
    const text = `tool ${call.toolName}: not run; whether the same call has run before could not be found out`;
    return failedResult(call, "tool_middleware_exception", "idempotency_store_failed", text);
  }
  if (found !== "failed" && found !== undefined) {
    land({ kept: found });
    scope.report({ status: "hit", attributes: { replayed_from: found.dispatchId } });
    return replayed(structuredClone(found), call);
  }
  const result = await next(call);
  const entry = toStored(result, scope.dispatch.id);
  if (entry === undefined) {
    if (mayStillRun(result)) land({ failed: result, dispatchId: scope.dispatch.id });
    scope.report({ status: "unstored" });
    return result;
  }
  land({ kept: entry });
  const kept = await askStore(() => store.set(key, entry, ttlMs), "set");
  if (kept === "failed") scope.report({ status: "unstored" });
  else scope.report({ status: "miss" });
  return result;
}

async function askStore<T>(ask: () => T | Promise<T>, what: "get" | "set"): Promise<T | "failed"> {
  try {
    return await ask();
  } catch {
    diagnostics.report("middleware.with_idempotency", what, `the store of with_idempotency failed in ${what}`);
    return "failed";
  }
}

function unlessAborted<T>(flight: Promise<Landed<T>>, signal: AbortSignal | undefined): Promise<Landed<T> | "aborted"> {
  if (signal === undefined) return flight;
  if (signal.aborted) return Promise.resolve("aborted");
  return new Promise((resolve) => {
    const stop = onAbort(signal, () => resolve("aborted"));
    void flight.then((landed) => {
      stop();
      resolve(landed);
    });
  });
}
