/** The layer that answers for a tool without running it. */

import { defineLayer, type Layer } from "@toolspan/core";
import { checksFor } from "./assert-option.ts";

export interface DryRunOptions {
  /** Tools that are not run; default all. An empty list names none. */
  readonly only?: readonly string[];
  /** Tools that run all the same, also where `only` names them. */
  readonly except?: readonly string[];
}

/**
 * Previews a sequence of tool calls without their effects: the tools are not run and their calls succeed.
 *
 * The result that the model sees is `{ dry_run: true, tool_name, arguments }`, so that it knows.
 *
 * @returns A layer; for the tools it holds back `status: "dry_run"`, `ok: true`, `executed: false`.
 * @throws TOOLSPAN_INVALID_OPTION when made, if `only` or `except` is not an array of strings.
 */
export function withDryRun(options: DryRunOptions = {}): Layer {
  const checks = checksFor("withDryRun", options, ["only", "except"]);
  checks.names("only", options.only);
  checks.names("except", options.except);
  const only = options.only && new Set(options.only);
  const except = new Set(options.except);
  const isHeldBack = (tool: string): boolean => (only === undefined || only.has(tool)) && !except.has(tool);

  return defineLayer({
    name: "with_dry_run",
    traits: { rewritesArgs: "no", audits: false },
    call(call, next, scope) {
      if (!isHeldBack(call.toolName)) return next(call);
      scope.report({ status: "dry_run" });
      return {
        ok: true,
        status: "dry_run",
        toolName: call.toolName,
        toolCallId: call.callId,
        arguments: call.toolArgs,
        result: { dry_run: true, tool_name: call.toolName, arguments: call.toolArgs },
        observation: `tool ${call.toolName}: dry run, not executed`,
        error: null,
        errorCategory: null,
        executor: call.declaredExecutor ?? null,
      };
    },
  });
}
