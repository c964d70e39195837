/** Makes layers, and reads the definition back from anything that stands in a list of layers. */

import { ToolspanError } from "../errors.ts";
import { LAYER, type Layer, type LayerDefinition, type ToolCaller } from "../ports/layer.ts";
import { unrecordedScope } from "./unrecorded-scope.ts";

const WIRE_NAME = /^[a-z][a-z0-9_]{0,63}$/;

/**
 * Makes a layer with a wire name and declared traits.
 *
 * @throws TOOLSPAN_INVALID_OPTION when made, if `name` is not ASCII snake_case of at most 64 characters.
 */
export function defineLayer(definition: LayerDefinition): Layer {
  if (!WIRE_NAME.test(definition.name)) {
    throw new ToolspanError("TOOLSPAN_INVALID_OPTION", {
      subject: "defineLayer",
      option: "name",
      expected: "ASCII snake_case of at most 64 characters",
      received: JSON.stringify(definition.name),
    });
  }
  const caller: ToolCaller = (call, next, scope = unrecordedScope) => definition.call(call, next, scope);
  return Object.assign(caller, { [LAYER]: Object.freeze({ ...definition }) });
}

/** The definition of a layer; for a plain function its own name in snake_case, else `layer_<index>`, and no traits. */
export function definitionOf(caller: ToolCaller, index: number): LayerDefinition {
  const defined = (caller as Partial<Layer>)[LAYER];
  return defined ?? { name: snakeCase(caller.name) ?? `layer_${index}`, call: caller };
}

function snakeCase(name: unknown): string | undefined {
  if (typeof name !== "string") return undefined;
  const snake = name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/[^A-Za-z0-9]+/g, "_")
    .toLowerCase()
    .replace(/^_+|_+$/g, "")
    .slice(0, 64);
  return WIRE_NAME.test(snake) ? snake : undefined;
}
