/** Finds a handoff payload in a tool's result: an object, or JSON text of one. */

/** Longest text that is read as JSON, UTF-16 code units. */
const MAX_TEXT = 1_048_576;

/** What stands under the first of `keys` that is there; undefined where there is none. A getter's throw passes through. */
export function findHandoff(result: unknown, keys: readonly string[]): unknown {
  const value = typeof result === "string" ? readJson(result) : result;
  if (typeof value !== "object" || value === null) return undefined;
  const key = keys.find((candidate) => Object.hasOwn(value, candidate));
  if (key === undefined) return undefined;
  const payload = (value as Readonly<Record<string, unknown>>)[key];
  return typeof payload === "string" ? (readJson(payload) ?? payload) : payload;
}

function readJson(text: string): unknown {
  if (text.length > MAX_TEXT || !/^\s*\{/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // a text that only begins like JSON
  }
}
