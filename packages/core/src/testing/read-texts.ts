/** Every text that a value of any shape holds, with the path to it. */

export interface FoundText {
  readonly path: readonly string[];
  readonly text: string;
}

interface Waiting {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** What an error says beside its enumerable properties. */
const HIDDEN: readonly PropertyKey[] = ["name", "message", "stack", "cause", "errors"];

/** Each object once. What throws while it is read is read as what it threw. */
export function* readTexts(root: unknown): Iterable<FoundText> {
  const seen = new Set<object>();
  const waiting: Waiting[] = [{ path: [], value: root }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { path, value } = next;
    if (typeof value === "string") yield { path, text: value };
    else if (typeof value === "number" || typeof value === "bigint") yield { path, text: String(value) };
    else if (typeof value === "symbol") yield { path, text: value.description ?? "" };
    else if (typeof value === "object" && value !== null && !seen.has(value)) {
      seen.add(value);
      for (const [name, member] of membersOf(value)) {
        if (typeof name === "string") waiting.push({ path: [...path, "(key)"], value: name });
        waiting.push({ path: [...path, String(name)], value: member });
      }
    }
  }
}

function membersOf(value: object): readonly (readonly [name: unknown, value: unknown])[] {
  try {
    if (ArrayBuffer.isView(value)) {
      const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
      return [["bytes", new TextDecoder().decode(bytes)]];
    }
    if (value instanceof ArrayBuffer) return [["bytes", new TextDecoder().decode(value)]];
    if (Array.isArray(value)) return value.map((member, i) => [i, member]);
    if (value instanceof Map) return [...value].flatMap(([key, member]) => [[key, member], ["key", key]]); // biome-ignore format: one line
    if (value instanceof Set) return [...value].map((member, i) => [i, member]);
    return propertiesOf(value);
  } catch (thrown) {
    return [["threw", thrown]];
  }
}

function propertiesOf(value: object): readonly (readonly [name: unknown, value: unknown])[] {
  const keys = new Set([...Reflect.ownKeys(value), ...(value instanceof Error ? HIDDEN : [])]);
  const members = [...keys].map((key): [unknown, unknown] => [key, readSafely(value, key)]);
  const json = readSafely(value, "toJSON");
  if (typeof json !== "function") return members;
  return [...members, ["toJSON()", readSafely({ get json() { return json.call(value, ""); } }, "json")]]; // biome-ignore format: one line
}

function readSafely(value: object, key: PropertyKey): unknown {
  try {
    return Reflect.get(value, key);
  } catch (thrown) {
    return thrown; // what it says is looked at as well
  }
}
