/** Applies what redacting layers gave the kernel, to content that no layer has seen on its way out. Fails closed. */

import { diagnostics } from "../diagnostics.ts";
import type { ModelInfo, Report } from "../ports/observer.ts";
import { errorTypeOf, nameOf } from "../vocabulary/error-type.ts";
import type { Attributes } from "../vocabulary/record.ts";
import type { ToolCall } from "../vocabulary/tool-call.ts";
import { CAUSE, isCompleteResult, type ToolResult } from "../vocabulary/tool-result.ts";
import type { DispatchRun } from "./dispatch-run.ts";
import { failedResult } from "./failed-result.ts";
import type { Redaction } from "./plan.ts";

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

/** What of a call is content; the rest are facts. */
const CONTENT = ["toolArgs", "rawArgs", "description", "schema", "annotations", "meta"] as const;

/** The call as the dispatch was entered, its content as it may be recorded; without it where a redactor throws. */
export function redactCall({ plan, call }: DispatchRun): ToolCall {
  if (plan.redaction.content.length === 0) return call;
  const masked: Record<string, unknown> = {};
  for (const field of CONTENT) {
    const value = redactContent(plan.redaction, call[field], call.toolName);
    if (value !== call[field]) masked[field] = value;
  }
  return Object.keys(masked).length === 0 ? call : { ...call, ...masked, native: undefined };
}

/** What a layer says of itself, as it may be recorded; nothing where a redactor throws. */
export function redactAttributes({ plan, call }: DispatchRun, attributes: Attributes): Attributes {
  const masked = redactContent(plan.redaction, attributes, call.toolName);
  return typeof masked === "object" && masked !== null ? (masked as Attributes) : {};
}

/** The error type; the category or the status in its place where its name holds what must not leave. */
export function redactErrorType({ plan, call }: DispatchRun, result: ToolResult): string | undefined {
  const type = errorTypeOf(result);
  if (type === undefined || plan.redaction.content.length === 0 || !(CAUSE in result)) return type;
  if (redactContent(plan.redaction, type, call.toolName) === type) return type;
  return result.errorCategory ?? result.status;
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
