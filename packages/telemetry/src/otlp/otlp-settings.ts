/** Where and how OTLP/HTTP is sent, from options and `OTEL_EXPORTER_OTLP_*`. */

import { readFileSync } from "node:fs";
import { diagnostics } from "@toolspan/core";
import { causeOf } from "../sinks/loss.ts";
import { type Environment, readNumber, readPairs, readText } from "../start/environment.ts";

export type OtlpProtocol = "http/json" | "http/protobuf";

export interface OtlpOptions {
  /** Base address; `/v1/traces` and `/v1/metrics` are appended. Default `http://localhost:4318`. */
  readonly endpoint?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Longest time of one attempt, milliseconds. Default 10,000. */
  readonly timeoutMs?: number;
  /**
   * How long a request of spans is repeated where the collector is away or busy, milliseconds. Default 300,000. Metrics are
   * repeated for one `timeoutMs`: the next collection says more than the last.
   */
  readonly retryMs?: number;
  /** Default `http/json`; `http/protobuf` needs the package `@opentelemetry/otlp-transformer`. */
  readonly protocol?: OtlpProtocol;
  readonly compression?: "gzip" | "none";
}

export type OtlpSignal = "traces" | "metrics";

export interface OtlpSettings {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly retryMs: number;
  readonly protocol: OtlpProtocol;
  /** True when the program itself asked for the protocol, so that it must not be replaced. */
  readonly protocolChosen: boolean;
  readonly gzip: boolean;
  readonly tls: { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer };
}

const DEFAULT_ENDPOINT = "http://localhost:4318";
const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_RETRY_MS = 300_000;

/**
 * Options win over variables, a signal's own variable over the general one.
 *
 * @source OpenTelemetry specification, "OpenTelemetry Protocol Exporter", configuration options
 */
export function otlpSettings(signal: OtlpSignal, options: OtlpOptions, env: Environment): OtlpSettings {
  const read = (name: string): string | undefined =>
    readText(env, `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_${name}`) ?? readText(env, `OTEL_EXPORTER_OTLP_${name}`);
  const upper = signal.toUpperCase();
  const compression = options.compression ?? read("COMPRESSION");
  const timeoutMs =
    options.timeoutMs ??
    readNumber(env, `OTEL_EXPORTER_OTLP_${upper}_TIMEOUT`) ??
    readNumber(env, "OTEL_EXPORTER_OTLP_TIMEOUT") ??
    DEFAULT_TIMEOUT_MS;
  return {
    url: urlOf(signal, options, env),
    headers: {
      ...readPairs(env, "OTEL_EXPORTER_OTLP_HEADERS"),
      ...readPairs(env, `OTEL_EXPORTER_OTLP_${upper}_HEADERS`),
      ...options.headers,
    },
    timeoutMs,
    retryMs: signal === "metrics" ? timeoutMs : (options.retryMs ?? DEFAULT_RETRY_MS),
    protocol: options.protocol ?? protocolOf(read("PROTOCOL")),
    protocolChosen: options.protocol !== undefined,
    gzip: compression === "gzip",
    tls: {
      ...file("ca", read("CERTIFICATE")),
      ...file("cert", read("CLIENT_CERTIFICATE")),
      ...file("key", read("CLIENT_KEY")),
    },
  };
}

function urlOf(signal: OtlpSignal, { endpoint }: OtlpOptions, env: Environment): URL {
  const own = endpoint === undefined ? readText(env, `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_ENDPOINT`) : undefined;
  const base = endpoint ?? readText(env, "OTEL_EXPORTER_OTLP_ENDPOINT") ?? DEFAULT_ENDPOINT;
  const address = own ?? `${base.replace(/\/$/, "")}/v1/${signal}`;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  diagnostics.report(
    "telemetry.otlp",
    "bad_endpoint",
    `the OTLP endpoint for ${signal} is no http or https address; ${DEFAULT_ENDPOINT} is used`,
  );
  return new URL(`${DEFAULT_ENDPOINT}/v1/${signal}`);
}

function protocolOf(text: string | undefined): OtlpProtocol {
  if (text === "http/protobuf" || text === "http/json" || text === undefined) return text ?? "http/json";
  diagnostics.report(
    "telemetry.otlp",
    "protocol",
    `OTLP protocol ${text.slice(0, 32)} is not spoken here; http/json is used`,
  );
  return "http/json";
}

function file(name: "ca" | "cert" | "key", path: string | undefined): { readonly [key: string]: Buffer } {
  if (path === undefined) return {};
  try {
    return { [name]: readFileSync(path) };
  } catch (thrown) {
    diagnostics.report(
      "telemetry.otlp",
      `tls_${name}`,
      `the file for OTLP's TLS ${name} cannot be read (${causeOf(thrown)})`,
    );
    return {};
  }
}
