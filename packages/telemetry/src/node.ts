/** What needs Node: `startTelemetry`, an SDK for programs that have none of their own. */

export type { OtlpOptions, OtlpProtocol } from "./otlp/otlp-settings.ts";
export { type TraceAnswer, type TraceClient, traceClient } from "./otlp/trace-client.ts";
export type { Environment } from "./start/environment.ts";
export type { StartedSink, StartTelemetryOptions, Telemetry, TelemetryReport } from "./start/start-options.ts";
export { startTelemetry } from "./start/start-telemetry.ts";
