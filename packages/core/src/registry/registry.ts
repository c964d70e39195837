/** The set of tools that an agent has, checked when it is made and looked up by name when a model calls. */

import { ToolspanError } from "../errors.ts";
import type { ArgsValidator } from "../ports/args-validator.ts";
import type { ToolHandler } from "../ports/dispatcher-port.ts";
import type { ToolCallInput } from "../vocabulary/tool-call.ts";
import { bindTool, type ModelTool } from "./tool-binding.ts";
import { defineTool, type NameRule, type Tool, type ToolDefinition } from "./tool-definition.ts";

/** Fields of a call that a registry does not know: arguments, ids, turn, signal. */
export type CallFields = Omit<ToolCallInput, "toolName" | "known">;

export interface ToolRegistry extends Iterable<Tool> {
  readonly nameRule: NameRule;
  /** In order of definition. */
  readonly names: readonly string[];
  /** What models are given: no injected arguments, no handlers. */
  readonly tools: readonly ModelTool[];
  get(name: string): Tool | undefined;
  /** A dispatch-ready call of the named tool; for a name that is not here one with `known: false`. */
  toCall(name: string, fields: CallFields): ToolCallInput;
  /**
   * What a dispatcher runs for the named tool; undefined for unknown tools and those that run elsewhere.
   *
   * The tool gets the arguments that layers, policies and records saw, and injected ones; never the output of a schema.
   */
  handler(name: string): ToolHandler | undefined;
  /**
   * An argument check for a dispatcher: a Standard Schema by its vendor, everything else by `jsonSchema`.
   *
   * Without it in the dispatcher, arguments that a Standard Schema refuses fail in the handler, as an exception.
   */
  validator(jsonSchema?: ArgsValidator): ArgsValidator;
}

/**
 * Makes a registry of definitions or defined tools.
 *
 * @param options.names Which names are allowed. Default `snake_case`.
 * @throws TOOLSPAN_INVALID_TOOL for a definition that `defineTool` refuses.
 * @throws TOOLSPAN_DUPLICATE_TOOL for a name that comes twice.
 */
export function createToolRegistry(
  tools: Iterable<ToolDefinition>,
  options: { readonly names?: NameRule } = {},
): ToolRegistry {
  const nameRule = options.names ?? "snake_case";
  const bindings = new Map<string, ReturnType<typeof bindTool>>();
  for (const definition of tools) {
    const tool = defineTool(definition, { names: nameRule });
    if (bindings.has(tool.name)) throw new ToolspanError("TOOLSPAN_DUPLICATE_TOOL", { tool: tool.name });
    bindings.set(tool.name, bindTool(tool));
  }
  const all = [...bindings.values()];
  return Object.freeze({
    nameRule,
    names: Object.freeze([...bindings.keys()]),
    tools: Object.freeze(all.map(({ model }) => model)),
    get: (name: string) => bindings.get(name)?.tool,
    toCall: (name: string, fields: CallFields): ToolCallInput => {
      const facts = bindings.get(name)?.facts ?? { toolName: name, known: false };
      return { ...fields, ...facts };
    },
    handler: (name: string) => bindings.get(name)?.handler,
    validator:
      (jsonSchema: ArgsValidator = () => []): ArgsValidator =>
      (call) =>
        (bindings.get(call.toolName)?.validate ?? jsonSchema)(call),
    [Symbol.iterator]: () => all.map(({ tool }) => tool).values(),
  });
}
