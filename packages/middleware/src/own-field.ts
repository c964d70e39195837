/** A layer's own argument: how it is told from a tool's, and taken away from a call on its way inward. */

import { declaresProperty, type JsonSchema, omitProperties, type ToolCall, toolInjectParam } from "@toolspan/core";

export interface OwnField {
  /** The call as the rest of the stack is to see it. */
  passInward(call: ToolCall): ToolCall;
}

/**
 * An argument that a layer has asked for with `fragment`. Where a tool declares one of that name in its own way, it is the
 * tool's: calls of that tool go inward unchanged.
 */
export function ownField(name: string, fragment: JsonSchema, strip: boolean): OwnField {
  const seen = new WeakMap<JsonSchema, JsonSchema>();
  const inward = (schema: JsonSchema): JsonSchema => {
    const known = seen.get(schema);
    if (known !== undefined) return known;
    const changed = strip ? omitProperties(schema, [name]) : judged(schema, name);
    seen.set(schema, changed);
    return changed;
  };
  return {
    passInward(call) {
      const schema = isRecord(call.schema) ? call.schema : undefined;
      if (schema !== undefined && isTools(schema, name, fragment)) return call;
      const toolArgs = strip ? withoutKey(call.toolArgs, name) : call.toolArgs;
      const changed = schema && inward(schema);
      if (toolArgs === call.toolArgs && changed === schema) return call;
      return { ...call, toolArgs, ...(changed === undefined ? {} : { schema: changed }) };
    },
  };
}

/** A field that stays has been judged by the layer: the schema admits it and asks nothing more of it. */
function judged(schema: JsonSchema, name: string): JsonSchema {
  const { inputSchema } = toolInjectParam({ inputSchema: omitProperties(schema, [name]) }, name, {});
  return inputSchema as JsonSchema;
}

/** True where the property is declared, and not by this layer. Compared by content: adapters copy schemas. */
function isTools(schema: JsonSchema, name: string, fragment: JsonSchema): boolean {
  if (!declaresProperty(schema, name)) return false;
  const declared = (schema.properties as JsonSchema)[name];
  if (!isRecord(declared)) return true;
  const keys = Object.keys(declared);
  return keys.length !== Object.keys(fragment).length || keys.some((key) => declared[key] !== fragment[key]);
}

/** Getters and prototype stay what they are: only the one key goes. */
function withoutKey(args: unknown, name: string): unknown {
  if (!isRecord(args) || !Object.hasOwn(args, name)) return args;
  const { [name]: _, ...descriptors } = Object.getOwnPropertyDescriptors(args);
  return Object.create(Object.getPrototypeOf(args) as object | null, descriptors);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
