/** The layer that narrows what tools may do while a call runs, and refuses what does not fit before anything else sees it. */

import {
  type ArgConstraint,
  type AuditBlob,
  CAUSE,
  compilePolicy,
  defineLayer,
  type ExecutionPolicy,
  failedResult,
  type Layer,
  mergeAudit,
  type PolicyViolation,
  type SideEffectLevel,
  type ToolCall,
  type ToolResult,
  ToolspanError,
  underPolicyCheck,
} from "@toolspan/core";
import { checksFor } from "./assert-option.ts";
import { narrowerLevel } from "./narrower-level.ts";
import { bindStream } from "./stream-under-policy.ts";

export interface ScopedExecutorOptions {
  /** Names the scope in audit and refusals. Default `scoped`. */
  readonly stage?: string;
  /** The only tools that run; empty or left out restricts none. */
  readonly allowedTools?: readonly string[];
  readonly deniedTools?: readonly string[];
  /** The highest level allowed: none < read_only < workspace_write < process_exec < network. */
  readonly sideEffectLevel?: SideEffectLevel;
  /** Capability → operations allowed. A capability that is not named is not allowed. */
  readonly capabilities?: Readonly<Record<string, readonly string[]>>;
  /** Tool → argument → what it may be. */
  readonly toolArgs?: Readonly<Record<string, Readonly<Record<string, ArgConstraint>>>>;
  /** `reject` (default) answers for the call; `raise` also asks loop and adapter to throw, once all is recorded. */
  readonly onViolation?: "reject" | "raise";
}

type Scope = NonNullable<AuditBlob["scope"]>;

const OPTIONS = [
  "stage",
  "allowedTools",
  "deniedTools",
  "sideEffectLevel",
  "capabilities",
  "toolArgs",
  "onViolation",
] as const;

/**
 * Narrows what the tool of a call, and every tool that it calls in turn, may do.
 *
 * A call that offends the scope as it arrives goes no further. The scope then stays in force for everything inside, together
 * with the policies around it: what layers further in make of the call is checked again where the tool would run, and is
 * `policy_blocked` there. Scopes inside scopes can only tighten. What a tool does not declare counts as the worst: no level
 * as `network`, no capabilities as all of them. List it outside consent, so that nobody is asked in vain.
 *
 * @returns A layer; an offence gives `status: "scope_violation"`. The scope stands in `audit.scope` as
 *   `{ stage, allowed_tools?, side_effect_level? }`, of nested ones what is left of both, under the inner stage.
 * @throws TOOLSPAN_INVALID_OPTION when made, if an option is not of its declared shape. In a runtime without
 *   `AsyncLocalStorage` no call gets through: TOOLSPAN_NO_ASYNC_CONTEXT.
 */
export function withScopedExecutor(options: ScopedExecutorOptions = {}): Layer {
  const checks = checksFor("withScopedExecutor", options, OPTIONS);
  checks.text("stage", options.stage);
  checks.oneOf("onViolation", options.onViolation, ["reject", "raise"]);
  const { onViolation = "reject" } = options;
  const policy = toPolicy(options);
  const check = compilePolicy(policy, "withScopedExecutor");
  const scoped = toScope(policy);

  return defineLayer({
    name: "with_scoped_executor",
    traits: { rewritesArgs: "no", audits: true, narrows: true },
    async call(call, next, scope) {
      const violation = check(call);
      if (violation !== null) {
        scope.report({ status: "violation", attributes: { stage: scoped.stage, rule: violation.rule } });
        return { ...refuse(call, violation, onViolation === "raise"), audit: { scope: scoped } };
      }
      scope.report({ status: "ok", attributes: { stage: scoped.stage } });
      const result = bindStream(await underPolicyCheck(check, () => next(call)), check);
      return { ...result, audit: mergeAudit(result.audit, { scope: narrowed(scoped, result.audit?.scope) }) };
    },
  });
}

function toPolicy(options: ScopedExecutorOptions): ExecutionPolicy & { readonly stage: string } {
  const { stage = "scoped", allowedTools, onViolation: _, ...rest } = options;
  const restricts = !Array.isArray(allowedTools) || allowedTools.length > 0;
  return { ...rest, stage, ...(allowedTools !== undefined && restricts ? { allowedTools } : {}) };
}

function toScope({ stage, allowedTools, sideEffectLevel }: ExecutionPolicy & { readonly stage: string }): Scope {
  return {
    stage,
    ...(allowedTools === undefined ? {} : { allowed_tools: [...allowedTools] }),
    ...(sideEffectLevel === undefined ? {} : { side_effect_level: sideEffectLevel }),
  };
}

/** What two scopes leave together, under the name of the inner one. */
function narrowed(outer: Scope, inner: Scope | undefined): Scope {
  if (inner === undefined) return outer;
  const level = narrowerLevel(outer.side_effect_level, inner.side_effect_level);
  const tools =
    outer.allowed_tools === undefined || inner.allowed_tools === undefined
      ? (inner.allowed_tools ?? outer.allowed_tools)
      : inner.allowed_tools.filter((tool) => outer.allowed_tools?.includes(tool));
  return {
    ...inner,
    ...(tools === undefined ? {} : { allowed_tools: tools }),
    ...(level === undefined ? {} : { side_effect_level: level }),
  };
}

function refuse(call: ToolCall, { message, rule, stage }: PolicyViolation, raises: boolean): ToolResult {
  const refused = failedResult(call, "scope_violation", "scope_violation", `${message}; not run`);
  if (!raises) return refused;
  const details = { tool: call.toolName, stage: stage ?? "scoped", rule };
  return { ...refused, rethrow: true, [CAUSE]: new ToolspanError("TOOLSPAN_SCOPE_VIOLATION", details) };
}
