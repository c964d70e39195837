/** `startTelemetry`: an OpenTelemetry SDK, set up and wound down, for programs that have none of their own. */

import { metrics, trace } from "@opentelemetry/api";
import { type Environment, processEnvironment, readFlag, readSwitch } from "./environment.ts";
import { checkStartOptions, type StartTelemetryOptions, type Telemetry } from "./start-options.ts";
import { StartedTelemetry } from "./started-telemetry.ts";

/**
 * Starts tracing and metrics with the OpenTelemetry SDK that is installed, 2.x or 3.x, and registers them.
 *
 * Nothing of it keeps the process alive. On SIGINT, SIGTERM and when no work is left, it flushes within `shutdownTimeoutMs`;
 * a file of spans is also completed on `process.exit`. Honours `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`,
 * `OTEL_TRACES_SAMPLER*`, `OTEL_EXPORTER_OTLP_*`, `OTEL_BSP_*`, `OTEL_SPAN_*_LIMIT`, `OTEL_METRIC_EXPORT_INTERVAL`,
 * `OTEL_SDK_DISABLED`, `TOOLSPAN_DISABLED` and `TOOLSPAN_STATE_DIR`.
 *
 * @returns The handle; keep it, and await `shutdown` before a one-shot program ends.
 * @throws TOOLSPAN_INVALID_OPTION for a wrong option; TOOLSPAN_MISSING_PEER where a package of the SDK is not installed.
 */
export function startTelemetry(options: StartTelemetryOptions): Telemetry {
  checkStartOptions(options);
  const env = options.environment ?? processEnvironment();
  return isDisabled(env) ? disabledTelemetry() : new StartedTelemetry(options, env);
}

function isDisabled(env: Environment): boolean {
  return readFlag(env, "OTEL_SDK_DISABLED") || readSwitch(env, "TOOLSPAN_DISABLED");
}

/** The handle where nothing was started: it answers at once. */
function disabledTelemetry(): Telemetry {
  const nothing = async (): ReturnType<Telemetry["shutdown"]> => ({ complete: true, lost: 0 });
  return {
    tracerProvider: trace.getTracerProvider(),
    meterProvider: metrics.getMeterProvider(),
    disabled: true,
    registered: false,
    jsonlPath: null,
    forceFlush: nothing,
    shutdown: nothing,
    [Symbol.asyncDispose]: async () => {},
  };
}
