// An OTLP endpoint for logs on the loopback interface, real HTTP, that answers as it is told and keeps what it took.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A log record as OTLP/JSON carries it. */
export interface WireRecord {
  readonly timeUnixNano?: string;
  readonly severityText: string;
  readonly eventName: string;
  readonly body: { readonly stringValue?: string; readonly bytesValue?: string };
  readonly traceId?: string;
  readonly spanId?: string;
  readonly attributes: readonly {
    readonly key: string;
    readonly value: { readonly stringValue?: string; readonly intValue?: string };
  }[];
}

export interface LogsRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly bytes: number;
  readonly resource: readonly { readonly key: string; readonly value: { readonly stringValue?: string } }[];
  readonly records: readonly WireRecord[];
  readonly at: number;
}

/** What is said to a request; a function answers by hand, and says whether the records were taken. */
export type Reply =
  | { readonly status: number; readonly body?: string; readonly headers?: Readonly<Record<string, string>> }
  | ((response: ServerResponse, request: IncomingMessage) => boolean);

export interface LogsEndpoint {
  readonly url: string;
  readonly port: number;
  readonly requests: readonly LogsRequest[];
  /** Records of requests that were answered with a success. */
  readonly taken: readonly WireRecord[];
  close(): Promise<void>;
}

export const ACCEPTED: Reply = { status: 200, body: "{}" };

/** @param reply What is said to the request of this number, 1-based. Default success. */
export async function logsEndpoint(
  reply: (request: LogsRequest, number: number) => Reply | undefined = () => undefined,
  port = 0,
): Promise<LogsEndpoint> {
  const requests: LogsRequest[] = [];
  const taken: WireRecord[] = [];
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    const { resourceLogs } = JSON.parse(bytes.toString("utf8"));
    const request: LogsRequest = {
      path: incoming.url ?? "",
      headers: incoming.headers,
      bytes: bytes.length,
      resource: resourceLogs[0].resource.attributes,
      records: resourceLogs.flatMap((one: { scopeLogs: { logRecords: WireRecord[] }[] }) =>
        one.scopeLogs.flatMap(({ logRecords }) => logRecords),
      ),
      at: performance.now(),
    };
    requests.push(request);
    const said = reply(request, requests.length) ?? ACCEPTED;
    if (typeof said === "function") {
      if (said(response, incoming)) taken.push(...request.records);
      return;
    }
    if (said.status === 200) taken.push(...request.records);
    response.writeHead(said.status, { "content-type": "application/json", ...said.headers });
    response.end(said.body ?? "");
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const bound = (server.address() as AddressInfo).port;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  onTestFinished(close);
  return { url: `http://127.0.0.1:${bound}`, port: bound, requests, taken, close };
}

/** The lines among records, by log, in order of arrival. */
export function linesByLog(records: readonly WireRecord[]): ReadonlyMap<string, readonly string[]> {
  const lines = new Map<string, string[]>();
  for (const record of records) {
    if (record.eventName !== "toolspan.tool_call.receipt") continue;
    const log = attributeOf(record, "toolspan.log") ?? "";
    const body = record.body.stringValue ?? Buffer.from(record.body.bytesValue ?? "", "base64").toString("latin1");
    lines.set(log, [...(lines.get(log) ?? []), body]);
  }
  return lines;
}

/** Bodies of heads, in order of arrival. */
export function headsIn(records: readonly WireRecord[]): readonly string[] {
  return records
    .filter(({ eventName }) => eventName === "toolspan.receipts.head")
    .map(({ body }) => body.stringValue ?? "");
}

export function attributeOf({ attributes }: WireRecord, key: string): string | undefined {
  const value = attributes.find((attribute) => attribute.key === key)?.value;
  return value?.stringValue ?? value?.intValue;
}
