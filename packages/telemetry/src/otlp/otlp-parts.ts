/** The parts of an OTLP connection as options and environment want them. */

import { diagnostics } from "@toolspan/core";
import type { Environment } from "../start/environment.ts";
import { missingPeer, protobufSerializers } from "../start/sdk-peers.ts";
import { OtlpMetricExporter } from "./otlp-metric-exporter.ts";
import { type OtlpOptions, type OtlpSettings, type OtlpSignal, otlpSettings } from "./otlp-settings.ts";
import { OtlpSink, otlpLimits } from "./otlp-sink.ts";
import { OtlpTransport } from "./otlp-transport.ts";
import { JsonBatch, ProtobufBatch } from "./span-batch.ts";

/** @throws TOOLSPAN_MISSING_PEER where the program itself asked for protobuf and its serializer is not installed. */
export function createOtlpSink(options: OtlpOptions, env: Environment, flushTimeoutMs: number): OtlpSink {
  const settings = spokenSettings("traces", options, env);
  const serializer = settings.protocol === "http/protobuf" ? protobufSerializers()?.ProtobufTraceSerializer : undefined;
  const batch = serializer === undefined ? new JsonBatch() : new ProtobufBatch(serializer);
  return new OtlpSink(new OtlpTransport(settings), batch, otlpLimits(env, flushTimeoutMs));
}

/** @throws As `createOtlpSink`. */
export function createOtlpMetricExporter(options: OtlpOptions, env: Environment): OtlpMetricExporter {
  const settings = spokenSettings("metrics", options, env);
  const serializer =
    settings.protocol === "http/protobuf" ? protobufSerializers()?.ProtobufMetricsSerializer : undefined;
  return new OtlpMetricExporter(new OtlpTransport(settings), serializer);
}

function spokenSettings(signal: OtlpSignal, options: OtlpOptions, env: Environment): OtlpSettings {
  const settings = otlpSettings(signal, options, env);
  if (settings.protocol === "http/json" || protobufSerializers() !== undefined) return settings;
  if (settings.protocolChosen) throw missingPeer("@opentelemetry/otlp-transformer");
  diagnostics.report(
    "telemetry.otlp",
    "protobuf_missing",
    "OTLP as http/protobuf needs the package @opentelemetry/otlp-transformer, found none; http/json is used",
  );
  return { ...settings, protocol: "http/json" };
}
