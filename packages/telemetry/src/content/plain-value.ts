/** One step from any value to what JSON knows. Nothing in it throws. */

/**
 * A string, a finite number, a boolean, null, or an object or array whose members are still as they were.
 *
 * `toJSON` is asked, as `JSON.stringify` does. BigInt, NaN and the infinities become strings, a Map an object or a list of
 * pairs, a Set a list, an Error its name and message, bytes their number, undefined null; a function, a symbol, and a
 * getter or `toJSON` that throws become a mark in square brackets.
 */
export function toPlain(value: unknown): unknown {
  switch (typeof value) {
    case "bigint":
      return String(value);
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "function":
      return "[function]";
    case "symbol":
      return "[symbol]";
    case "undefined":
      return null;
    case "object":
      return value === null ? null : tryTo(() => plainObject(value), "[threw]");
    default:
      return value;
  }
}

function plainObject(value: object): unknown {
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
  const { toJSON } = value as { readonly toJSON?: unknown };
  if (typeof toJSON === "function") {
    const json: unknown = toJSON.call(value, "");
    return typeof json === "object" ? json : toPlain(json);
  }
  if (value instanceof Map) {
    const entries = [...(value as ReadonlyMap<unknown, unknown>)];
    return entries.every(([key]) => typeof key === "string") ? Object.fromEntries(entries) : entries;
  }
  if (value instanceof Set) return [...(value as ReadonlySet<unknown>)];
  return value instanceof Error ? { name: value.name, message: value.message } : value;
}

/** What `read` gives, or `otherwise` where the value's own code throws. */
export function tryTo<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise; // the mark that stands in its place says so
  }
}

/** Bytes of `text` in UTF-8. */
export function utf8Length(text: string): number {
  const { Buffer } = globalThis as { Buffer?: { byteLength(text: string): number } };
  return Buffer === undefined ? new TextEncoder().encode(text).length : Buffer.byteLength(text);
}
