/** Attribute values, times and texts as OTLP/JSON writes them: 64-bit integers as strings, ids as hex, enums as integers. */

import type { HrTime } from "@opentelemetry/api";

const MAX_CACHED_KEYS = 2000;

const keys = new Map<string, string>();

/**
 * `[{"key":…,"value":…},…]` of a map of attributes; undefined and null members are left out.
 *
 * @source OpenTelemetry protocol 1.11, OTLP/JSON; protobuf JSON mapping for non-finite doubles
 */
export function attributesToJson(attributes: Readonly<Record<string, unknown>>): string {
  let json = "[";
  for (const key in attributes) {
    const value = attributes[key];
    if (value === undefined || value === null) continue;
    json += `${json.length === 1 ? "" : ","}${keyToJson(key)}${valueToJson(value)}}`;
  }
  return `${json}]`;
}

/** One `AnyValue`. What has no form there becomes an empty value. */
export function valueToJson(value: unknown): string {
  switch (typeof value) {
    case "string":
      return `{"stringValue":${JSON.stringify(value)}}`;
    case "number":
      return numberToJson(value);
    case "boolean":
      return `{"boolValue":${value}}`;
    case "bigint":
      return `{"intValue":"${value}"}`;
    case "object":
      return value === null ? "{}" : objectToJson(value);
    default:
      return "{}";
  }
}

/** Nanoseconds since the Unix epoch as a decimal string. */
export function hrToNanos([seconds, nanos]: HrTime): string {
  const whole = Math.trunc(nanos);
  return seconds === 0 ? String(whole) : `${seconds}${String(whole).padStart(9, "0")}`;
}

/** A double as protobuf's JSON mapping writes it. */
export function doubleToJson(value: number): string {
  return Number.isFinite(value) ? String(value) : `"${value}"`;
}

function numberToJson(value: number): string {
  return Number.isSafeInteger(value) ? `{"intValue":"${value}"}` : `{"doubleValue":${doubleToJson(value)}}`;
}

function objectToJson(value: object): string {
  if (value instanceof Uint8Array) return `{"bytesValue":"${toBase64(value)}"}`;
  if (Array.isArray(value)) return `{"arrayValue":{"values":[${value.map(valueToJson).join(",")}]}}`;
  return `{"kvlistValue":{"values":${attributesToJson(value as Record<string, unknown>)}}}`;
}

/** `{"key":"…","value":`, remembered: the same few keys come again and again. */
function keyToJson(key: string): string {
  const known = keys.get(key);
  if (known !== undefined) return known;
  const json = `{"key":${JSON.stringify(key)},"value":`;
  if (keys.size < MAX_CACHED_KEYS) keys.set(key, json);
  return json;
}

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}
