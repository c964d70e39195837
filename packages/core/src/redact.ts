/** Applies what redacting layers gave the kernel, to content that no layer has seen on its way out. Fails closed. */

import { diagnostics } from "./diagnostics.ts";
import type { DispatchRun } from "./dispatch-run.ts";
import { nameOf } from "./error-type.ts";
import { failedResult } from "./failed-result.ts";
import type { ModelInfo, Report } from "./observer.ts";
import type { Redaction } from "./plan.ts";
import type { ToolCall } from "./tool-call.ts";
import { isCompleteResult, type ToolResult } from "./tool-result.ts";

/** The result less what must not leave; a failure in its place where a redactor throws or gives no complete result. */
export function redactResult(run: DispatchRun, answer: ToolResult): ToolResult {
  const { result } = run.plan.redaction;
  if (result.length === 0) return answer;
  try {
    const redacted = result.reduce((given, redact) => redact(given, run), answer);
    if (isCompleteResult(redacted)) return redacted;
    reportRedactor("result", undefined);
  } catch (thrown) {
    reportRedactor("result", thrown);
  }
  const call = { ...run.call, toolArgs: undefined };
  const error = `tool ${call.toolName}: its result could not be redacted and is withheld`;
  return failedResult(call, "tool_middleware_exception", "redaction_failed", error);
}

/** The call as the dispatch was entered, its arguments as they may be recorded; without them where a redactor throws. */
export function redactCall({ plan, call }: DispatchRun): ToolCall {
  if (plan.redaction.content.length === 0) return call;
  const { toolArgs, rawArgs, toolName } = call;
  const masked = {
    toolArgs: redactContent(plan.redaction, toolArgs, toolName),
    rawArgs: redactContent(plan.redaction, rawArgs, toolName) as string | undefined,
  };
  if (masked.toolArgs === toolArgs && masked.rawArgs === rawArgs) return call;
  return { ...call, ...masked, native: undefined };
}

/** What an observer may learn of a model call. Its messages are masked when they are read, not before. */
export function redactModelInfo(redaction: Redaction, info: ModelInfo): ModelInfo {
  if (redaction.content.length === 0 || info.inputMessages === undefined) return info;
  const { inputMessages, ...facts } = info;
  return {
    ...facts,
    get inputMessages() {
      return redactContent(redaction, inputMessages, "");
    },
  };
}

/** A report whose messages are masked. */
export function redactReport(redaction: Redaction, report: Report): Report {
  if (redaction.content.length === 0) return report;
  return (said) => {
    const { outputMessages } = said;
    if (outputMessages === undefined) report(said);
    else report({ ...said, outputMessages: redactContent(redaction, outputMessages, "") });
  };
}

function redactContent({ content }: Redaction, value: unknown, toolName: string): unknown {
  if (value === undefined) return undefined;
  try {
    return content.reduce<unknown>((redacted, redact) => redact(redacted, toolName), value);
  } catch (thrown) {
    reportRedactor("content", thrown);
    return undefined;
  }
}

function reportRedactor(part: string, thrown: unknown): void {
  diagnostics.report("kernel.redact", part, `a redactor failed (${nameOf(thrown) ?? "no answer"}); ${part} left out`);
}
