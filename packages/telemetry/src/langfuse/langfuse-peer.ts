/** The package `@langfuse/otel`, an optional peer, and what is used of it. */

import type * as NodeModule from "node:module";
import { ToolspanError } from "@toolspan/core";
import type { ReadableSpan, SpanSink } from "../spans/readable-span.ts";

/** Members and values of an SDK span exporter; code 0 is success. */
export interface LangfuseExporter {
  export(spans: readonly ReadableSpan[], done: (result: { readonly code: 0 }) => void): void;
  forceFlush(): Promise<void>;
  shutdown(): Promise<void>;
}

/** Options of `LangfuseSpanProcessor` that are used. */
export interface LangfuseProcessorOptions {
  readonly exporter: LangfuseExporter;
  readonly publicKey: string;
  readonly secretKey: string;
  readonly baseUrl: string;
  readonly mediaUploadEnabled: false;
  readonly shouldExportSpan: (given: { readonly otelSpan: ReadableSpan }) => boolean;
  /** Hands each span to the exporter at once; ours gathers them. */
  readonly exportMode: "immediate";
  /** Seconds. */
  readonly timeout: number;
}

export interface LangfusePeer {
  readonly LangfuseSpanProcessor: new (options: LangfuseProcessorOptions) => SpanSink;
  /** The filter that the processor has by default. */
  readonly isDefaultExportSpan: (span: ReadableSpan) => boolean;
  /** By it Langfuse knows what its processor's spans look like. */
  readonly version: string;
}

const PEER = "@langfuse/otel";
/** Without these the package cannot be loaded; they belong to the OpenTelemetry 2.x line alone. */
const ITS_PEERS = [
  "@opentelemetry/core",
  "@opentelemetry/exporter-trace-otlp-http",
  "@opentelemetry/sdk-trace-base",
] as const;

let loaded: LangfusePeer | undefined;

/** @throws TOOLSPAN_MISSING_PEER where the package, or one that it needs, is not installed. */
export function langfusePeer(subject: string): LangfusePeer {
  loaded ??= load(subject);
  return loaded;
}

function load(subject: string): LangfusePeer {
  const module = moduleBuiltIn();
  const path = module === undefined ? undefined : resolved(module, import.meta.url, PEER);
  if (module === undefined || path === undefined) throw missing(subject, PEER);
  for (const peer of ITS_PEERS) if (resolved(module, path, peer) === undefined) throw missing(subject, peer);
  const its = module.createRequire(path);
  const { LANGFUSE_SDK_VERSION } = its("@langfuse/core") as { readonly LANGFUSE_SDK_VERSION: string };
  return { ...(its(path) as Omit<LangfusePeer, "version">), version: LANGFUSE_SDK_VERSION };
}

type Modules = Pick<typeof NodeModule, "createRequire">;

function moduleBuiltIn(): Modules | undefined {
  return (globalThis as { process?: NodeJS.Process }).process?.getBuiltinModule?.("node:module");
}

function resolved({ createRequire }: Modules, from: string, name: string): string | undefined {
  try {
    return createRequire(from).resolve(name);
  } catch {
    return undefined; // not installed; what is wrong inside a package says so when it is loaded
  }
}

function missing(subject: string, peer: string): ToolspanError {
  return new ToolspanError("TOOLSPAN_MISSING_PEER", { subject, peer });
}
