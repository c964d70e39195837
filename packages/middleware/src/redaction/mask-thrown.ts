/** Masks what a tool threw: the same object where nothing in it had to be masked, else a copy of its kind. */

import type { Masking } from "./masking.ts";

/** How many causes deep an error is read; what lies deeper does not leave. */
const MAX_CAUSES = 8;
const HIDDEN_TOO_DEEP = "[redacted: nested too deep]";

/** Throws where the redactor does, or where what was thrown cannot be read. */
export function maskThrown(thrown: unknown, masking: Masking, depth = 0): unknown {
  if (typeof thrown === "string") return masking.text("error", thrown);
  if (!(thrown instanceof Error)) return masking.value("error", thrown);
  if (depth > MAX_CAUSES) return new Error(HIDDEN_TOO_DEEP);
  const before = fieldsOf(thrown);
  const after = new Map([...before].map(([key, value]) => [key, maskField(key, value, masking, depth)]));
  const changed = [...after].some(([key, value]) => !Object.is(value, before.get(key)));
  return changed ? copyOf(thrown, before, after) : thrown;
}

/** Every own field, and message, name and stack wherever they come from. */
function fieldsOf(error: Error): ReadonlyMap<PropertyKey, unknown> {
  const keys = new Set<PropertyKey>(["message", "name", "stack", ...Reflect.ownKeys(error)]);
  return new Map([...keys].map((key) => [key, Reflect.get(error, key)]));
}

function maskField(key: PropertyKey, value: unknown, masking: Masking, depth: number): unknown {
  if (typeof value === "string") return masking.text("error", value);
  if (typeof value !== "object" || value === null) return value;
  if (key === "errors" && Array.isArray(value)) {
    const errors = value.map((inner) => maskThrown(inner, masking, depth + 1));
    return errors.some((inner, position) => !Object.is(inner, value[position])) ? errors : value;
  }
  // The name of the field tells a redactor that goes by names what the value is.
  if (!(value instanceof Error)) return maskNamed(key, value, masking);
  return maskThrown(value, masking, depth + 1);
}

function maskNamed(key: PropertyKey, value: unknown, masking: Masking): unknown {
  if (typeof key === "symbol") return masking.value("error", value);
  const masked = masking.value("error", { [key]: value });
  return (masked as Readonly<Record<PropertyKey, unknown>>)[key];
}

/** A real error with the prototype of the first, so that `instanceof` and printing stay what they were. */
function copyOf(
  error: Error,
  before: ReadonlyMap<PropertyKey, unknown>,
  after: ReadonlyMap<PropertyKey, unknown>,
): Error {
  const copy = new Error();
  Object.setPrototypeOf(copy, Object.getPrototypeOf(error) as object | null);
  for (const [key, value] of after) {
    const { enumerable = false } = Object.getOwnPropertyDescriptor(error, key) ?? {};
    const isInherited = !Object.hasOwn(error, key) && Object.is(value, before.get(key)) && key === "name";
    if (!isInherited) Object.defineProperty(copy, key, { value, enumerable, writable: true, configurable: true });
  }
  return copy;
}
