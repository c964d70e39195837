/** The OpenTelemetry API as the host has set it up: its tracer, and whether this copy of the API can see it. */

import { type TracerProvider, trace } from "@opentelemetry/api";
import { diagnostics } from "@toolspan/core";
import { SCOPE_NAME, SCOPE_VERSION } from "../names.ts";
import { SCHEMA_URL } from "../semconv.ts";
import type { SpanStarter } from "../spans/private-tracer.ts";

const GLOBAL_API = Symbol.for("opentelemetry.js.api.1");

/** Remembers the tracer as long as the provider stays the same. */
export class HostTracer {
  readonly #given: TracerProvider | undefined;
  #provider: TracerProvider | undefined;
  #tracer: SpanStarter | undefined;

  constructor(given: TracerProvider | undefined) {
    this.#given = given;
  }

  tracer(): SpanStarter {
    const provider = this.#given ?? trace.getTracerProvider();
    if (provider !== this.#provider || this.#tracer === undefined) {
      this.#provider = provider;
      this.#tracer = provider.getTracer(SCOPE_NAME, SCOPE_VERSION, { schemaUrl: SCHEMA_URL });
    }
    return this.#tracer;
  }

  /** Asks the host's provider to pass on what it holds. */
  async forceFlush(): Promise<void> {
    const provider = this.#given ?? trace.getTracerProvider();
    const { getDelegate } = provider as { getDelegate?: () => TracerProvider };
    const actual = (getDelegate === undefined ? provider : getDelegate.call(provider)) as {
      forceFlush?(): Promise<void>;
    };
    await actual.forceFlush?.();
  }
}

/** Says, once, why spans go nowhere. */
export function reportNoTracer(): void {
  const other = invisibleApi();
  if (other === undefined) {
    diagnostics.report(
      "telemetry.otel",
      "no_provider",
      'no OpenTelemetry tracer provider is registered, so the sink "otel" gets no spans; register an SDK, or call startTelemetry of @toolspan/telemetry/node first',
    );
    return;
  }
  diagnostics.report("telemetry.otel", "duplicate_api", duplicateMessage(other));
}

/** Says, once, that the host registered through another copy of the API, which this copy cannot see. */
export function reportDuplicateApi(): void {
  const other = invisibleApi();
  if (other !== undefined) diagnostics.report("telemetry.otel", "duplicate_api", duplicateMessage(other));
}

/** The version of an API copy that holds a tracer provider which this copy refuses to use. */
function invisibleApi(): string | undefined {
  const registered = (globalThis as { [GLOBAL_API]?: { readonly version?: string; readonly trace?: unknown } })[
    GLOBAL_API
  ];
  if (registered?.trace === undefined || registered.trace === trace.getTracerProvider()) return undefined;
  return registered.version ?? "unknown";
}

function duplicateMessage(version: string): string {
  return `a tracer provider is registered with another copy of @opentelemetry/api (version ${version.slice(0, 32)}), which this copy cannot use, so spans go nowhere; install one version of it for the whole program`;
}
