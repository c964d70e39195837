/** The stack that the demo runs every tool call through, and what it left on disk. */

import { join } from "node:path";
import { classifyTranscript, jsonSchemaValidator } from "@toolspan/agent";
import { createDispatcher, type Dispatcher } from "@toolspan/core";
import { autoApprove, withConsent } from "@toolspan/middleware/with-consent";
import { withTimeout } from "@toolspan/middleware/with-timeout";
import { withAuditLog } from "@toolspan/receipts";
import { jsonlSink, withTelemetry } from "@toolspan/telemetry";

export interface DemoStack {
  readonly dispatcher: Dispatcher;
  /** As it is written in a program. */
  readonly listed: string;
  /** How many runs may go on at the same time. */
  readonly concurrency: number;
  /** The file that holds the spans; null as long as there are none. */
  spansFile(): string | null;
  /** Closes log and span file. */
  close(): Promise<void>;
}

const CAPTURE_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";
const MAX_TOOL_MS = 30_000;
/** Many receipts share one sync of one log; a sync of one log among many serves one receipt. */
const CONCURRENCY = { oneLog: 16, logPerSession: 4 };
/** Closing a few hundred logs takes a sync for each. */
const CLOSE_MS = 60_000;

/**
 * Makes the demo's dispatcher.
 *
 * Samplers, switches and providers of the environment do not touch it; of its variables only the opt-in to content counts.
 *
 * @param folder State folder; gets `spans/` and `receipts/`.
 * @param oneLog One receipt log for all sessions, for more sessions than a process keeps logs open.
 */
export function makeDemoStack(folder: string, oneLog: boolean): DemoStack {
  const spans = jsonlSink({ dir: join(folder, "spans"), env: {} });
  const dispatcher = createDispatcher(
    [
      withAuditLog({
        sink: "local",
        stateDir: folder,
        log: oneLog ? "process" : "session",
        // Recorded conversations are no secret, and plain hashes can be checked by anyone.
        hash: "sha256",
        flushTimeoutMs: CLOSE_MS,
      }),
      withTelemetry({ sink: spans, isolated: true, env: contentOptIn(), serviceName: "toolspan-demo" }),
      withTimeout({ maxMs: MAX_TOOL_MS }),
      withConsent(autoApprove),
    ],
    { classify: classifyTranscript, validator: jsonSchemaValidator() },
  );
  return {
    dispatcher,
    listed: "[withAuditLog, withTelemetry, withTimeout, withConsent(auto)]",
    concurrency: oneLog ? CONCURRENCY.oneLog : CONCURRENCY.logPerSession,
    spansFile: () => spans.path,
    close: () => dispatcher.close(),
  };
}

function contentOptIn(): Readonly<Record<string, string | undefined>> {
  return { [CAPTURE_CONTENT]: process.env[CAPTURE_CONTENT] };
}
