/** Kinds of field: what a record may hold in one place, as JSON Schema for others and as a check for the verifier. */

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Field {
  readonly schema: JsonSchema;
  accepts(value: unknown): boolean;
}

/** One record's fields by name; the compiler keeps the table and the record's type equal. */
export type Fields<T> = { readonly [K in keyof T]-?: Field };

export const text: Field = { schema: { type: "string" }, accepts: (value) => typeof value === "string" };

export const flag: Field = { schema: { type: "boolean" }, accepts: (value) => typeof value === "boolean" };

export const count: Field = {
  schema: { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  accepts: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
};

/** An integer that may be negative. */
export const wholeNumber: Field = {
  schema: { type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
  accepts: (value) => Number.isSafeInteger(value),
};

export const milliseconds: Field = {
  schema: { type: "number", minimum: 0 },
  accepts: (value) => typeof value === "number" && value >= 0,
};

export function matching(pattern: RegExp): Field {
  return {
    schema: { type: "string", pattern: pattern.source },
    accepts: (value) => typeof value === "string" && pattern.test(value),
  };
}

/** RFC 3339, UTC, nine decimals. */
export const time: Field = matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/);
export const uuid: Field = matching(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
export const hex64: Field = matching(/^[0-9a-f]{64}$/);
export const traceId: Field = matching(/^[0-9a-f]{32}$/);
export const spanId: Field = matching(/^[0-9a-f]{16}$/);
/** A recorded hash, or why there is none. */
export const hash: Field = matching(/^(sha256|commit-sha256|hmac-sha256:[^:]+):[0-9a-f]{64}$|^refused:[a-z0-9_]+$/);

export function constant(word: string | number): Field {
  return { schema: { const: word }, accepts: (value) => value === word };
}

export function oneOf(words: readonly string[]): Field {
  const known = new Set<unknown>(words);
  return { schema: { enum: [...words] }, accepts: (value) => known.has(value) };
}

export function orNull(field: Field): Field {
  return {
    schema: { anyOf: [field.schema, { type: "null" }] },
    accepts: (value) => value === null || field.accepts(value),
  };
}

export function listOf(field: Field): Field {
  return {
    schema: { type: "array", items: field.schema },
    accepts: (value) => Array.isArray(value) && value.every((item) => field.accepts(item)),
  };
}

/** An object with exactly these fields. */
export function closed(fields: Readonly<Record<string, Field>>): Field {
  const entries = Object.entries(fields);
  return {
    schema: closedSchema(fields),
    accepts(value) {
      if (!isObject(value) || Object.keys(value).length !== entries.length) return false;
      return entries.every(([name, field]) => Object.hasOwn(value, name) && field.accepts(value[name]));
    },
  };
}

/** An object that may hold more than these fields, each of which may be absent. */
export function open(fields: Readonly<Record<string, Field>>, required: readonly string[] = []): Field {
  const entries = Object.entries(fields);
  return {
    schema: { type: "object", properties: properties(fields), required: [...required] },
    accepts(value) {
      if (!isObject(value) || !required.every((name) => Object.hasOwn(value, name))) return false;
      return entries.every(([name, field]) => !Object.hasOwn(value, name) || field.accepts(value[name]));
    },
  };
}

export function closedSchema(fields: Readonly<Record<string, Field>>): JsonSchema {
  return {
    type: "object",
    properties: properties(fields),
    required: Object.keys(fields),
    additionalProperties: false,
  };
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function properties(fields: Readonly<Record<string, Field>>): JsonSchema {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.schema]));
}
