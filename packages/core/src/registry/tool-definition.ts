/** What a tool is before anybody calls it, and the definition-time checks that keep dispatch free of surprises. */

import { kindOf, quote, ToolspanError } from "../errors.ts";
import { SIDE_EFFECT_LEVELS } from "../policy/compile-policy.ts";
import type { Executor, SideEffectLevel, ToolAnnotations, ToolCall } from "../vocabulary/tool-call.ts";
import { isStandardSchema, type JsonSchema, type StandardSchema } from "./standard-schema.ts";

/** Which names are allowed: ASCII snake_case of at most 64 characters, or the set of MCP (letters, digits, `_-.`, 128). */
export type NameRule = "snake_case" | "mcp";

/** One parameter of a `parameters` map: a JSON Schema fragment, and whether a call must give it (default false). */
export type ParameterSpec = JsonSchema & { readonly required?: boolean | readonly string[] };

/** How often and how patiently a failed call of this tool may be repeated. */
export interface RetryOverride {
  /** Runs in all, integer >= 1; 1 forbids repetition. */
  readonly maxAttempts: number;
  /** Wait before the second run, milliseconds, integer >= 0. */
  readonly backoffMs?: number;
}

/** When a result is better kept beside the conversation than in it. */
export interface ArtifactPolicy {
  /** Largest rendered result that goes to the model as it is, UTF-8 bytes, integer >= 0. */
  readonly maxInlineBytes: number;
  readonly mediaType?: string;
}

/** A tool, as a host defines it. */
export interface ToolDefinition {
  readonly name: string;
  readonly description?: string;
  /**
   * The arguments: a complete JSON Schema of an object, or any Standard Schema. Not beside `parameters`.
   *
   * A schema checks and changes nothing: defaults, coercions and transformations are not applied.
   */
  readonly inputSchema?: JsonSchema | StandardSchema;
  /** The arguments as a map: parameter → JSON Schema fragment. Not beside `inputSchema`. */
  readonly parameters?: Readonly<Record<string, ParameterSpec>>;
  readonly outputSchema?: JsonSchema | StandardSchema;
  readonly annotations?: ToolAnnotations;
  /** Unknown counts as `network`. */
  readonly sideEffectLevel?: SideEffectLevel;
  /** Unknown counts as false. */
  readonly idempotent?: boolean;
  /** Capability → operations that the tool needs. */
  readonly capabilities?: Readonly<Record<string, readonly string[]>>;
  /** Default `local` where there is an `execute`. */
  readonly declaredExecutor?: Executor;
  /** Time budget of one call, milliseconds, integer >= 0. */
  readonly timeoutMs?: number;
  readonly retry?: RetryOverride;
  /** Whether a call needs somebody's consent: decided per call by a function. */
  readonly confirmation?: "always" | "never" | ((call: ToolCall) => boolean);
  /** Arguments that the host gives: argument → where it comes from. The model never sees them, and cannot set them. */
  readonly injected?: Readonly<Record<string, (call: ToolCall) => unknown>>;
  readonly artifact?: ArtifactPolicy;
  /** Runs the tool; returns a value, a promise, or an async iterable. */
  execute?(args: Record<string, unknown>, call: ToolCall): unknown;
}

/** The same with `Args` for what `execute` gets: the input of a Standard Schema, or what the JSON Schema describes. */
export interface TypedToolDefinition<Args> extends Omit<ToolDefinition, "inputSchema" | "execute"> {
  readonly inputSchema?: JsonSchema | StandardSchema<Args, unknown>;
  execute?(args: Args, call: ToolCall): unknown;
}

/** A checked definition, frozen. */
export type Tool = Readonly<ToolDefinition>;

const NAME_RULES: Readonly<Record<NameRule, { readonly test: RegExp; readonly expected: string }>> = {
  snake_case: { test: /^[a-z][a-z0-9_]{0,63}$/, expected: "a name in ASCII snake_case of at most 64 characters" },
  mcp: { test: /^[A-Za-z0-9_.-]{1,128}$/, expected: "a name of 1 to 128 letters, digits, '_', '-' or '.'" },
};

const EXECUTORS: readonly unknown[] = ["local", "host_bridge", "mcp_server", "provider_native"] satisfies Executor[];

type Rule = readonly [expected: string, fits: (value: unknown) => boolean];

const FIELD_RULES: Readonly<Record<Exclude<keyof ToolDefinition, "name">, Rule>> = {
  description: ["a string", isString],
  inputSchema: ["a JSON Schema of an object, or a Standard Schema", isObjectSchema],
  parameters: [
    "a map of parameter to JSON Schema fragment (a complete JSON Schema goes into inputSchema)",
    (value) => isRecord(value) && Object.values(value).every(isRecord),
  ],
  outputSchema: ["a JSON Schema or a Standard Schema", (value) => isStandardSchema(value) || isRecord(value)],
  annotations: ["a title and hints that are booleans", isAnnotations],
  sideEffectLevel: [
    `one of ${SIDE_EFFECT_LEVELS.join(", ")}`,
    (value) => SIDE_EFFECT_LEVELS.some((level) => level === value),
  ],
  idempotent: ["a boolean", (value) => typeof value === "boolean"],
  capabilities: [
    "a map of capability to operation names",
    (value) => isRecord(value) && Object.values(value).every((names) => Array.isArray(names) && names.every(isString)),
  ],
  declaredExecutor: [`one of ${EXECUTORS.join(", ")}`, (value) => EXECUTORS.includes(value)],
  timeoutMs: ["an integer >= 0", (value) => isCount(value, 0)],
  retry: [
    "{ maxAttempts: integer >= 1, backoffMs?: integer >= 0 }",
    (value) => isRecord(value) && isCount(value.maxAttempts, 1) && isCount(value.backoffMs ?? 0, 0),
  ],
  confirmation: [
    '"always", "never" or a function',
    (value) => value === "always" || value === "never" || typeof value === "function",
  ],
  injected: [
    "a map of argument to function",
    (value) => isRecord(value) && Object.values(value).every((source) => typeof source === "function"),
  ],
  artifact: [
    "{ maxInlineBytes: integer >= 0, mediaType?: string }",
    (value) => isRecord(value) && isCount(value.maxInlineBytes, 0) && isString(value.mediaType ?? ""),
  ],
  execute: ["a function", (value) => typeof value === "function"],
};

const defined = new WeakSet<object>();

/**
 * Checks a tool once, when it is defined, and freezes it.
 *
 * @returns The definition itself if it was made here before, else a frozen copy.
 * @throws TOOLSPAN_INVALID_TOOL if the name offends `options.names` (default `snake_case`), a field is not of its
 *   declared shape, or both `inputSchema` and `parameters` are given.
 */
export function defineTool<Args = Record<string, unknown>>(
  typed: TypedToolDefinition<Args>,
  options: { readonly names?: NameRule } = {},
): Tool {
  const definition = typed as ToolDefinition;
  assertName((definition as Partial<ToolDefinition> | undefined | null)?.name, options.names ?? "snake_case");
  if (defined.has(definition)) return definition;
  const refuse = (expected: string, received: string): never => {
    throw new ToolspanError("TOOLSPAN_INVALID_TOOL", { tool: definition.name, expected, received });
  };
  for (const [field, [expected, fits]] of Object.entries(FIELD_RULES)) {
    const value = (definition as unknown as JsonSchema)[field];
    if (value !== undefined && !fits(value)) refuse(`${field} to be ${expected}`, kindOf(value));
  }
  if (definition.inputSchema !== undefined && definition.parameters !== undefined) {
    refuse("either inputSchema or parameters", "both");
  }
  const tool = Object.freeze({ ...definition });
  defined.add(tool);
  return tool;
}

function assertName(name: unknown, rule: NameRule): void {
  const { test, expected } = NAME_RULES[rule];
  if (typeof name === "string" && test.test(name)) return;
  throw new ToolspanError("TOOLSPAN_INVALID_TOOL", {
    tool: typeof name === "string" ? name : "",
    expected,
    received: typeof name === "string" ? quote(name) : kindOf(name),
  });
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

function isCount(value: unknown, least: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= least;
}

function isObjectSchema(value: unknown): boolean {
  return isStandardSchema(value) || (isRecord(value) && (value.type ?? "object") === "object");
}

function isAnnotations(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { title = "", readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = value;
  const hints = [readOnlyHint, destructiveHint, idempotentHint, openWorldHint];
  return isString(title) && hints.every((hint) => hint === undefined || typeof hint === "boolean");
}
