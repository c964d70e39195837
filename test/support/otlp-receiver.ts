// A collector on the loopback interface: a real HTTP server that keeps what it is sent and answers as told.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";

export interface OtlpRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface OtlpReceiver {
  /** `http://127.0.0.1:<port>` */
  readonly endpoint: string;
  readonly requests: readonly OtlpRequest[];
  /** Every span of every JSON request that was accepted, in order of arrival. */
  spans(): readonly WireSpan[];
  close(): Promise<void>;
}

/** A span as OTLP/JSON carries it. */
export interface WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly flags: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly status: { readonly code?: number; readonly message?: string };
  readonly events?: readonly { readonly name: string; readonly timeUnixNano: string }[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
}

/** Answers each request; without an answer from `answer` the request is accepted with `{}`, with `"hang"` it is never answered. */
export type Answer = (
  request: OtlpRequest,
  count: number,
) => { status: number; body?: string; headers?: Record<string, string> } | "hang" | undefined;

export async function startOtlpReceiver(answer: Answer = () => undefined): Promise<OtlpReceiver> {
  const requests: OtlpRequest[] = [];
  const accepted: OtlpRequest[] = [];
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const sent = Buffer.concat(chunks);
      const body = incoming.headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent;
      const request = { path: incoming.url ?? "", headers: incoming.headers, body };
      requests.push(request);
      const given = answer(request, requests.length);
      if (given === undefined || (given !== "hang" && given.status < 300)) accepted.push(request);
      reply(response, given);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    spans: () =>
      accepted.filter(({ path }) => path === "/v1/traces").flatMap(({ body }) => spansOf(body.toString("utf8"))),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The spans of one `ExportTraceServiceRequest` as text. */
export function spansOf(request: string): readonly WireSpan[] {
  const { resourceSpans } = JSON.parse(request) as {
    resourceSpans: readonly { scopeSpans: readonly { spans: readonly WireSpan[] }[] }[];
  };
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
}

/** A span's attributes as a plain object; 64-bit integers as strings, as they stand on the wire. */
export function attributesOf({ attributes }: Pick<WireSpan, "attributes">): Readonly<Record<string, unknown>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

function reply(response: ServerResponse, given: ReturnType<Answer>): void {
  if (given === "hang") return;
  const { status, body, headers } = given ?? { status: 200 };
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(body ?? "{}");
}
