/** JSON from files that anybody may have written: nothing is believed before it is looked at. */

export interface Json {
  readonly [key: string]: unknown;
}

/** The object that a line holds; undefined for everything else. */
export function parseObject(line: string): Json | undefined {
  try {
    return asObject(JSON.parse(line));
  } catch {
    return undefined;
  }
}

export function asObject(value: unknown): Json | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
}

/** The objects of an array; none where it is no array. */
export function asObjects(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map(asObject).filter((item) => item !== undefined) : [];
}
