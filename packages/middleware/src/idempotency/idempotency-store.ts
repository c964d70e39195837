/** Where results are kept for calls that come again: the port, and a store in memory. */

import { LRUCache } from "lru-cache";
import { checksFor } from "../assert-option.ts";

/** What is kept of a successful call. */
export interface StoredResult {
  readonly status: "ok" | "redacted";
  /** What the tool returned; a key that is there even if that was undefined. */
  readonly result?: unknown;
  readonly renderedResult?: string;
  readonly observation?: string;
  /** The dispatch in which the tool ran. */
  readonly dispatchId: string;
}

/** Port: keeps results for a time. Methods may throw or reject; what happens then is the layer's to say. */
export interface IdempotencyStore {
  /** What is kept under `key`, which the layer copies; undefined where there is none, or none any more. */
  get(key: string): StoredResult | undefined | Promise<StoredResult | undefined>;
  /** Keeps `entry`, which nobody changes, for `ttlMs` milliseconds. */
  set(key: string, entry: StoredResult, ttlMs: number): void | Promise<void>;
}

/**
 * A store in this process's memory; the entry that was used least recently goes first.
 *
 * @param options.maxEntries Most results that are kept, integer >= 1. Default 1,000.
 * @throws TOOLSPAN_INVALID_OPTION when made, if `maxEntries` is not such an integer.
 */
export function lruIdempotencyStore(options: { readonly maxEntries?: number } = {}): IdempotencyStore {
  const checks = checksFor("lruIdempotencyStore", options, ["maxEntries"]);
  const { maxEntries = 1000 } = options;
  checks.count("maxEntries", maxEntries, 1);
  const cache = new LRUCache<string, StoredResult>({
    max: maxEntries,
    perf: { now: () => performance.now() }, // asked for at each reading: a fake clock is one that was put in its place later
  });
  return {
    get: (key) => cache.get(key),
    set(key, entry, ttlMs) {
      cache.set(key, entry, { ttl: ttlMs });
    },
  };
}
