/** JSON text of any value, for models: it never throws, whatever the value is made of. */

const MAX_DEPTH = 64;

/**
 * JSON as `JSON.stringify` writes it, with big integers as digits, bytes as base64, Maps and Sets as arrays.
 *
 * Where a value defeats that (a cycle, a getter or `toJSON` that throws, a depth beyond the stack), the part that does
 * is replaced by a word in brackets and the rest is still written. What has no JSON at all is `null`.
 */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value, natural) ?? "null";
  } catch {
    return salvaged(value);
  }
}

/** What `JSON.stringify` cannot write, or writes as something else. */
function natural(this: unknown, key: string, value: unknown): unknown {
  const own = (this as Readonly<Record<string, unknown>>)[key];
  if (own instanceof Uint8Array) return base64(own);
  if (typeof value === "bigint") return String(value);
  if (value instanceof Map || value instanceof Set) return [...(value as Iterable<unknown>)];
  return value;
}

function base64(bytes: Uint8Array): string {
  let binary = "";
  for (let start = 0; start < bytes.length; start += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  }
  return btoa(binary);
}

function salvaged(value: unknown): string {
  try {
    return JSON.stringify(plain(value, [])) ?? "null";
  } catch {
    return '"[unreadable]"';
  }
}

function plain(value: unknown, path: readonly object[]): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (path.includes(value)) return "[circular]";
  if (path.length === MAX_DEPTH) return "[too deep]";
  try {
    return plainObject(value, [...path, value]);
  } catch {
    return "[unreadable]";
  }
}

function plainObject(value: object, path: readonly object[]): unknown {
  if (value instanceof Uint8Array) return base64(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (Array.isArray(value) || value instanceof Map || value instanceof Set) {
    return [...(value as Iterable<unknown>)].map((item) => plain(item, path));
  }
  const fields = Object.keys(value).map((key) => [key, read(value, key, path)] as const);
  return Object.fromEntries(fields.filter(([, field]) => typeof field !== "function"));
}

/** One property; a getter that throws costs only itself. */
function read(value: object, key: string, path: readonly object[]): unknown {
  try {
    return plain((value as Readonly<Record<string, unknown>>)[key], path);
  } catch {
    return "[unreadable]";
  }
}
