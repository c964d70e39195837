/** OpenTelemetry spans, metrics and span records for every tool call and every layer around it. */

export type {
  TelemetryArgument,
  TelemetryOptions,
  TelemetrySink,
  TelemetrySinkName,
} from "./observer/telemetry-options.ts";
export { callableSink, type SpanCallback } from "./sinks/callable-sink.ts";
export { type JsonlSink, type JsonlSinkOptions, jsonlSink } from "./sinks/jsonl-sink.ts";
export { type LostSignal, telemetryLost } from "./sinks/loss.ts";
export type { OnTelemetryError } from "./sinks/record-target.ts";
export { type StderrSinkOptions, stderrSink } from "./sinks/stderr-sink.ts";
export type { ReadableSpan, SpanEvent, SpanLink, SpanResource, SpanScope, SpanSink } from "./spans/readable-span.ts";
export type { ToolCallChildSpan, ToolCallSpan, ToolCallSpanEvent } from "./spans/tool-call-span.ts";
export type { Environment } from "./start/environment.ts";
export { withTelemetry } from "./with-telemetry.ts";
