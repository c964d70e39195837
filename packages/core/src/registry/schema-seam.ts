/** The schema-time seam: changes to tools before a model sees them. */

import { kindOf, ToolspanError } from "../errors.ts";
import { addProperty, declaresProperty } from "./object-schema.ts";
import { createToolRegistry, type ToolRegistry } from "./registry.ts";
import {
  isStandardSchema,
  type JsonSchema,
  type StandardResult,
  type StandardSchema,
  toJsonSchema,
} from "./standard-schema.ts";
import type { ParameterSpec, Tool } from "./tool-definition.ts";

/** Gives back the tool, a changed copy, or nothing to drop it. */
export type SchemaTransform = (tool: Tool) => Tool | undefined | null;

/**
 * A new registry in which every tool has gone through `transform`, in the order of the old one, which stays as it is.
 *
 * @throws TOOLSPAN_INVALID_TOOL or TOOLSPAN_DUPLICATE_TOOL if what comes back is not a set of sound tools.
 */
export function toolsUseMiddleware(registry: ToolRegistry, transform: SchemaTransform): ToolRegistry {
  const tools = [...registry].map((tool) => transform(tool)).filter((tool) => tool !== undefined && tool !== null);
  return createToolRegistry(tools, { names: registry.nameRule });
}

/** Anything that describes its arguments the way a tool does: a tool, or an entry of an MCP `tools/list`. */
export interface SchemaEntry {
  readonly inputSchema?: JsonSchema | StandardSchema;
  readonly parameters?: Readonly<Record<string, ParameterSpec>>;
}

/**
 * A copy of `entry` that declares one more parameter, in whichever of `inputSchema` and `parameters` it has.
 *
 * A parameter that is already declared stays as it is and the entry itself comes back. Under a Standard Schema the
 * parameter shows in its JSON Schema and is taken away before the vendor validates, so a strict schema still accepts.
 *
 * @param options.required Whether the model must give it. Default false.
 * @throws TOOLSPAN_INVALID_TOOL if `parameters` holds a complete JSON Schema instead of a map.
 */
export function toolInjectParam<E extends SchemaEntry>(
  entry: E,
  name: string,
  fragment: JsonSchema,
  options: { readonly required?: boolean } = {},
): E {
  const { inputSchema, parameters } = entry;
  const required = options.required ?? false;
  if (inputSchema === undefined && parameters !== undefined) {
    assertMap(entry, parameters);
    if (Object.hasOwn(parameters, name)) return entry;
    const spec: ParameterSpec = required ? { ...fragment, required } : fragment;
    return Object.freeze({ ...entry, parameters: { ...parameters, [name]: spec } });
  }
  const injected = isStandardSchema(inputSchema)
    ? injectIntoStandard(inputSchema, name, fragment, required)
    : addProperty(inputSchema ?? { type: "object" }, name, fragment, required);
  return injected === inputSchema ? entry : Object.freeze({ ...entry, inputSchema: injected });
}

function injectIntoStandard(
  schema: StandardSchema,
  name: string,
  fragment: JsonSchema,
  required: boolean,
): StandardSchema {
  const own = toJsonSchema(schema);
  if (own !== undefined && declaresProperty(own, name)) return schema;
  const json = addProperty(own ?? { type: "object" }, name, fragment, required);
  const validate = (value: unknown): Validated => schema["~standard"].validate(value);
  const natural = (value: unknown): Validated => validate(withoutKey(value, name));
  // A vendor that cannot show its schema may still know the parameter: then it must see it.
  const eitherWay = async (value: unknown): Promise<StandardResult<unknown>> => {
    const result = await validate(value);
    return result.issues === undefined ? result : natural(value);
  };
  return Object.freeze({
    "~standard": {
      version: 1 as const,
      vendor: schema["~standard"].vendor,
      jsonSchema: { input: () => json },
      validate: own === undefined ? eitherWay : natural,
    },
  });
}

type Validated = StandardResult<unknown> | Promise<StandardResult<unknown>>;

function withoutKey(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return value;
  const { [name]: _, ...rest } = value as Readonly<Record<string, unknown>>;
  return rest;
}

function assertMap(entry: SchemaEntry, parameters: JsonSchema): void {
  if (Object.values(parameters).every((spec) => typeof spec === "object" && spec !== null)) return;
  const { name } = entry as { readonly name?: unknown };
  throw new ToolspanError("TOOLSPAN_INVALID_TOOL", {
    tool: typeof name === "string" ? name : "",
    expected: "parameters to be a map of parameter to JSON Schema fragment, or a complete JSON Schema in inputSchema",
    received: kindOf(Object.values(parameters).find((spec) => typeof spec !== "object" || spec === null)),
  });
}
