/** Reads the fields of a payload that came from a tool: each once, each checked, as plain JSON data. */

/** A field that is not what it has to be. Names the field, never what it held. */
export class PayloadProblem extends Error {
  override readonly name = "PayloadProblem";

  constructor(field: string, expected: string) {
    super(`handoff payload: ${field} must be ${expected}`);
  }
}

type Fields = Readonly<Record<string, unknown>>;

export class FieldReader {
  readonly #fields: Fields;

  /** A copy as JSON gives it back: getters are read here, and what is no JSON is a problem. */
  constructor(payload: unknown) {
    const copy = jsonCopy(payload);
    if (!isRecord(copy)) throw new PayloadProblem("payload", "an object of JSON values");
    this.#fields = copy;
  }

  has(field: string): boolean {
    return Object.hasOwn(this.#fields, field);
  }

  /** Undefined where the field is missing or null. */
  value(field: string): unknown {
    return this.has(field) ? (this.#fields[field] ?? undefined) : undefined;
  }

  /** Undefined where the field is missing, null or blank. */
  text(field: string): string | undefined {
    const value = this.value(field);
    if (value !== undefined && typeof value !== "string") throw new PayloadProblem(field, "a string");
    return value === undefined || value.trim() === "" ? undefined : value;
  }

  texts(field: string): readonly string[] {
    const items = this.items(field);
    if (!items.every((item) => typeof item === "string")) throw new PayloadProblem(field, "a list of strings");
    return items;
  }

  /** A list; one text stands for a list of one. */
  items(field: string): readonly unknown[] {
    const value = this.value(field) ?? [];
    if (typeof value === "string") return [value];
    if (!Array.isArray(value)) throw new PayloadProblem(field, "a list");
    return value;
  }

  record(field: string): Fields | undefined {
    const value = this.value(field);
    if (value !== undefined && !isRecord(value)) throw new PayloadProblem(field, "an object");
    return value;
  }

  /** A number from 0 to 1. */
  share(field: string): number | undefined {
    const value = this.value(field);
    if (value === undefined) return undefined;
    if (typeof value !== "number" || !(value >= 0 && value <= 1)) throw new PayloadProblem(field, "from 0 to 1");
    return value;
  }
}

function jsonCopy(payload: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(payload));
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
