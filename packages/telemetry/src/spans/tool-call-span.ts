/** The span record of one dispatch, `ToolCallSpan`: its type and the only place where it is made. */

import {
  type Attributes,
  type AttributeValue,
  type Clock,
  type DispatchResult,
  elapsedMs,
  type LayerRun,
  type ObservedOutcome,
  type Reading,
  type ToolCall,
  type TraceRef,
  toHrTime,
  toLayerRecord,
  toRfc3339,
  toUnixNano,
} from "@toolspan/core";
import { EVENT_DISPATCHED, EVENT_RESULT_RETURNED, EVENT_SCOPE_VIOLATION, PREFIX_SPAN } from "../names.ts";
import { toWord } from "../words.ts";
import { categoryOf, isScopeViolation, renderedSize, resultHash } from "./outcome-facts.ts";

export interface ToolCallSpanEvent {
  readonly name: string;
  /** RFC 3339 UTC, nine decimals. */
  readonly at: string;
  readonly attributes?: Readonly<Record<string, AttributeValue | null>>;
}

/** One layer run; equal, one to one, to `audit.layers`. */
export interface ToolCallChildSpan {
  /** `tool_call.<layer>` */
  readonly name: string;
  readonly status: string;
  readonly duration_ms: number;
  readonly self_time_ms: number;
  readonly started_at: string;
  readonly ended_at: string;
  readonly index: number;
  readonly depth: number;
  readonly attempt: number;
  readonly short_circuited: boolean;
  readonly args_changed: boolean;
  readonly error_type?: string;
  readonly attributes?: Attributes;
}

/** What a callable, `stderr` or `noop` sink gets once per dispatch. Wire names; new fields may appear. */
export interface ToolCallSpan {
  /** `tool_call.<tool name>` */
  readonly name: string;
  readonly kind: "tool_call";
  /** The join key with receipts and `tool_call_audit` events. */
  readonly dispatch_id: string;
  /** The tool call id as the provider gave it, else the dispatch id. Not unique. */
  readonly span_id: string;
  /** The override, else the session id, else `tool_call:<span id>`. */
  readonly trace_id: string;
  readonly parent_span_id: string | null;
  /** The OpenTelemetry span of this dispatch; null where there is none. */
  readonly otel: { readonly trace_id: string; readonly span_id: string } | null;
  /** Unix milliseconds, integers; the duration is their difference. */
  readonly start_time_ms: number;
  readonly end_time_ms: number;
  readonly duration_ms: number;
  readonly start_time_iso: string;
  readonly end_time_iso: string;
  /** Unix nanoseconds, decimal. */
  readonly start_time_unix_nano: string;
  readonly end_time_unix_nano: string;
  readonly status: string;
  readonly attributes: Readonly<Record<string, AttributeValue | null>>;
  readonly events: readonly ToolCallSpanEvent[];
  /** In order of entry. */
  readonly child_spans: readonly ToolCallChildSpan[];
  /** The very objects, masked where a layer redacts; only for callable sinks, only with content capture. */
  readonly call?: ToolCall;
  readonly result?: DispatchResult;
}

/** What `withTelemetry` was told about the records of one sink. */
export interface RecordOptions {
  readonly persona?: string | undefined;
  readonly mode?: string | undefined;
  readonly parentSpanId?: string | undefined;
  readonly traceIdOverride?: string | undefined;
  readonly extraAttributes?: Attributes | undefined;
  readonly hashArgs: boolean;
  readonly captureContent: boolean;
}

export function toToolCallSpan(outcome: ObservedOutcome, trace: TraceRef | null, options: RecordOptions): ToolCallSpan {
  const { dispatch, finalResult: result, observedAt } = outcome;
  const { call, clock, startedAt } = dispatch;
  const spanId = call.callId ?? dispatch.id;
  const startMs = toUnixMs(clock, startedAt);
  const endMs = toUnixMs(clock, observedAt);
  return {
    name: `${PREFIX_SPAN}${call.toolName}`,
    kind: "tool_call",
    dispatch_id: dispatch.id,
    span_id: spanId,
    trace_id: options.traceIdOverride ?? call.turn.sessionId ?? `tool_call:${spanId}`,
    parent_span_id: options.parentSpanId ?? null,
    otel: trace === null ? null : { trace_id: trace.traceId, span_id: trace.spanId },
    start_time_ms: startMs,
    end_time_ms: endMs,
    duration_ms: endMs - startMs,
    start_time_iso: toRfc3339(clock, startedAt),
    end_time_iso: toRfc3339(clock, observedAt),
    start_time_unix_nano: toUnixNano(clock, startedAt),
    end_time_unix_nano: toUnixNano(clock, observedAt),
    status: result.status,
    attributes: attributesOf(outcome, options),
    events: eventsOf(outcome, options),
    child_spans: outcome.runs.map((run) => toChildSpan(run, clock)),
    ...(options.captureContent ? { call: outcome.contentCall(), result } : {}),
  };
}

function attributesOf(outcome: ObservedOutcome, options: RecordOptions): ToolCallSpan["attributes"] {
  const { dispatch, finalResult: result, finalErrorType } = outcome;
  const { call } = dispatch;
  const { persona, mode } = options;
  const category = categoryOf(result);
  const rendered = renderedSize(result);
  return {
    ...options.extraAttributes,
    tool_name: call.toolName,
    tool_call_id: call.callId,
    executor: outcome.executor,
    status: result.status,
    ok: result.ok,
    ...(options.hashArgs && dispatch.argsDigest !== null ? { args_hash: dispatch.argsDigest.hash } : {}),
    iteration: call.turn.iteration,
    session_id: call.turn.sessionId ?? null,
    ...(persona === undefined ? {} : { persona }),
    ...(mode === undefined ? {} : { mode }),
    ...(finalErrorType === undefined ? {} : { error_type: toWord(finalErrorType) }),
    ...(category === undefined ? {} : { error_category: category }),
    ...(options.captureContent && typeof result.error === "string" ? { error: result.error } : {}),
    ...(options.captureContent ? { result_hash: resultHash(outcome) } : {}),
    ...(rendered === undefined ? {} : { rendered_result_size: rendered }),
    ...(result.replayed === true ? { replayed: true } : {}),
    "gen_ai.tool.name": call.toolName,
    "gen_ai.tool.call.id": call.callId,
    "gen_ai.tool.executor": outcome.executor,
  };
}

function eventsOf(outcome: ObservedOutcome, { captureContent }: RecordOptions): readonly ToolCallSpanEvent[] {
  const { dispatch, finalResult: result, endedAt } = outcome;
  const { clock, startedAt } = dispatch;
  const at = toRfc3339(clock, endedAt);
  const { error } = result;
  return [
    { name: EVENT_DISPATCHED, at: toRfc3339(clock, startedAt) },
    ...(isScopeViolation(result)
      ? [
          {
            name: EVENT_SCOPE_VIOLATION,
            at,
            attributes: {
              category: categoryOf(result) ?? result.status,
              ...(captureContent && typeof error === "string" ? { error } : {}),
            },
          },
        ]
      : []),
    { name: EVENT_RESULT_RETURNED, at, attributes: { status: result.status, ok: result.ok } },
  ];
}

function toChildSpan(run: LayerRun, clock: Clock): ToolCallChildSpan {
  const { name, error_type, ...record } = toLayerRecord(run, clock);
  return {
    name: `${PREFIX_SPAN}${name}`,
    duration_ms: elapsedMs(run.startedAt, run.endedAt),
    ...record,
    ...(error_type === undefined ? {} : { error_type: toWord(error_type) }),
  };
}

function toUnixMs(clock: Clock, reading: Reading): number {
  const [seconds, nanos] = toHrTime(clock, reading);
  return seconds * 1000 + Math.floor(nanos / 1e6);
}
