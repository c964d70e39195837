/** A program of its own: loads the module that is named, and says over descriptor 3 what it has registered with OpenTelemetry. */

import { writeSync } from "node:fs";

/** What the probe says. */
export interface Probed {
  /** Why the module could not be loaded. */
  readonly failed?: string;
  /** Version of the API that registered; null where none has. */
  readonly api: string | null;
  readonly tracer: boolean;
  readonly meter: boolean;
  readonly contextManager: boolean;
  /** Of the provider's spans; null where they cannot be read. */
  readonly resource: Readonly<Record<string, unknown>> | null;
}

interface Registered {
  readonly version?: string;
  readonly trace?: { getTracer(name: string): { startSpan(name: string): unknown } };
  readonly metrics?: unknown;
  readonly context?: unknown;
}

const DESCRIPTOR = 3;
const API = Symbol.for("opentelemetry.js.api.1");

async function probe(url: string): Promise<Probed> {
  await import(url);
  const registered = (globalThis as { [API]?: Registered })[API];
  return {
    api: registered?.version ?? null,
    tracer: registered?.trace !== undefined,
    meter: registered?.metrics !== undefined,
    contextManager: registered?.context !== undefined,
    resource: resourceOf(registered),
  };
}

/** A span that is never ended is never sent. */
function resourceOf(registered: Registered | undefined): Probed["resource"] {
  const span = registered?.trace?.getTracer("toolspan doctor").startSpan("probe") as
    | { readonly resource?: { readonly attributes?: Readonly<Record<string, unknown>> } }
    | undefined;
  return span?.resource?.attributes ?? null;
}

async function main(url: string): Promise<void> {
  let said: Probed;
  try {
    said = await probe(url);
  } catch (thrown) {
    const failed = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
    said = { failed, api: null, tracer: false, meter: false, contextManager: false, resource: null };
  }
  writeSync(DESCRIPTOR, JSON.stringify(said));
  // Whatever the module has started may hold the process open.
  process.exit(0);
}

await main(process.argv[2] ?? "");
