/** The parts of an OTLP connection as options and environment want them. */

import { diagnostics } from "@toolspan/core";
import { neededNetwork } from "../built-ins.ts";
import type { Environment } from "../start/environment.ts";
import { missingPeer, protobufSerializers } from "../start/sdk-peers.ts";
import { otlpLimits } from "./otlp-limits.ts";
import { OtlpMetricExporter } from "./otlp-metric-exporter.ts";
import { type OtlpOptions, type OtlpSettings, type OtlpSignal, otlpSettings } from "./otlp-settings.ts";
import { OtlpSink } from "./otlp-sink.ts";
import { OtlpTransport, type TransportSettings } from "./otlp-transport.ts";
import { JsonBatch, ProtobufBatch } from "./span-batch.ts";

/** @throws TOOLSPAN_MISSING_PEER where the program itself asked for protobuf and its serializer is not installed. */
export function createOtlpSink(
  options: OtlpOptions,
  env: Environment,
  flushTimeoutMs: number,
  keepErrors: boolean,
): OtlpSink {
  const settings = spokenSettings("traces", options, env);
  const serializer = settings.protocol === "http/protobuf" ? protobufSerializers()?.ProtobufTraceSerializer : undefined;
  const batch = serializer === undefined ? new JsonBatch() : new ProtobufBatch(serializer);
  const net = neededNetwork("startTelemetry");
  return new OtlpSink(new OtlpTransport(settings, net), batch, otlpLimits(env, flushTimeoutMs, keepErrors), net);
}

/** @throws As `createOtlpSink`. */
export function createOtlpMetricExporter(options: OtlpOptions, env: Environment): OtlpMetricExporter {
  const settings = spokenSettings("metrics", options, env);
  const serializer =
    settings.protocol === "http/protobuf" ? protobufSerializers()?.ProtobufMetricsSerializer : undefined;
  return new OtlpMetricExporter(new OtlpTransport(settings, neededNetwork("startTelemetry")), serializer);
}

type SpokenSettings = OtlpSettings & TransportSettings;

function spokenSettings(signal: OtlpSignal, options: OtlpOptions, env: Environment): SpokenSettings {
  const settings = otlpSettings(signal, options, env);
  const asJson: SpokenSettings = { ...settings, protocol: "http/json", contentType: "application/json" };
  if (settings.protocol === "http/json") return asJson;
  if (protobufSerializers() !== undefined) return { ...settings, contentType: "application/x-protobuf" };
  if (settings.protocolChosen) throw missingPeer("@opentelemetry/otlp-transformer");
  diagnostics.report(
    "telemetry.otlp",
    "protobuf_missing",
    "OTLP as http/protobuf needs the package @opentelemetry/otlp-transformer, found none; http/json is used",
  );
  return asJson;
}
