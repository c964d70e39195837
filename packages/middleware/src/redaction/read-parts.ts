/** Reads an object into its parts, each once, and puts one of the same kind together from changed parts. */

/** A member of an object: under a property key, at a position, under a key of a map, or (in a set) under none. */
export interface Part {
  readonly name: unknown;
  readonly value: unknown;
}

/** An object as it was read. */
export interface Parts {
  readonly parts: readonly Part[];
  /** True when the object's own code gave a part: it may give another one the next time. */
  readonly isLive?: boolean;
  /** What the object turns into as JSON, where it says so itself. */
  readonly json?: unknown;
  /** An empty object of the same kind. */
  make(): object;
  fill(target: object, parts: readonly Part[]): void;
}

interface PairList {
  [Symbol.iterator](): Iterator<[string, string]>;
  append(name: string, value: string): void;
}

/** What an error holds beside its enumerable properties. */
const ERROR_KEYS: readonly PropertyKey[] = ["name", "message", "stack", "cause", "errors"];

/** Undefined for what has no parts: dates, promises, functions. Throws what the object's own code throws. */
export function readParts(value: object): Parts | undefined {
  if (Array.isArray(value)) return readList(value);
  if (value instanceof Map) return readMap(value);
  if (value instanceof Set) return readSet(value);
  if (value instanceof Date || value instanceof Promise || value instanceof WeakMap) return undefined;
  if (isPairList(value)) return readPairs(value);
  return readRecord(value);
}

function readList(list: readonly unknown[]): Parts {
  const parts: Part[] = [];
  for (let i = 0; i < list.length; i += 1) parts.push({ name: i, value: list[i] });
  return {
    parts,
    make: () => [],
    fill(target, filled) {
      for (const { value } of filled) (target as unknown[]).push(value);
    },
  };
}

function readMap(map: ReadonlyMap<unknown, unknown>): Parts {
  return {
    parts: [...map].map(([name, value]) => ({ name, value })),
    make: () => new Map(),
    fill(target, parts) {
      const copy = target as Map<unknown, unknown>;
      for (const [i, { name, value }] of parts.entries())
        copy.set(copy.has(name) ? `${String(name)}#${i}` : name, value);
    },
  };
}

function readSet(set: ReadonlySet<unknown>): Parts {
  return {
    parts: [...set].map((value) => ({ name: undefined, value })),
    make: () => new Set(),
    fill(target, parts) {
      for (const { value } of parts) (target as Set<unknown>).add(value);
    },
  };
}

/** Headers, form data and search parameters. */
function isPairList(value: object): value is PairList {
  return [globalThis.Headers, globalThis.URLSearchParams].some((kind) => kind !== undefined && value instanceof kind);
}

function readPairs(pairs: PairList): Parts {
  return {
    parts: Array.from(pairs, ([name, value]) => ({ name, value })),
    make: () => new (pairs.constructor as new () => object)(),
    fill(target, parts) {
      for (const { name, value } of parts) (target as PairList).append(String(name), String(value));
    },
  };
}

function readRecord(record: object): Parts {
  const parts: Part[] = [];
  let isLive = false;
  const keys = record instanceof Error ? new Set([...Reflect.ownKeys(record), ...ERROR_KEYS]) : Reflect.ownKeys(record);
  for (const name of keys) {
    const own = Object.getOwnPropertyDescriptor(record, name);
    const isHidden = own === undefined || own.enumerable !== true;
    if (isHidden && !(record instanceof Error && ERROR_KEYS.includes(name) && name in record)) continue;
    isLive ||= own?.get !== undefined;
    parts.push({ name, value: own === undefined || own.get !== undefined ? Reflect.get(record, name) : own.value });
  }
  const { toJSON } = record as { readonly toJSON?: unknown };
  return {
    parts,
    isLive,
    ...(typeof toJSON === "function" ? { json: toJSON.call(record, "") as unknown } : {}),
    make: () => Object.create(Object.getPrototypeOf(record) as object | null) as object,
    fill(target, filled) {
      for (const [i, { name, value }] of filled.entries()) {
        const key = Object.hasOwn(target, name as PropertyKey) ? `${String(name)}#${i}` : (name as PropertyKey);
        Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
      }
    },
  };
}
