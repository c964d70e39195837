/** Where receipts are delivered: an OTLP/HTTP endpoint, from options and the environment. */

import { createHash } from "node:crypto";
import { kindOf, type ToolspanError } from "@toolspan/core";
import { invalidOption } from "../options.ts";
import { resourceText } from "./otlp-log-record.ts";

export interface DeliveryOptions {
  /** OTLP/HTTP base address; `/v1/logs` is appended where it does not end so. Default `TOOLSPAN_RECEIPTS_OTLP_ENDPOINT`. */
  readonly endpoint?: string;
  /** Sent with each request, beside and before those of `TOOLSPAN_RECEIPTS_OTLP_HEADERS` (`key=value,…`, percent-encoded). Never written anywhere. */
  readonly headers?: Readonly<Record<string, string>>;
  /** True where the host of this process cannot change what has arrived: only then do heads count as anchored. Default false. */
  readonly outside?: boolean;
  /** Longest time for one request and its answer, milliseconds, > 0. Default 10,000. */
  readonly requestTimeoutMs?: number;
  /** Largest request body, bytes, >= 1; one line is sent whatever its size. Default 256 KiB, so that making one holds up a program for some milliseconds only. */
  readonly maxBatchBytes?: number;
  /** Default: `OTEL_SERVICE_NAME`, else `service.name` of `OTEL_RESOURCE_ATTRIBUTES`, else `unknown_service:node`. */
  readonly serviceName?: string;
}

export interface DeliveryEndpoint {
  /** Names its folder under `<state root>/delivery/`. */
  readonly id: string;
  readonly url: string;
  /** The address without its query, which may hold a secret: this is what is written and printed. */
  readonly shown: string;
  readonly headers: Headers;
  readonly outside: boolean;
  readonly requestTimeoutMs: number;
  readonly maxBatchBytes: number;
  /** JSON text. */
  readonly resource: string;
}

const LOGS_PATH = "/v1/logs";
const DEFAULT_REQUEST_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_BATCH_BYTES = 1 << 18;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** @throws TOOLSPAN_INVALID_OPTION where no endpoint is named, or one of the options is not what it has to be. */
export function deliveryEndpoint(subject: string, options: DeliveryOptions): DeliveryEndpoint {
  const url = endpointUrl(subject, options.endpoint);
  return {
    id: endpointId(url),
    url,
    shown: url.split("?", 1)[0] ?? url,
    headers: headersOf(subject, options.headers),
    outside: flagOf(subject, options.outside),
    requestTimeoutMs: withinLimits(subject, "requestTimeoutMs", options.requestTimeoutMs, DEFAULT_REQUEST_TIMEOUT_MS),
    maxBatchBytes: withinLimits(subject, "maxBatchBytes", options.maxBatchBytes, DEFAULT_MAX_BATCH_BYTES),
    resource: resourceText(resourceOf(subject, options.serviceName)),
  };
}

/** The address that requests go to. */
export function endpointUrl(subject: string, option: string | undefined): string {
  const named = option ?? process.env.TOOLSPAN_RECEIPTS_OTLP_ENDPOINT;
  const expected = "an http or https address of an OTLP endpoint";
  if (named === undefined || named === "") {
    throw invalidOption(subject, "endpoint", `${expected}, here or in TOOLSPAN_RECEIPTS_OTLP_ENDPOINT`, "none");
  }
  if (typeof named !== "string") throw invalidOption(subject, "endpoint", expected, kindOf(named));
  const url = URL.canParse(named) ? new URL(named) : null;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw invalidOption(subject, "endpoint", expected, url === null ? "no address" : `one of ${url.protocol}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw invalidOption(subject, "endpoint", `${expected} without user and password; use headers`, "one with them");
  }
  url.hash = "";
  const path = url.pathname.replace(/\/+$/, "");
  url.pathname = path.endsWith(LOGS_PATH) ? path : path + LOGS_PATH;
  return url.href;
}

/** A name that people recognise, and that two addresses never share. */
export function endpointId(url: string): string {
  const host = new URL(url).host.replace(/[^A-Za-z0-9.-]/g, "_").slice(0, 80);
  return `${host}-${createHash("sha256").update(url).digest("hex").slice(0, 16)}`;
}

function headersOf(subject: string, option: Readonly<Record<string, string>> | undefined): Headers {
  const headers = new Headers();
  const named = { ...pairsIn(process.env.TOOLSPAN_RECEIPTS_OTLP_HEADERS), ...option };
  for (const [name, value] of Object.entries(named)) {
    try {
      headers.set(name, value);
    } catch {
      // The system's message would hold the value.
      throw headerProblem(subject);
    }
  }
  headers.set("content-type", "application/json");
  headers.set("accept", "application/json");
  if (!headers.has("user-agent")) headers.set("user-agent", "toolspan-receipts");
  return headers;
}

function headerProblem(subject: string): ToolspanError {
  return invalidOption(subject, "headers", "names and values that HTTP allows", "one that it does not");
}

function resourceOf(subject: string, option: string | undefined): Readonly<Record<string, string>> {
  if (option !== undefined && (typeof option !== "string" || option === "")) {
    throw invalidOption(subject, "serviceName", "a name", option === "" ? "an empty string" : kindOf(option));
  }
  const attributes = pairsIn(process.env.OTEL_RESOURCE_ATTRIBUTES);
  const name = option ?? (process.env.OTEL_SERVICE_NAME || attributes["service.name"]) ?? "unknown_service:node";
  return { ...attributes, "service.name": name };
}

/** `key=value,key2=value2`, percent-encoded, as OpenTelemetry's variables are; what is no pair is left out. */
function pairsIn(text: string | undefined): Readonly<Record<string, string>> {
  const pairs: Record<string, string> = {};
  for (const pair of (text ?? "").split(",")) {
    const at = pair.indexOf("=");
    if (at < 1) continue;
    pairs[decoded(pair.slice(0, at).trim())] = decoded(pair.slice(at + 1).trim());
  }
  return pairs;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function flagOf(subject: string, value: boolean | undefined): boolean {
  if (value === undefined || typeof value === "boolean") return value ?? false;
  throw invalidOption(subject, "outside", "true or false", kindOf(value));
}

function withinLimits(subject: string, option: string, value: number | undefined, otherwise: number): number {
  if (value === undefined) return otherwise;
  if (typeof value === "number" && value >= 1 && value <= LONGEST_TIMER_MS) return value;
  const received = typeof value === "number" ? String(value) : kindOf(value);
  throw invalidOption(subject, option, `a number from 1 to ${LONGEST_TIMER_MS}`, received);
}
