/** Adding and leaving out properties of a JSON Schema of an object; every answer is a new schema. */

import type { JsonSchema } from "./standard-schema.ts";
import type { ParameterSpec } from "./tool-definition.ts";

/** True when the schema itself names the property. */
export function declaresProperty(schema: JsonSchema, name: string): boolean {
  return Object.hasOwn(propertiesOf(schema), name);
}

/** `schema` with one more property; the same schema if it declares that property already. */
export function addProperty(schema: JsonSchema, name: string, fragment: JsonSchema, required: boolean): JsonSchema {
  if (declaresProperty(schema, name)) return schema;
  const names = requiredOf(schema);
  return {
    ...schema,
    properties: { ...propertiesOf(schema), [name]: fragment },
    ...(required && !names.includes(name) ? { required: [...names, name] } : {}),
  };
}

/** `schema` without the named properties, neither declared nor required; the same schema if it has none of them. */
export function omitProperties(schema: JsonSchema, names: readonly string[]): JsonSchema {
  const required = requiredOf(schema);
  if (!names.some((name) => declaresProperty(schema, name) || required.includes(name))) return schema;
  const kept = Object.entries(propertiesOf(schema)).filter(([name]) => !names.includes(name));
  const { required: _, ...rest } = schema;
  const still = required.filter((name) => !names.includes(name));
  return { ...rest, properties: Object.fromEntries(kept), ...(still.length > 0 ? { required: still } : {}) };
}

/** A map of parameters as the JSON Schema that it stands for. */
export function parametersToSchema(parameters: Readonly<Record<string, ParameterSpec>>): JsonSchema {
  const entries = Object.entries(parameters);
  const required = entries.filter(([, spec]) => spec.required === true).map(([name]) => name);
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, spec]) => [name, withoutFlag(spec)])),
    ...(required.length > 0 ? { required } : {}),
  };
}

/** An array under `required` is JSON Schema's own and stays; a boolean is the flag of the map. */
function withoutFlag(spec: ParameterSpec): JsonSchema {
  if (typeof spec.required !== "boolean") return spec;
  const { required: _, ...fragment } = spec;
  return fragment;
}

function propertiesOf({ properties }: JsonSchema): JsonSchema {
  return typeof properties === "object" && properties !== null ? (properties as JsonSchema) : {};
}

function requiredOf({ required }: JsonSchema): readonly string[] {
  return Array.isArray(required) ? (required as readonly string[]) : [];
}
