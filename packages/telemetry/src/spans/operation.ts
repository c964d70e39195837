/** Agent runs and model calls as spans: `invoke_agent` and `chat`. */

import { type Attributes, SpanKind } from "@opentelemetry/api";
import {
  createClock,
  type ModelInfo,
  type OperationReport,
  type Reading,
  type Report,
  type RunInfo,
} from "@toolspan/core";
import { ContentAttributes } from "../content/capture.ts";
import { countTruncated } from "../metrics/dispatch-metrics.ts";
import { type Instruments, instrumentsOf } from "../metrics/instruments.ts";
import { ATTR_ITERATION, ATTR_MODEL_CALLS, ATTR_RUN_ID, ATTR_TOOL_CALLS } from "../names.ts";
import type { TelemetrySetup } from "../observer/telemetry-setup.ts";
import {
  ATTR_ERROR_TYPE,
  ATTR_GEN_AI_AGENT_NAME,
  ATTR_GEN_AI_CONVERSATION_ID,
  ATTR_GEN_AI_INPUT_MESSAGES,
  ATTR_GEN_AI_OPERATION_NAME,
  ATTR_GEN_AI_OUTPUT_MESSAGES,
  ATTR_GEN_AI_PROVIDER_NAME,
  ATTR_GEN_AI_REQUEST_MODEL,
  ATTR_GEN_AI_RESPONSE_FINISH_REASONS,
  ATTR_GEN_AI_RESPONSE_MODEL,
  ATTR_GEN_AI_USAGE_INPUT_TOKENS,
  ATTR_GEN_AI_USAGE_OUTPUT_TOKENS,
  METRIC_CLIENT_OPERATION_DURATION,
  METRIC_INVOKE_AGENT_DURATION,
  METRIC_INVOKE_AGENT_INFERENCE_CALLS,
  METRIC_INVOKE_AGENT_TOOL_CALLS,
  OPERATION_CHAT,
  OPERATION_INVOKE_AGENT,
} from "../semconv.ts";
import { errorTypeOfThrown, toWord } from "../words.ts";
import { clockOf } from "./async-context.ts";
import type { LiveSpan } from "./live-span.ts";

interface Operation {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  readonly inputMessages?: (() => unknown) | undefined;
  measure(instruments: Instruments, seconds: number, report: OperationReport, errorType: string | undefined): void;
}

/** `invoke_agent {agent}`: an agent run in this process. */
export function runOperation(info: RunInfo): Operation {
  const { agentName, model, sessionId, runId } = info;
  const agent = agentName === undefined ? {} : { [ATTR_GEN_AI_AGENT_NAME]: agentName };
  const requested = model === undefined ? {} : { [ATTR_GEN_AI_REQUEST_MODEL]: model };
  return {
    name: agentName === undefined ? OPERATION_INVOKE_AGENT : `${OPERATION_INVOKE_AGENT} ${agentName}`,
    kind: SpanKind.INTERNAL,
    attributes: {
      [ATTR_GEN_AI_OPERATION_NAME]: OPERATION_INVOKE_AGENT,
      ...agent,
      ...requested,
      ...(sessionId === undefined ? {} : { [ATTR_GEN_AI_CONVERSATION_ID]: sessionId }),
      ...(runId === undefined ? {} : { [ATTR_RUN_ID]: runId }),
    },
    measure(instruments, seconds, { toolCalls, modelCalls }, errorType) {
      instruments.record(METRIC_INVOKE_AGENT_DURATION, seconds, { ...agent, ...requested, ...failure(errorType) });
      if (toolCalls !== undefined) instruments.record(METRIC_INVOKE_AGENT_TOOL_CALLS, toolCalls, agent);
      if (modelCalls !== undefined) instruments.record(METRIC_INVOKE_AGENT_INFERENCE_CALLS, modelCalls, agent);
    },
  };
}

/** `chat {model}`: one model call. */
export function modelOperation(info: ModelInfo): Operation {
  const { model, provider, agentName, sessionId, iteration } = info;
  const known = {
    [ATTR_GEN_AI_OPERATION_NAME]: OPERATION_CHAT,
    [ATTR_GEN_AI_REQUEST_MODEL]: model,
    ...(provider === undefined ? {} : { [ATTR_GEN_AI_PROVIDER_NAME]: provider }),
  };
  return {
    name: `${OPERATION_CHAT} ${model}`,
    kind: SpanKind.CLIENT,
    attributes: {
      ...known,
      ...(agentName === undefined ? {} : { [ATTR_GEN_AI_AGENT_NAME]: agentName }),
      ...(sessionId === undefined ? {} : { [ATTR_GEN_AI_CONVERSATION_ID]: sessionId }),
      [ATTR_ITERATION]: iteration,
    },
    inputMessages: () => info.inputMessages, // read only where content is captured: masking it has its price
    measure(instruments, seconds, { responseModel }, errorType) {
      const answered = responseModel === undefined ? {} : { [ATTR_GEN_AI_RESPONSE_MODEL]: responseModel };
      instruments.record(METRIC_CLIENT_OPERATION_DURATION, seconds, { ...known, ...answered, ...failure(errorType) });
    },
  };
}

/** Runs `fn` inside the operation's span; passes its value or error through untouched. */
export async function observeOperation<T>(
  setup: TelemetrySetup,
  operation: Operation,
  fn: (report: Report) => Promise<T>,
): Promise<T> {
  const { tracing } = setup;
  const clock = clockOf(tracing.active()) ?? createClock();
  const startedAt = clock.now();
  const { name, kind, attributes } = operation;
  const live = tracing.open({ name, kind, attributes, startedAt }, clock);
  let said: OperationReport = {};
  const report: Report = (more) => {
    said = { ...said, ...more };
  };
  const end = (thrownType: string | undefined): void => {
    const endedAt = clock.now();
    const errorType = said.errorType ?? thrownType;
    if (live !== null) endSpan(live, setup, operation, said, endedAt, errorType);
    const instruments = instrumentsOf(setup.meterProvider);
    if (instruments !== null) operation.measure(instruments, (endedAt - startedAt) / 1e9, said, errorType);
  };
  try {
    const value = await start(live, fn, report);
    end(undefined);
    return value;
  } catch (thrown) {
    end(errorTypeOfThrown(thrown));
    throw thrown;
  }
}

/** Calls `fn` inside the span; what it throws at once becomes a rejection. */
function start<T>(live: LiveSpan | null, fn: (report: Report) => Promise<T>, report: Report): Promise<T> {
  if (live === null) return fn(report);
  let started: Promise<T> | undefined;
  const enter = (given: Report): void => {
    started ??= (async () => fn(given))();
  };
  live.withinOutermost(enter, report);
  enter(report);
  return started as unknown as Promise<T>;
}

function endSpan(
  live: LiveSpan,
  { captureContent, maxContentBytes, meterProvider }: TelemetrySetup,
  { inputMessages }: Operation,
  said: OperationReport,
  endedAt: Reading,
  errorType: string | undefined,
): void {
  if (captureContent) {
    live.set((span) => {
      const content = new ContentAttributes(span, maxContentBytes, () => countTruncated(instrumentsOf(meterProvider)));
      const given = inputMessages?.();
      if (given !== undefined) content.set(ATTR_GEN_AI_INPUT_MESSAGES, given);
      if (said.outputMessages !== undefined) content.set(ATTR_GEN_AI_OUTPUT_MESSAGES, said.outputMessages);
    });
  }
  live.finish(endedAt, errorType, reported(said));
}

function reported(said: OperationReport): Attributes {
  const attributes: Attributes = {
    [ATTR_GEN_AI_RESPONSE_MODEL]: said.responseModel,
    [ATTR_GEN_AI_RESPONSE_FINISH_REASONS]: said.finishReasons === undefined ? undefined : [...said.finishReasons],
    [ATTR_GEN_AI_USAGE_INPUT_TOKENS]: said.inputTokens,
    [ATTR_GEN_AI_USAGE_OUTPUT_TOKENS]: said.outputTokens,
    [ATTR_TOOL_CALLS]: said.toolCalls,
    [ATTR_MODEL_CALLS]: said.modelCalls,
  };
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}

function failure(errorType: string | undefined): Attributes {
  return errorType === undefined ? {} : { [ATTR_ERROR_TYPE]: toWord(errorType) };
}
