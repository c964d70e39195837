/** Becoming the program's OpenTelemetry set-up, and undoing it. */

import {
  type ContextManager,
  context,
  type MeterProvider,
  metrics,
  propagation,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import { diagnostics } from "@toolspan/core";
import { reportDuplicateApi } from "./host.ts";
import { createContextManager, createPropagator } from "./sdk-peers.ts";

export interface Registration {
  readonly registered: boolean;
  readonly undo: readonly (() => void)[];
}

export const NOT_REGISTERED: Registration = { registered: false, undo: [] };

/** Registers everything, or nothing where the host has a tracer provider already; that is said once. */
export function register(tracerProvider: TracerProvider, meterProvider: MeterProvider | undefined): Registration {
  if (!trace.setGlobalTracerProvider(tracerProvider)) {
    reportDuplicateApi();
    diagnostics.report(
      "telemetry.start",
      "already_registered",
      "startTelemetry: a tracer provider is registered already and stays; pass this handle's tracerProvider where its sinks are wanted",
    );
    return NOT_REGISTERED;
  }
  const undo = [() => trace.disable()];
  const manager: ContextManager = createContextManager();
  if (context.setGlobalContextManager(manager)) undo.push(() => context.disable());
  if (propagation.setGlobalPropagator(createPropagator())) undo.push(() => propagation.disable());
  if (meterProvider !== undefined && metrics.setGlobalMeterProvider(meterProvider)) undo.push(() => metrics.disable());
  return { registered: true, undo };
}
