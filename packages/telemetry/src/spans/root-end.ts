/** What the root span is told when its dispatch ends: events, and with opt-in content. */

import type { Attributes, Span } from "@opentelemetry/api";
import { CAUSE, type ObservedOutcome } from "@toolspan/core";
import { ContentAttributes, cutText } from "../content/capture.ts";
import { tryTo } from "../content/plain-value.ts";
import { countTruncated } from "../metrics/dispatch-metrics.ts";
import { instrumentsOf } from "../metrics/instruments.ts";
import {
  ATTR_ARGS_SIZE,
  ATTR_RESULT_HASH,
  ATTR_RESULT_SIZE,
  ATTR_STATUS,
  EVENT_RESULT_RETURNED,
  EVENT_SCOPE_VIOLATION,
} from "../names.ts";
import type { TelemetrySetup } from "../observer/telemetry-setup.ts";
import {
  ATTR_EXCEPTION_MESSAGE,
  ATTR_EXCEPTION_STACKTRACE,
  ATTR_EXCEPTION_TYPE,
  ATTR_GEN_AI_TOOL_CALL_ARGUMENTS,
  ATTR_GEN_AI_TOOL_CALL_RESULT,
  ATTR_GEN_AI_TOOL_DESCRIPTION,
  EVENT_EXCEPTION,
  OTHER,
} from "../semconv.ts";
import { toWord } from "../words.ts";
import type { LiveSpan } from "./live-span.ts";
import { categoryOf, isScopeViolation, resultHash } from "./outcome-facts.ts";

/** The exception as an event: its type, and nothing that it says. */
export function exceptionEvent(errorType: string | undefined): [string, Attributes] {
  return [EVENT_EXCEPTION, { [ATTR_EXCEPTION_TYPE]: errorType === undefined ? OTHER : toWord(errorType) }];
}

export function describeEnd(root: LiveSpan, outcome: ObservedOutcome, setup: TelemetrySetup): void {
  const { finalResult: result, endedAt, finalErrorType } = outcome;
  const { captureContent, maxContentBytes } = setup;
  const error = captureContent && typeof result.error === "string" ? cutText(result.error, maxContentBytes) : undefined;
  if (result.status === "exception") {
    const [name, attributes] = exceptionEvent(finalErrorType);
    const texts = captureContent ? thrownTexts(error, result[CAUSE], maxContentBytes) : {};
    root.event(name, { ...attributes, ...texts }, endedAt);
  }
  if (isScopeViolation(result)) {
    const said = error === undefined ? {} : { error };
    root.event(EVENT_SCOPE_VIOLATION, { category: categoryOf(result) ?? result.status, ...said }, endedAt);
  }
  root.event(EVENT_RESULT_RETURNED, { [ATTR_STATUS]: result.status }, endedAt);
  if (finalErrorType !== undefined) root.fail(finalErrorType, error);
  if (!captureContent) return;
  const onCut = (): void => countTruncated(instrumentsOf(setup.meterProvider));
  root.set((span) => putContent(new ContentAttributes(span, maxContentBytes, onCut), span, outcome));
}

function putContent(content: ContentAttributes, span: Span, outcome: ObservedOutcome): void {
  const { finalResult: result } = outcome;
  const { toolArgs, rawArgs, description } = outcome.contentCall();
  const given = toolArgs === undefined && rawArgs !== undefined ? rawArgs : toolArgs;
  if (given !== undefined) content.set(ATTR_GEN_AI_TOOL_CALL_ARGUMENTS, given, ATTR_ARGS_SIZE);
  if (description !== undefined) content.text(ATTR_GEN_AI_TOOL_DESCRIPTION, description);
  if (result.ok && "result" in result) {
    content.set(ATTR_GEN_AI_TOOL_CALL_RESULT, result.result, ATTR_RESULT_SIZE);
    const hash = resultHash(outcome);
    if (hash !== null) span.setAttribute(ATTR_RESULT_HASH, hash);
  }
}

/**
 * What was thrown, in words. The message is the result's, which layers may have masked, never the thrown object's own; for
 * the same reason the stack is its frames alone.
 */
function thrownTexts(error: string | undefined, thrown: unknown, maxBytes: number): Attributes {
  const stack = tryTo<unknown>(() => (Object(thrown) as { readonly stack?: unknown }).stack, undefined);
  const frames = typeof stack === "string" ? stack.split("\n").filter((line) => /^\s+at /.test(line)) : [];
  return {
    ...(error === undefined ? {} : { [ATTR_EXCEPTION_MESSAGE]: error }),
    ...(frames.length === 0 ? {} : { [ATTR_EXCEPTION_STACKTRACE]: cutText(frames.join("\n"), maxBytes) }),
  };
}
