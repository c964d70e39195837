/** The policy that a handoff carries along: its wire form, and how the receiver is put under it. */

import { compilePolicy, type ExecutionPolicy, underPolicyCheck } from "@toolspan/core";
import { PayloadProblem } from "../redaction/payload-fields.ts";

/** Wire form of an execution policy: the fields of `ExecutionPolicy` in snake_case. */
export type HandoffPolicy = Readonly<Record<string, unknown>>;

const FIELDS: Readonly<Record<string, keyof ExecutionPolicy>> = {
  stage: "stage",
  allowed_tools: "allowedTools",
  denied_tools: "deniedTools",
  side_effect_level: "sideEffectLevel",
  capabilities: "capabilities",
  tool_args: "toolArgs",
};

/**
 * Runs `fn`, and everything it starts, under the policy that a handoff carries: the way to dispatch what was handed over.
 *
 * The policy came with a tool's answer, so it is not trusted to widen anything: it is in force in addition to those around
 * it. A handoff without one runs `fn` as it is.
 *
 * @param handoff The record, as the sink gets it or as it stands in `audit.handoff`.
 * @returns What `fn` returns.
 * @throws PayloadProblem where the policy is not one. TOOLSPAN_NO_ASYNC_CONTEXT in a runtime without `AsyncLocalStorage`.
 */
export function runUnderHandoff<R>(handoff: { readonly policy_override?: HandoffPolicy | null }, fn: () => R): R {
  const { policy_override: policy } = handoff;
  return policy === undefined || policy === null
    ? fn()
    : underPolicyCheck(compilePolicy(readHandoffPolicy(policy), "runUnderHandoff"), fn);
}

/** The policy of a wire form. Throws PayloadProblem where it is not one: an unknown field might be a restriction. */
export function readHandoffPolicy(policy: HandoffPolicy): ExecutionPolicy {
  const unknown = Object.keys(policy).find((field) => !Object.hasOwn(FIELDS, field));
  if (unknown !== undefined) throw new PayloadProblem("policy_override", `made of ${Object.keys(FIELDS).join(", ")}`);
  const read = Object.fromEntries(
    Object.entries(policy)
      .filter(([, value]) => value !== null)
      .map(([field, value]) => [FIELDS[field], field === "tool_args" ? readToolArgs(value) : value]),
  ) as ExecutionPolicy;
  try {
    compilePolicy(read);
  } catch {
    throw new PayloadProblem("policy_override", "an execution policy");
  }
  return read;
}

/** `one_of` is the one name inside that differs. */
function readToolArgs(tools: unknown): unknown {
  return mapValues(tools, (args) =>
    mapValues(args, (constraint) => {
      const { one_of, ...rest } = constraint as Readonly<Record<string, unknown>>;
      const stranger = Object.keys(rest).find((key) => key !== "pattern");
      if (stranger !== undefined) throw new PayloadProblem("policy_override.tool_args", "made of one_of and pattern");
      return one_of === undefined ? rest : { ...rest, oneOf: one_of };
    }),
  );
}

function mapValues(value: unknown, map: (value: unknown) => unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new PayloadProblem("policy_override.tool_args", "a map");
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, map(inner)]));
}
