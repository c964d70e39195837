/** What needs Node: `startTelemetry`, an SDK for programs that have none of their own. */

export type { OtlpOptions, OtlpProtocol } from "./otlp-settings.ts";
export type { StartedSink, StartTelemetryOptions, Telemetry, TelemetryReport } from "./start-options.ts";
export { startTelemetry } from "./start-telemetry.ts";
