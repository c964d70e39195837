/** Sends requests of spans that exist already, as they stand: what a replay needs. */

import { neededNetwork } from "../built-ins.ts";
import { type Environment, processEnvironment } from "../start/environment.ts";
import { type OtlpOptions, otlpSettings } from "./otlp-settings.ts";
import { OtlpTransport } from "./otlp-transport.ts";
import { rejectedOf } from "./rejected.ts";

export type TraceAnswer =
  /** `rejected` of its spans were refused. */
  | { readonly sent: true; readonly rejected: number }
  /** `reason` is `rejected`, `unreachable`, `timeout` or `aborted`; `detail` names a status or an error code. */
  | { readonly sent: false; readonly reason: string; readonly detail: string };

export interface TraceClient {
  /** Where requests go, without user and password. */
  readonly url: string;
  /** Sends one `ExportTraceServiceRequest` in OTLP/JSON, byte for byte. Never rejects. */
  send(request: string): Promise<TraceAnswer>;
  close(): void;
}

const HOLD_MS = 60_000;

/**
 * A client for OTLP/HTTP traces, with the repetitions and the variables (`OTEL_EXPORTER_OTLP_*`) of `startTelemetry`.
 *
 * @param options.retryMs How long one request is repeated where the endpoint is away or busy.
 */
export function traceClient(
  options: Omit<OtlpOptions, "protocol">,
  env: Environment = processEnvironment(),
): TraceClient {
  const settings = { ...otlpSettings("traces", options, env), contentType: "application/json" };
  const transport = new OtlpTransport(settings, neededNetwork("traceClient"));
  return {
    url: `${settings.url.origin}${settings.url.pathname}`,
    async send(request) {
      // The transport holds no process open; whoever replays waits for nothing else.
      const hold = setInterval(() => {}, HOLD_MS);
      try {
        const result = await transport.send(Buffer.from(request));
        return result.sent ? { sent: true, rejected: rejectedOf(result.response) } : result;
      } finally {
        clearInterval(hold);
      }
    },
    close: () => transport.abort(),
  };
}
