/** What an execution policy says, and how it is read once into a check of tool calls. */

import { kindOf, quote, ToolspanError } from "../errors.ts";
import type { SideEffectLevel, ToolCall } from "../vocabulary/tool-call.ts";

/** What one argument of a tool may be. Both may be given; an argument that is not there does not fit. */
export interface ArgConstraint {
  /** The argument is one of these. */
  readonly oneOf?: readonly (string | number | boolean | null)[];
  /** The argument is a string that this regular expression (ECMAScript source, flag `u`) matches from start to end. */
  readonly pattern?: string;
}

/**
 * What tools may do. What is left out is not restricted; an empty list allows nothing.
 *
 * What a tool does not declare counts as the worst: no side-effect level as `network`, no capabilities as all of them.
 */
export interface ExecutionPolicy {
  /** Names the scope in refusals. */
  readonly stage?: string;
  readonly allowedTools?: readonly string[];
  readonly deniedTools?: readonly string[];
  /** The highest level allowed: none < read_only < workspace_write < process_exec < network. */
  readonly sideEffectLevel?: SideEffectLevel;
  /** Capability → operations allowed. A capability that is not named is not allowed. */
  readonly capabilities?: Readonly<Record<string, readonly string[]>>;
  /** Tool → argument (own, top-level) → constraint. Tools that are not named are not constrained. */
  readonly toolArgs?: Readonly<Record<string, Readonly<Record<string, ArgConstraint>>>>;
}

/** Which part of a policy a call offends. */
export type PolicyRule = "allowed_tools" | "denied_tools" | "side_effect_level" | "capabilities" | "tool_args";

export interface PolicyViolation {
  readonly rule: PolicyRule;
  /** Stage of the scope that was offended. */
  readonly stage: string | undefined;
  /** One sentence for the model; names tool, level or argument, never an argument's value. */
  readonly message: string;
}

/** From no effect to the widest. */
export const SIDE_EFFECT_LEVELS: readonly SideEffectLevel[] = Object.freeze([
  "none",
  "read_only",
  "workspace_write",
  "process_exec",
  "network",
]);

const SUBJECT = "withExecutionPolicy";

/** Answers with the first offence of a call against one policy, null where there is none. */
export type PolicyCheck = (call: ToolCall) => PolicyViolation | null;

/**
 * Reads `policy` once, into a check.
 *
 * @param subject Whose option a field of the wrong shape is.
 * @throws TOOLSPAN_INVALID_OPTION if a field is not of its declared shape.
 */
export function compilePolicy(policy: ExecutionPolicy, subject: string = SUBJECT): PolicyCheck {
  try {
    return compile(policy);
  } catch (thrown) {
    if (!ToolspanError.is(thrown, "TOOLSPAN_INVALID_OPTION") || subject === SUBJECT) throw thrown;
    throw new ToolspanError("TOOLSPAN_INVALID_OPTION", { ...thrown.details, subject });
  }
}

function compile(policy: ExecutionPolicy): PolicyCheck {
  const { stage, allowedTools, deniedTools, sideEffectLevel, capabilities, toolArgs } = policy;
  const where = typeof stage === "string" ? ` of stage ${quote(stage)}` : "";
  const violation = (rule: PolicyRule, message: string): PolicyViolation => ({ rule, stage, message: message + where });
  if (stage !== undefined && typeof stage !== "string") throw invalid("stage", "a string", stage);

  const allowed = given("allowedTools", allowedTools, nameSet);
  const denied = given("deniedTools", deniedTools, nameSet);
  const ceiling = given("sideEffectLevel", sideEffectLevel, rankOf);
  const operations = given("capabilities", capabilities, mapOf(nameSet));
  const constraints = given("toolArgs", toolArgs, mapOf(mapOf(compileConstraint)));

  return (call) => {
    const tool = quote(call.toolName);
    if (denied?.has(call.toolName)) return violation("denied_tools", `tool ${tool} is denied by the policy`);
    if (allowed !== undefined && !allowed.has(call.toolName)) {
      return violation("allowed_tools", `tool ${tool} is not among the allowed tools`);
    }
    if (ceiling !== undefined && levelOf(call) > ceiling) {
      return violation("side_effect_level", `tool ${tool} exceeds the side-effect level ${sideEffectLevel}`);
    }
    if (operations !== undefined && !coversCapabilities(operations, call.capabilities)) {
      return violation("capabilities", `tool ${tool} needs more than the allowed capabilities`);
    }
    for (const [arg, fits] of constraints?.get(call.toolName) ?? []) {
      if (!fits(ownValue(call.toolArgs, arg))) {
        return violation("tool_args", `argument ${quote(arg)} of tool ${tool} does not fit the policy`);
      }
    }
    return null;
  };
}

function levelOf({ sideEffectLevel }: ToolCall): number {
  const rank = SIDE_EFFECT_LEVELS.indexOf(sideEffectLevel ?? "network");
  return rank === -1 ? Number.POSITIVE_INFINITY : rank;
}

function coversCapabilities(
  allowed: ReadonlyMap<string, ReadonlySet<string>>,
  needed: ToolCall["capabilities"],
): boolean {
  if (needed === undefined) return false;
  return Object.entries(needed).every(([capability, names]) => {
    const operations = allowed.get(capability);
    return operations !== undefined && names.every((name) => operations.has(name));
  });
}

/** The argument as it stands, or undefined where it is missing or cannot be read: neither fits a constraint. */
function ownValue(args: unknown, key: string): unknown {
  try {
    return typeof args === "object" && args !== null && Object.hasOwn(args, key)
      ? (args as Readonly<Record<string, unknown>>)[key]
      : undefined;
  } catch {
    return undefined;
  }
}

type Compile<V, C> = (option: string, value: V) => C;

function given<V, C>(option: string, value: V | undefined, compile: Compile<V, C>): C | undefined {
  return value === undefined ? undefined : compile(option, value);
}

function mapOf<V, C>(compile: Compile<V, C>): Compile<Readonly<Record<string, V>>, ReadonlyMap<string, C>> {
  return (option, record) => {
    assertObject(option, record);
    return new Map(Object.entries(record).map(([key, value]) => [key, compile(`${option}.${key}`, value)]));
  };
}

function nameSet(option: string, names: readonly string[]): ReadonlySet<string> {
  if (!Array.isArray(names) || !names.every((name) => typeof name === "string")) {
    throw invalid(option, "an array of strings", names);
  }
  return new Set(names);
}

function rankOf(option: string, level: SideEffectLevel): number {
  const rank = SIDE_EFFECT_LEVELS.indexOf(level);
  if (rank === -1) throw invalid(option, `one of ${SIDE_EFFECT_LEVELS.join(", ")}`, level);
  return rank;
}

const CONSTRAINT_KEYS: ReadonlySet<string> = new Set(["oneOf", "pattern"]);

function compileConstraint(option: string, constraint: ArgConstraint): (value: unknown) => boolean {
  assertObject(option, constraint);
  const isConstraint =
    !(constraint instanceof RegExp) && Object.keys(constraint).every((key) => CONSTRAINT_KEYS.has(key));
  if (!isConstraint) throw invalid(option, "an object of oneOf and pattern alone", constraint); // a misspelt one would constrain nothing
  const { oneOf, pattern } = constraint;
  if (oneOf !== undefined && !Array.isArray(oneOf)) throw invalid(`${option}.oneOf`, "an array", oneOf);
  const values: ReadonlySet<unknown> | undefined = oneOf && new Set(oneOf);
  const whole = given(`${option}.pattern`, pattern, wholeMatch);
  return (value) =>
    value !== undefined &&
    (values === undefined || values.has(value)) &&
    (whole === undefined || (typeof value === "string" && whole.test(value)));
}

function wholeMatch(option: string, source: string): RegExp {
  try {
    if (typeof source !== "string") throw new TypeError();
    // Compiled alone first: a source such as `a)|(b` would otherwise break out of the group.
    new RegExp(source, "u");
    return new RegExp(`^(?:${source})$`, "u");
  } catch {
    throw invalid(option, "the source of a regular expression", source);
  }
}

function assertObject(option: string, value: unknown): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(option, "an object", value);
}

function invalid(option: string, expected: string, received: unknown): ToolspanError<"TOOLSPAN_INVALID_OPTION"> {
  return new ToolspanError("TOOLSPAN_INVALID_OPTION", {
    subject: SUBJECT,
    option,
    expected,
    received: kindOf(received),
  });
}
