/** OpenTelemetry spans, metrics and span records for every tool call and every layer around it. */

export { callableSink, type SpanCallback } from "./callable-sink.ts";
export type { Environment } from "./environment.ts";
export { type JsonlSink, type JsonlSinkOptions, jsonlSink } from "./jsonl-sink.ts";
export { type LostSignal, telemetryLost } from "./loss.ts";
export type { ReadableSpan, SpanEvent, SpanLink, SpanResource, SpanScope, SpanSink } from "./readable-span.ts";
export type { OnTelemetryError } from "./record-target.ts";
export { type StderrSinkOptions, stderrSink } from "./stderr-sink.ts";
export type { TelemetryArgument, TelemetryOptions, TelemetrySink, TelemetrySinkName } from "./telemetry-options.ts";
export type { ToolCallChildSpan, ToolCallSpan, ToolCallSpanEvent } from "./tool-call-span.ts";
export { withTelemetry } from "./with-telemetry.ts";
