/** A line of OTLP/JSON, read with care: what is no list holds nothing. */

import { isObject } from "../../records/field.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** The request that a line holds; null for what is none. */
export function otlpRequestIn(bytes: Buffer): JsonObject | null {
  try {
    const request: unknown = JSON.parse(bytes.toString("utf8"));
    return isObject(request) ? request : null;
  } catch {
    return null;
  }
}

/** The objects of a list. */
export function objectsIn(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** The text of the attribute `key`; null where there is none. */
export function textAttribute(attributes: unknown, key: string): string | null {
  const value = objectsIn(attributes).find((attribute) => attribute.key === key)?.value;
  return isObject(value) && typeof value.stringValue === "string" ? value.stringValue : null;
}
