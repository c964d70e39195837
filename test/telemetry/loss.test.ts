// The way to a collector: nothing on it is lost in silence, and no end takes longer than its deadline.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { metrics, trace } from "@opentelemetry/api";
import { createDispatcher, type Diagnostic, diagnostics } from "@toolspan/core";
import { telemetryLost, withTelemetry } from "@toolspan/telemetry";
import { type OtlpOptions, startTelemetry, type Telemetry } from "@toolspan/telemetry/node";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { clearGlobals } from "../support/otel-sdk.ts";
import { type OtlpReceiver, spansOf, startOtlpReceiver } from "../support/otlp-receiver.ts";
import { buildPackages, runChild } from "./child.ts";

let telemetry: Telemetry | undefined;
let ends: (() => Promise<void>)[];
let said: Diagnostic[];
let unlisten: () => void;
beforeAll(buildPackages, 120_000);
beforeEach(() => {
  ends = [];
  said = [];
  unlisten = diagnostics.listen((diagnostic) => said.push(diagnostic));
  diagnostics.reset();
});
afterEach(async () => {
  await telemetry?.shutdown({ timeoutMs: 100 });
  telemetry = undefined;
  for (const end of ends) await end();
  unlisten();
  clearGlobals();
});

function start(endpoint: string, otlp: Partial<OtlpOptions> = {}, environment: Record<string, string> = {}): Telemetry {
  telemetry = startTelemetry({
    serviceName: "clerk",
    otlp: { endpoint, ...otlp },
    metrics: false,
    signals: false,
    environment,
  });
  return telemetry;
}

async function receiving(...answer: Parameters<typeof startOtlpReceiver>): Promise<OtlpReceiver> {
  const receiver = await startOtlpReceiver(...answer);
  ends.push(() => receiver.close());
  return receiver;
}

/** An HTTP server by hand, at a port that may be had again. */
function listening(server: Server, port = 0): Promise<number> {
  ends.push(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return new Promise((resolve) =>
    server.listen(port, "127.0.0.1", () => resolve((server.address() as AddressInfo).port)),
  );
}

const dispatch = createDispatcher([withTelemetry({ sink: "otel", env: {} })]);
const lost = (key: string): number => telemetryLost().get(key) ?? 0;

test("of a burst of 100,000 spans at least 99 % reach a healthy collector, the rest is counted, and memory is bounded", async () => {
  const receiver = await receiving();
  // Newer engines let garbage pile up to some 200 MB before they look; what is held is what counts here.
  const nodeArgs = ["--expose-gc", "--max-semi-space-size=16"];
  const { stdout, code, stderr } = await runChild("burst.mjs", {
    args: [receiver.endpoint],
    nodeArgs,
  });
  expect([code, stderr]).toEqual([0, ""]);
  const {
    made,
    report,
    lost: reasons,
    held,
  } = JSON.parse(stdout) as {
    made: number;
    report: { lost: number };
    lost: Readonly<Record<string, number>>;
    held: number;
  };
  const arrived = receiver.spans().length;
  expect(arrived).toBeGreaterThanOrEqual(0.99 * made);
  expect(arrived + report.lost, JSON.stringify(reasons)).toBe(made);
  expect(held).toBeLessThan(256 * 1024 * 1024);
}, 180_000);

test("spans that end while the collector is away arrive once it is back", async () => {
  const port = await listening(createServer((_, response) => response.writeHead(503).end()));
  start(`http://127.0.0.1:${port}`);
  await dispatch({ toolName: "t" }, () => 1);
  expect(await telemetry?.forceFlush({ timeoutMs: 400 })).toEqual({ complete: false, lost: 0 });
  await ends.pop()?.();
  await dispatch({ toolName: "t" }, () => 2);
  expect(await telemetry?.forceFlush({ timeoutMs: 400 })).toEqual({ complete: false, lost: 0 });
  const bodies: string[] = [];
  const back = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (part: string) => {
      body += part;
    });
    request.on("end", () => {
      bodies.push(body);
      response.end("{}");
    });
  });
  await listening(back, port);
  expect(await telemetry?.shutdown({ timeoutMs: 5000 })).toEqual({ complete: true, lost: 0 });
  expect(bodies.flatMap(spansOf)).toHaveLength(4);
});

test("a connection that breaks in mid-request is taken up again", async () => {
  let broken = 0;
  const bodies: string[] = [];
  const port = await listening(
    createServer((request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (part: string) => {
        body += part;
        if (broken < 3) {
          broken += 1;
          request.socket.resetAndDestroy();
        }
      });
      request.on("end", () => {
        if (request.socket.destroyed) return;
        bodies.push(body);
        response.end("{}");
      });
      request.on("error", () => {});
    }),
  );
  start(`http://127.0.0.1:${port}`);
  await dispatch({ toolName: "t" }, () => 1);
  expect(await telemetry?.shutdown({ timeoutMs: 10_000 })).toEqual({ complete: true, lost: 0 });
  expect([broken, bodies.flatMap(spansOf).length]).toEqual([3, 2]);
});

test.each([502, 503, 504, 429])("status %i is asked again within its bound, then counted", async (status) => {
  const receiver = await receiving(() => ({ status }));
  start(receiver.endpoint, { retryMs: 1500 });
  const before = lost("spans rejected");
  await dispatch({ toolName: "t" }, () => 1);
  expect(await telemetry?.forceFlush({ timeoutMs: 8000 })).toEqual({ complete: true, lost: 2 });
  expect(lost("spans rejected") - before).toBe(2);
  expect(receiver.requests.length).toBeGreaterThan(2);
});

test.each([400, 401, 413, 500])("status %i is final: no second attempt", async (status) => {
  const receiver = await receiving(() => ({ status }));
  start(receiver.endpoint);
  await dispatch({ toolName: "t" }, () => 1);
  expect(await telemetry?.forceFlush()).toEqual({ complete: true, lost: 2 });
  expect(receiver.requests).toHaveLength(1);
});

test("a request stays within its size in bytes, whatever the characters", async () => {
  const receiver = await receiving();
  start(receiver.endpoint);
  const tracer = trace.getTracer("host");
  for (let i = 0; i < 500; i += 1) tracer.startSpan("s", { attributes: { text: "東".repeat(1000) } }).end();
  expect(await telemetry?.shutdown()).toEqual({ complete: true, lost: 0 });
  expect(receiver.spans()).toHaveLength(500);
  expect(Math.max(...receiver.requests.map(({ body }) => body.length))).toBeLessThan(530 * 1024);
});

test("a collector that asks for more time than there is gets one last attempt", async () => {
  const receiver = await receiving((_, count) =>
    count === 1 ? { status: 503, headers: { "retry-after": "3600" } } : undefined,
  );
  start(receiver.endpoint, { retryMs: 300 });
  await dispatch({ toolName: "t" }, () => 1);
  expect(await telemetry?.forceFlush({ timeoutMs: 5000 })).toEqual({ complete: true, lost: 0 });
  expect(receiver.requests).toHaveLength(2);
});

test.each(["0", "-5", "", "Thu, 01 Jan 1970 00:00:00 GMT", "soon", "0.001"])(
  "a busy collector that asks for %j is not asked without a pause",
  async (retryAfter) => {
    const receiver = await receiving(() => ({ status: 503, headers: { "retry-after": retryAfter } }));
    start(receiver.endpoint);
    await dispatch({ toolName: "t" }, () => 1);
    expect(await telemetry?.shutdown({ timeoutMs: 500 })).toEqual({ complete: false, lost: 2 });
    expect(receiver.requests.length).toBeLessThan(8);
  },
);

test("an answer that switches protocols costs its request, counted, and not those after it", async () => {
  let requests = 0;
  const server = createServer((_, response) => response.end("{}"));
  server.prependListener("connection", (socket) => {
    requests += 1;
    if (requests > 1) return;
    socket.removeAllListeners("data");
    socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n");
  });
  start(`http://127.0.0.1:${await listening(server)}`);
  await dispatch({ toolName: "t" }, () => 1);
  expect(await telemetry?.forceFlush()).toEqual({ complete: true, lost: 2 });
  expect(said.map(({ message }) => message).join()).toContain("status 101");
  await dispatch({ toolName: "t" }, () => 1);
  expect(await telemetry?.shutdown()).toEqual({ complete: true, lost: 2 });
  expect(requests).toBe(2);
});

test("of a request of metrics no more is lost than was sent, whatever the collector says", async () => {
  const body = '{"partialSuccess":{"rejectedDataPoints":"999999999999"}}';
  const receiver = await receiving(({ path }) => (path === "/v1/metrics" ? { status: 200, body } : undefined));
  const before = lost("metrics rejected");
  telemetry = startTelemetry({
    serviceName: "s",
    otlp: { endpoint: receiver.endpoint },
    signals: false,
    environment: {},
  });
  metrics.getMeter("m").createCounter("c").add(1);
  await telemetry.forceFlush();
  expect(lost("metrics rejected") - before).toBe(1);
});

test.each([true, false])(
  "what is lost is measured by startTelemetry's own provider, register: %j",
  async (register) => {
    const receiver = await receiving(({ path }) => (path === "/v1/traces" ? { status: 400 } : undefined));
    telemetry = startTelemetry({
      serviceName: "s",
      otlp: { endpoint: receiver.endpoint },
      register,
      signals: false,
      environment: {},
    });
    const { tracerProvider, meterProvider } = telemetry;
    const own = createDispatcher([withTelemetry({ sink: "otel", tracerProvider, meterProvider, env: {} })]);
    await own({ toolName: "t" }, () => 1);
    await telemetry.forceFlush();
    await telemetry.forceFlush();
    const measured = receiver.requests.filter(({ path }) => path === "/v1/metrics").map(({ body }) => body.toString());
    expect(measured.join()).toContain('"name":"toolspan.telemetry.lost"');
  },
);

test("a shutdown during a long pause tries once more at once", async () => {
  let away = true;
  const receiver = await receiving(() => (away ? { status: 503 } : undefined));
  start(receiver.endpoint);
  await dispatch({ toolName: "t" }, () => 1);
  await telemetry?.forceFlush({ timeoutMs: 2500 });
  away = false;
  expect(await telemetry?.shutdown({ timeoutMs: 1500 })).toEqual({ complete: true, lost: 0 });
});

test.each([
  ["http/json", '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"full"}}'],
  ["http/protobuf", Buffer.from([0x0a, 0x08, 0x08, 0x02, 0x12, 0x04, 0x66, 0x75, 0x6c, 0x6c]).toString("latin1")],
] as const)("what a partial success over %s refuses is counted as lost", async (protocol, body) => {
  const receiver = await receiving(() => ({ status: 200, body }));
  start(receiver.endpoint, { protocol });
  const before = lost("spans rejected");
  for (let i = 0; i < 3; i += 1) await dispatch({ toolName: "t" }, () => 1);
  expect(await telemetry?.shutdown()).toEqual({ complete: false, lost: 2 });
  expect(lost("spans rejected") - before).toBe(2);
});

test.each([
  "",
  "{",
  "[]",
  "\n\u0000",
  "\u000a\u00ff",
  '{"partialSuccess":{"rejectedSpans":"-3"}}',
  '{"partialSuccess":{}}',
])("an answer such as %j refuses nothing", async (body) => {
  const receiver = await receiving(() => ({ status: 200, body }));
  start(receiver.endpoint);
  await dispatch({ toolName: "t" }, () => 1);
  expect(await telemetry?.shutdown()).toEqual({ complete: true, lost: 0 });
});

test("against a collector that never answers a shutdown ends within its deadline and returns how many were lost", async () => {
  const receiver = await receiving(() => "hang");
  start(receiver.endpoint);
  const tracer = trace.getTracer("host");
  for (let i = 0; i < 5000; i += 1) tracer.startSpan("s").end();
  const before = performance.now();
  expect(await telemetry?.shutdown({ timeoutMs: 500 })).toEqual({ complete: false, lost: 5000 });
  expect(performance.now() - before).toBeLessThan(1000);
});

test("what comes beyond the bounds is counted, with a collector that is away", async () => {
  const port = await listening(createServer((_, response) => response.writeHead(503).end()));
  start(`http://127.0.0.1:${port}`, {}, { OTEL_BSP_MAX_QUEUE_SIZE: "1000" });
  const before = lost("spans queue_full");
  const tracer = trace.getTracer("host");
  for (let i = 0; i < 3000; i += 1) tracer.startSpan("s").end();
  expect(lost("spans queue_full") - before).toBe(2000);
  expect(await telemetry?.shutdown({ timeoutMs: 300 })).toEqual({ complete: false, lost: 3000 });
  expect(said.map(({ kind }) => kind).toSorted()).toEqual(["lost", "queue_full", "rejected"]);
});
