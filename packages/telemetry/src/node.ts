/** What needs Node: `startTelemetry`, an SDK for programs that have none of their own. */

export type { OtlpOptions, OtlpProtocol } from "./otlp-settings.ts";
export {
  type StartedSink,
  type StartTelemetryOptions,
  startTelemetry,
  type Telemetry,
  type TelemetryReport,
} from "./start-telemetry.ts";
