/** What a dispatch needs from a tool: the facts of a call, the handler, the check, and the tool as the model sees it. */

import { diagnostics } from "../diagnostics.ts";
import { quote, ToolspanError } from "../errors.ts";
import type { ArgsProblem } from "../ports/args-validator.ts";
import type { ToolHandler } from "../ports/dispatcher-port.ts";
import type { ToolAnnotations, ToolCall, ToolCallInput } from "../vocabulary/tool-call.ts";
import { omitProperties, parametersToSchema } from "./object-schema.ts";
import {
  isStandardSchema,
  type JsonSchema,
  type StandardResult,
  toArgsProblems,
  toJsonSchema,
} from "./standard-schema.ts";
import type { Tool } from "./tool-definition.ts";

/** A tool as it is offered to a model, in MCP's spelling. */
export interface ModelTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations?: ToolAnnotations;
}

/** One tool, made ready for dispatch: computed once. */
export interface ToolBinding {
  readonly tool: Tool;
  /** What a call of this tool says about it; spread it into a `ToolCallInput`. */
  readonly facts: ToolCallInput;
  readonly model: ModelTool;
  /** Undefined where the tool runs elsewhere. */
  readonly handler: ToolHandler | undefined;
  /** Only for a Standard Schema: its own check of a call's arguments. */
  readonly validate: ((call: ToolCall) => readonly ArgsProblem[] | Promise<readonly ArgsProblem[]>) | undefined;
}

/** @throws TOOLSPAN_INVALID_TOOL if a Standard Schema's vendor cannot turn it into JSON Schema. */
export function bindTool(tool: Tool): ToolBinding {
  const schema = modelSchema(tool);
  const { name, description, annotations, sideEffectLevel, idempotent, capabilities, execute } = tool;
  const declaredExecutor = tool.declaredExecutor ?? (execute === undefined ? undefined : "local");
  const outputSchema = tool.outputSchema && shown(tool, "outputSchema", tool.outputSchema);
  return Object.freeze({
    tool,
    facts: compact({
      toolName: name,
      known: true,
      schema,
      description,
      annotations,
      sideEffectLevel,
      idempotent,
      capabilities,
      declaredExecutor,
    }),
    model: compact({ name, description, inputSchema: schema ?? { type: "object" }, outputSchema, annotations }),
    ...bindArguments(tool),
  });
}

/** The input schema less the arguments that the host gives. */
function modelSchema(tool: Tool): JsonSchema | undefined {
  const { inputSchema, parameters, injected } = tool;
  const whole =
    inputSchema === undefined ? parameters && parametersToSchema(parameters) : shown(tool, "inputSchema", inputSchema);
  return whole && omitProperties(whole, Object.keys(injected ?? {}));
}

function shown(tool: Tool, field: string, schema: NonNullable<Tool["inputSchema"]>): JsonSchema | undefined {
  let json: JsonSchema | undefined;
  try {
    json = toJsonSchema(schema);
  } catch (cause) {
    const expected = `${field} that its vendor can express as JSON Schema`;
    throw new ToolspanError(
      "TOOLSPAN_INVALID_TOOL",
      { tool: tool.name, expected, received: "one it cannot" },
      { cause },
    );
  }
  if (json === undefined) {
    const message = `tool ${quote(tool.name)}: its ${field} offers no JSON Schema, so models see an open object`;
    diagnostics.report("core.registry", "schema_without_json", message);
  }
  return json;
}

function bindArguments(tool: Tool): Pick<ToolBinding, "handler" | "validate"> {
  const { inputSchema, execute } = tool;
  if (!isStandardSchema(inputSchema)) {
    return {
      validate: undefined,
      handler: execute && ((call) => execute.call(tool, asArgs(withInjected(tool, call)), call)),
    };
  }
  const standard = inputSchema["~standard"];
  // The check at the terminal and the handler right after it see the same call, and a vendor's check may be costly.
  const checked = new WeakMap<ToolCall, CheckedArgs>();
  const check = (call: ToolCall): CheckedArgs | Promise<CheckedArgs> => {
    const known = checked.get(call);
    if (known !== undefined) return known;
    const args = withInjected(tool, call);
    const keep = ({ issues }: StandardResult<unknown>): CheckedArgs => {
      const problems = issues === undefined ? [] : toArgsProblems({ issues });
      const entry = { args, refused: issues !== undefined, problems };
      checked.set(call, entry);
      return entry;
    };
    return after(standard.validate(args), keep);
  };
  const run = (call: ToolCall, { args, refused, problems }: CheckedArgs): unknown => {
    if (!refused) return execute?.call(tool, asArgs(args), call);
    throw new ToolspanError("TOOLSPAN_INVALID_ARGUMENTS", { tool: tool.name, problems: problems.length });
  };
  return {
    validate: (call) => after(check(call), ({ problems }) => problems),
    handler: execute && ((call) => after(check(call), (result) => run(call, result))),
  };
}

/** What a schema was shown, and that alone runs: its output is nothing that policies, people or records have seen. */
interface CheckedArgs {
  readonly args: unknown;
  readonly refused: boolean;
  readonly problems: readonly ArgsProblem[];
}

/** What the host gives wins over what a model made up under that name. */
function withInjected({ injected }: Tool, call: ToolCall): unknown {
  const { toolArgs = {} } = call;
  if (injected === undefined || typeof toolArgs !== "object" || toolArgs === null || Array.isArray(toolArgs)) {
    return call.toolArgs;
  }
  const given = Object.entries(injected).map(([name, source]) => [name, source(call)] as const);
  return { ...toolArgs, ...Object.fromEntries(given) };
}

/** What the schema takes; a tool without one takes what it gets. */
function asArgs(value: unknown): Record<string, unknown> {
  return value as Record<string, unknown>;
}

/** Keeps what is synchronous synchronous. */
function after<T, R>(value: T | Promise<T>, then: (value: T) => R): R | Promise<Awaited<R>> {
  return value instanceof Promise ? (value.then(then) as Promise<Awaited<R>>) : then(value);
}

function compact<T extends object>(fields: { readonly [K in keyof T]: T[K] | undefined }): T {
  return Object.freeze(Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))) as T;
}
