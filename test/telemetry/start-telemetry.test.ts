// startTelemetry against a real collector on the loopback interface: what arrives, what is lost, and when it ends.
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { context, metrics, propagation, trace } from "@opentelemetry/api";
import { createDispatcher, type Diagnostic, diagnostics } from "@toolspan/core";
import { withAuditLog } from "@toolspan/receipts";
import { telemetryLost, withTelemetry } from "@toolspan/telemetry";
import { type StartTelemetryOptions, startTelemetry, type Telemetry } from "@toolspan/telemetry/node";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { clearGlobals } from "../support/otel-sdk.ts";
import { type Answer, attributesOf, type OtlpReceiver, spansOf, startOtlpReceiver } from "../support/otlp-receiver.ts";
import { buildPackages, runChild, runFile } from "./child.ts";

let receiver: OtlpReceiver;
let telemetry: Telemetry | undefined;
let folder: string;
let said: Diagnostic[];
let unlisten: () => void;
beforeAll(buildPackages, 120_000);
beforeEach(async () => {
  receiver = await startOtlpReceiver();
  folder = mkdtempSync(join(tmpdir(), "toolspan-start-"));
  said = [];
  unlisten = diagnostics.listen((diagnostic) => said.push(diagnostic));
  diagnostics.reset();
});
afterEach(async () => {
  await telemetry?.shutdown({ timeoutMs: 100 });
  telemetry = undefined;
  await receiver.close();
  unlisten();
  clearGlobals();
  rmSync(folder, { recursive: true });
});

function start(options: Partial<StartTelemetryOptions> = {}): Telemetry {
  telemetry = startTelemetry({
    serviceName: "clerk",
    otlp: { endpoint: receiver.endpoint },
    environment: {},
    signals: false,
    ...options,
  });
  return telemetry;
}

/** Replaces the collector by one that answers as told. */
async function answering(answer: Answer): Promise<void> {
  await receiver.close();
  receiver = await startOtlpReceiver(answer);
}

const dispatch = createDispatcher([withTelemetry({ sink: "otel", env: {} })]);
const oneCall = () => dispatch({ toolName: "t", toolArgs: 1 }, () => 1);
const kinds = (): readonly string[] => said.map(({ source, kind }) => `${source} ${kind}`);
const lost = (key: string): number => telemetryLost().get(key) ?? 0;
const resourceOf = (body: string): Readonly<Record<string, unknown>> => {
  const { resourceSpans } = JSON.parse(body) as { resourceSpans: [{ resource: Parameters<typeof attributesOf>[0] }] };
  return attributesOf(resourceSpans[0].resource);
};

test("spans, the host's own among them, and metrics arrive at the collector", async () => {
  const { shutdown } = start({ serviceVersion: "1.2.3", deploymentEnvironment: "test" });
  await trace.getTracer("host").startActiveSpan("request", async (request) => {
    await oneCall();
    request.end();
  });
  expect(await shutdown.call(telemetry)).toEqual({ complete: true, lost: 0 });
  expect(receiver.spans().map(({ name }) => name)).toEqual(["tool_call.dispatch", "execute_tool t", "request"]);
  const traces = receiver.requests.find(({ path }) => path === "/v1/traces");
  expect(resourceOf(traces?.body.toString() ?? "")).toMatchObject({
    "service.name": "clerk",
    "service.version": "1.2.3",
    "service.instance.id": expect.stringMatching(/^[0-9a-f-]{36}$/),
    "deployment.environment.name": "test",
    "telemetry.sdk.language": "nodejs",
  });
  const sent = receiver.requests.find(({ path }) => path === "/v1/metrics")?.body.toString() ?? "";
  for (const name of ["gen_ai.execute_tool.duration", "toolspan.tool_calls", "toolspan.tool_calls.active"]) {
    expect(sent).toContain(`"name":"${name}"`);
  }
});

test("metrics are written as OpenTelemetry's own serializer writes them", async () => {
  const { JsonMetricsSerializer } = (await import("@opentelemetry/otlp-transformer")) as unknown as {
    JsonMetricsSerializer: { serializeRequest(metrics: unknown): Uint8Array };
  };
  const {
    AggregationTemporality,
    AggregationType,
    InMemoryMetricExporter,
    MeterProvider,
    PeriodicExportingMetricReader,
  } = await import("@opentelemetry/sdk-metrics");
  start();
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 31 - 1 });
  const provider = new MeterProvider({
    readers: [reader],
    views: [{ instrumentName: "h.exp", aggregation: { type: AggregationType.EXPONENTIAL_HISTOGRAM } }],
  });
  const both = [
    metrics.getMeter("m", "1", { schemaUrl: "https://example.test/m" }),
    provider.getMeter("m", "1", { schemaUrl: "https://example.test/m" }),
  ];
  for (const meter of both) {
    meter.createCounter("c", { unit: "{x}", description: "d", valueType: 0 }).add(3, { a: 1 });
    meter.createUpDownCounter("u").add(-1.5);
    meter.createHistogram("h").record(7, { b: "x" });
    meter.createObservableGauge("g").addCallback((result) => result.observe(2.5));
  }
  await telemetry?.forceFlush();
  await reader.forceFlush();
  const [collected] = exporter.getMetrics();
  const stock = JSON.parse(new TextDecoder().decode(JsonMetricsSerializer.serializeRequest(collected)));
  const ours = JSON.parse(receiver.requests.find(({ path }) => path === "/v1/metrics")?.body.toString() ?? "");
  const bare = (request: { resourceMetrics: [{ scopeMetrics: readonly object[] }] }) =>
    mended(request.resourceMetrics[0].scopeMetrics);
  expect(bare(ours)).toEqual(bare(stock));
  await provider.shutdown();
});

/** Times left out, integers as strings. */
function mended(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(mended);
  if (typeof value === "number") return String(value);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !key.endsWith("UnixNano"))
      .map(([key, member]) => [key, mended(member)]),
  );
}

test("the variables of OpenTelemetry are honoured: addresses, headers, service name, resource, compression", async () => {
  start({
    otlp: {},
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `${receiver.endpoint}/base/`,
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${receiver.endpoint}/own`,
      OTEL_EXPORTER_OTLP_HEADERS: "x-token=a%20b,x-both=general",
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: "x-both=traces",
      OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
      OTEL_SERVICE_NAME: "from-env",
      OTEL_RESOURCE_ATTRIBUTES: "team=blue,service.name=loses",
    },
  });
  await oneCall();
  await telemetry?.shutdown();
  expect(receiver.requests.map(({ path }) => path).toSorted()).toEqual(["/base/v1/traces", "/own"]);
  const traces = receiver.requests.find(({ path }) => path === "/base/v1/traces");
  expect(traces?.headers).toMatchObject({
    "x-token": "a b",
    "x-both": "traces",
    "content-encoding": "gzip",
    "content-type": "application/json",
  });
  expect(resourceOf(traces?.body.toString() ?? "")).toMatchObject({ "service.name": "from-env", team: "blue" });
});

test("environment: {} ignores every variable of the process", async () => {
  const variables = {
    OTEL_TRACES_SAMPLER: "always_off",
    OTEL_SDK_DISABLED: "true",
    TOOLSPAN_DISABLED: "1",
    OTEL_SERVICE_NAME: "env",
  };
  Object.assign(process.env, variables);
  try {
    start();
    await oneCall();
    await telemetry?.shutdown();
  } finally {
    for (const name of Object.keys(variables)) delete process.env[name];
  }
  expect(receiver.spans()).toHaveLength(2);
  expect(resourceOf(receiver.requests[0]?.body.toString() ?? "")["service.name"]).toBe("clerk");
});

test.each([
  ["always_off", undefined, 0],
  ["parentbased_always_off", undefined, 0],
  ["traceidratio", "0", 0],
  ["traceidratio", "1", 2],
  ["always_on", undefined, 2],
  ["nonsense", undefined, 2],
])("OTEL_TRACES_SAMPLER=%s with %s records %i spans", async (sampler, argument, count) => {
  start({ environment: { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument } });
  await oneCall();
  await telemetry?.shutdown();
  expect(receiver.spans()).toHaveLength(count);
  expect(kinds()).toEqual(sampler === "nonsense" ? ["telemetry.sampler unknown"] : []);
});

test("a ratio samples the same traces as the SDK's own sampler", async () => {
  const { loadTraceSdk } = await import("../support/otel-sdk.ts");
  const stock = (await loadTraceSdk()).ratio(0.25);
  start({
    otlp: { endpoint: receiver.endpoint },
    environment: { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.25" },
  });
  for (let i = 0; i < 200; i += 1) {
    const span = trace.getTracer("t").startSpan("s", { root: true });
    const { traceId } = span.spanContext();
    const { decision } = stock.shouldSample(context.active(), traceId, "s", 0, {}, []);
    expect(span.isRecording()).toBe(decision === 2);
    span.end();
  }
});

test("with keepErrors a sampler at one in a hundred keeps every failure, and no receipt is ever sampled away", async () => {
  const environment = { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.01" };
  start({ keepErrors: true, sinks: ["otlp", "jsonl"], dir: folder, metrics: false, environment });
  const receipts: unknown[] = [];
  const audited = createDispatcher([
    withTelemetry({ sink: "otel", env: {} }),
    withAuditLog((receipt) => void receipts.push(receipt)),
  ]);
  for (let i = 0; i < 100; i += 1) {
    await audited({ toolName: `t_${i}` }, () => {
      if (i === 42) throw new RangeError("x");
      return i;
    });
  }
  await telemetry?.shutdown();
  const failed = (spans: ReturnType<OtlpReceiver["spans"]>) =>
    spans.filter(({ status }) => status.code === 2).map(({ name }) => name);
  expect(receipts).toHaveLength(100);
  expect(failed(receiver.spans())).toEqual(["tool_call.dispatch", "execute_tool t_42"]);
  expect(receiver.spans().length).toBeLessThan(60);
  const written = readFileSync(telemetry?.jsonlPath ?? "", "utf8")
    .trimEnd()
    .split("\n")
    .flatMap(spansOf);
  expect(failed(written)).toEqual(["tool_call.dispatch", "execute_tool t_42"]);
});

test.each(["OTEL_SDK_DISABLED", "TOOLSPAN_DISABLED"])(
  "%s registers nothing and the handle still answers",
  async (name) => {
    start({ environment: { [name]: "true" } });
    expect(telemetry?.disabled).toBe(true);
    await oneCall();
    expect(await telemetry?.forceFlush()).toEqual({ complete: true, lost: 0 });
    expect(await telemetry?.shutdown()).toEqual({ complete: true, lost: 0 });
    expect(receiver.requests).toEqual([]);
  },
);

test("http/protobuf is sent where the serializer is installed", async () => {
  start({ otlp: { endpoint: receiver.endpoint, protocol: "http/protobuf" } });
  await oneCall();
  await telemetry?.shutdown();
  expect(receiver.requests.map(({ path, headers }) => [path, headers["content-type"]]).toSorted()).toEqual([
    ["/v1/metrics", "application/x-protobuf"],
    ["/v1/traces", "application/x-protobuf"],
  ]);
  expect(receiver.requests.find(({ path }) => path === "/v1/traces")?.body.includes("execute_tool t")).toBe(true);
});

test("a collector that never answers costs a shutdown no more than its deadline, and the lost are counted", async () => {
  await answering(() => "hang");
  start({ otlp: { endpoint: receiver.endpoint }, shutdownTimeoutMs: 300 });
  await oneCall();
  const before = performance.now();
  const report = await telemetry?.shutdown();
  expect(performance.now() - before).toBeLessThan(1500);
  expect(report?.complete).toBe(false);
  expect(report?.lost).toBeGreaterThanOrEqual(2);
  expect(kinds()).toContain("telemetry.otlp deadline");
});

test("a flush has a deadline too, and says that it is not complete", async () => {
  await answering(() => "hang");
  start({ otlp: { endpoint: receiver.endpoint }, metrics: false });
  await oneCall();
  const before = performance.now();
  expect(await telemetry?.forceFlush({ timeoutMs: 100 })).toEqual({ complete: false, lost: 0 });
  expect(performance.now() - before).toBeLessThan(1000);
  await telemetry?.shutdown({ timeoutMs: 100 });
});

test("a refused request is counted and said once, and is no success", async () => {
  await answering(({ path }) => (path === "/v1/traces" ? { status: 400 } : undefined));
  start();
  const before = lost("spans rejected");
  for (let i = 0; i < 3; i += 1) {
    await oneCall();
    await telemetry?.forceFlush();
  }
  expect(lost("spans rejected") - before).toBe(6);
  expect(await telemetry?.shutdown()).toMatchObject({ lost: 6 });
  expect(kinds()).toEqual(["telemetry.otlp rejected", "telemetry.start lost"]);
  expect(said.at(-1)?.message).toBe("telemetry lost since its start: 6 spans rejected");
});

test("what a partial success refuses is counted", async () => {
  await answering(({ path }) =>
    path === "/v1/traces"
      ? { status: 200, body: '{"partialSuccess":{"rejectedSpans":"1","errorMessage":"x"}}' }
      : undefined,
  );
  start();
  const before = lost("spans rejected");
  await oneCall();
  await telemetry?.shutdown();
  expect(lost("spans rejected") - before).toBe(1);
});

test("a busy collector is asked again after the time it names", async () => {
  await answering(({ path }, count) =>
    path === "/v1/traces" && count === 1 ? { status: 503, headers: { "retry-after": "0" } } : undefined,
  );
  start({ metrics: false });
  await oneCall();
  expect(await telemetry?.shutdown()).toEqual({ complete: true, lost: 0 });
  expect(receiver.requests).toHaveLength(2);
});

test("no collector at all costs the spans, counted, and no call", async () => {
  const { endpoint } = receiver;
  await receiver.close();
  start({ otlp: { endpoint, timeoutMs: 200 }, metrics: false });
  expect((await oneCall()).result).toBe(1);
  const before = lost("spans unreachable");
  expect(await telemetry?.shutdown()).toEqual({ complete: false, lost: 2 });
  expect(lost("spans unreachable") - before).toBe(2);
  receiver = await startOtlpReceiver();
});

test("an 11 MB result beside twenty small ones: all arrive, the large one within its budget", async () => {
  await answering(({ body }) => (body.length > 4_000_000 ? { status: 413 } : undefined));
  start({ metrics: false });
  const captured = createDispatcher([withTelemetry({ sink: "otel", captureContent: true })]);
  for (let i = 0; i < 20; i += 1) await captured({ toolName: `small_${i}` }, () => i);
  await captured({ toolName: "large" }, () => "x".repeat(11_000_000));
  expect(await telemetry?.shutdown()).toEqual({ complete: true, lost: 0 });
  expect(receiver.spans().filter(({ name }) => name.startsWith("execute_tool small_"))).toHaveLength(20);
  const large = attributesOf(receiver.spans().find(({ name }) => name === "execute_tool large") ?? { attributes: [] });
  expect(large["toolspan.result_size"]).toBe("11000002");
  expect((large["gen_ai.tool.call.result"] as string).length).toBeLessThanOrEqual(65_536);
  expect(large["toolspan.result_hash"]).toMatch(/^sha256:/);
});

test("a host's own huge attribute goes in a request of its own: its neighbours arrive", async () => {
  await answering(({ body }) => (body.length > 4_000_000 ? { status: 413 } : undefined));
  start({ metrics: false });
  const tracer = trace.getTracer("host");
  for (let i = 0; i < 20; i += 1) tracer.startSpan(`small ${i}`).end();
  tracer.startSpan("large", { attributes: { text: "x".repeat(11_000_000) } }).end();
  tracer.startSpan("after").end();
  expect(await telemetry?.shutdown()).toMatchObject({ lost: 1 });
  expect(receiver.spans()).toHaveLength(21);
});

test("of a burst of 100,000 spans every one is exported or counted as lost", async () => {
  start({ metrics: false, environment: { OTEL_BSP_MAX_QUEUE_SIZE: "20000" } });
  const before = lost("spans queue_full");
  const tracer = trace.getTracer("host");
  for (let i = 0; i < 100_000; i += 1) tracer.startSpan("s").end();
  const report = await telemetry?.shutdown({ timeoutMs: 20_000 });
  const arrived = receiver.spans().length;
  expect(arrived).toBeGreaterThanOrEqual(20_000);
  expect(arrived + (lost("spans queue_full") - before)).toBe(100_000);
  expect(report?.lost).toBe(100_000 - arrived);
}, 60_000);

test('jsonl beside otlp: the file has the same spans, and withTelemetry("jsonl") does not write them twice', async () => {
  start({ sinks: ["otlp", "jsonl"], dir: folder, metrics: false });
  const both = createDispatcher([withTelemetry({ sinks: ["otel", "jsonl"], env: {} })]);
  await both({ toolName: "t" }, () => 1);
  await both.close();
  await telemetry?.shutdown();
  expect(readdirSync(folder)).toHaveLength(1);
  const written = readFileSync(telemetry?.jsonlPath ?? "", "utf8")
    .trimEnd()
    .split("\n")
    .flatMap(spansOf);
  expect(written.map(({ spanId }) => spanId)).toEqual(receiver.spans().map(({ spanId }) => spanId));
});

test("after the shutdown nothing stays registered, and a second start works", async () => {
  start();
  await telemetry?.shutdown();
  expect(trace.getTracer("x").startSpan("s").isRecording()).toBe(false);
  expect(propagation.fields()).toEqual([]);
  start();
  expect(telemetry?.registered).toBe(true);
  expect(propagation.fields()).toEqual(["traceparent", "tracestate", "baggage"]);
});

test("a host that has registered first keeps its provider; the handle is still of use, and it is said once", async () => {
  const first = start();
  const second = startTelemetry({
    serviceName: "late",
    otlp: { endpoint: receiver.endpoint },
    metrics: false,
    environment: {},
    signals: false,
  });
  expect([first.registered, second.registered]).toEqual([true, false]);
  expect(kinds()).toEqual(["telemetry.start already_registered"]);
  await createDispatcher([withTelemetry({ sink: "otel", tracerProvider: second.tracerProvider, env: {} })])(
    { toolName: "own" },
    () => 1,
  );
  await second.shutdown();
  expect(receiver.spans().map(({ name }) => name)).toContain("execute_tool own");
  expect(trace.getTracer("x").startSpan("s").isRecording()).toBe(true);
});

test("a span processor of the host's own can be a sink", async () => {
  const seen: string[] = [];
  const processor = {
    onStart() {},
    onEnd: ({ name }: { name: string }) => void seen.push(name),
    forceFlush: async () => {},
    shutdown: async () => void seen.push("shutdown"),
  };
  start({ sinks: [processor] });
  await oneCall();
  await telemetry?.shutdown();
  expect(seen).toEqual(["tool_call.dispatch", "execute_tool t", "shutdown"]);
});

test.each<[string, unknown]>([
  ["no options", undefined],
  ["no service name", {}],
  ["an unknown sink", { serviceName: "s", sinks: ["stdout"] }],
  ["an unknown option", { serviceName: "s", endpoint: "x" }],
  ["an endpoint that is no address", { serviceName: "s", otlp: { endpoint: "localhost:4318" } }],
  ["a protocol that is not spoken", { serviceName: "s", otlp: { protocol: "grpc" } }],
  ["a negative deadline", { serviceName: "s", shutdownTimeoutMs: -1 }],
])("%s is refused", (_, options) => {
  expect(() => startTelemetry(options as StartTelemetryOptions)).toThrow(
    expect.objectContaining({ code: "TOOLSPAN_INVALID_OPTION" }),
  );
});

describe("in a process of its own", () => {
  const child = (end: string, options: object, more: Parameters<typeof runChild>[1] = {}) =>
    runChild("started.mjs", {
      args: [end, JSON.stringify({ otlp: { endpoint: receiver.endpoint }, ...options })],
      ...more,
    });
  const facts = (stdout: string): readonly Record<string, unknown>[] =>
    stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  test("a program that just ends has its spans delivered, and is not held open", async () => {
    const { code, ms } = await child("return", {});
    expect([code, receiver.spans().length]).toEqual([0, 2]);
    expect(ms).toBeLessThan(10_000);
  });

  test("against a collector that never answers, a program still ends", async () => {
    await answering(() => "hang");
    const { code, stdout } = await child("return", { otlp: { endpoint: receiver.endpoint }, shutdownTimeoutMs: 200 });
    expect(code).toBe(0);
    expect(facts(stdout).at(-1)).toMatchObject({ lost: { "spans deadline": 2 } });
  });

  test.each(["SIGINT", "SIGTERM"] as const)(
    "%s flushes once and then ends the program as it would have",
    async (signal) => {
      const { signal: ended } = await child(
        "wait",
        {},
        {
          onLine: (line, kill) => {
            if (line.includes("ready")) kill(signal);
          },
        },
      );
      expect(ended).toBe(signal);
      expect(receiver.spans()).toHaveLength(2);
    },
  );

  test("process.exit loses what was not delivered, and counts it", async () => {
    const { code, stdout } = await child("exit", {});
    expect(code).toBe(0);
    expect(facts(stdout).map(({ said: kind }) => kind)).toContain("telemetry.otlp process_exit");
    expect(receiver.spans()).toHaveLength(0);
  });

  test("process.exit during a shutdown that nobody awaits has them counted too", async () => {
    const { stdout } = await child("shutdown-exit", {});
    const { lost } = facts(stdout).at(-1) as { lost: Record<string, number> };
    expect(receiver.spans().length + (lost["spans process_exit"] ?? 0)).toBe(2);
    expect(lost["spans process_exit"]).toBe(2);
  });

  test("with crashFlush an uncaught exception waits for the spans, prints itself and ends with 1", async () => {
    const { code, stderr } = await child("crash", { crashFlush: true });
    expect(code).toBe(1);
    expect(stderr).toContain("Error: crash");
    expect(receiver.spans()).toHaveLength(2);
  });

  test("importing changes nothing in the process", async () => {
    const { stdout } = await runChild("import-only.mjs");
    const [before, after] = JSON.parse(stdout) as [object, object];
    expect(after).toEqual(before);
    expect(after).toMatchObject({ globals: [] });
  });

  test.each([
    ["@opentelemetry/sdk-trace", ["sdk-trace", "sdk-trace-base"], {}],
    ["@opentelemetry/sdk-metrics", ["sdk-metrics"], {}],
    ["@opentelemetry/otlp-transformer", ["otlp-transformer"], { protocol: "http/protobuf" }],
  ])("where %s is not installed, starting says which package is missing", async (peer, missing, otlp) => {
    const file = programWithout(missing);
    const { stdout, stderr } = await runFile(file, { args: [JSON.stringify(otlp)] });
    expect(`${stdout}${stderr}`.trim()).toBe(`TOOLSPAN_MISSING_PEER ${peer}`);
  });

  /** A folder with copies of our packages and links to the OpenTelemetry ones, less some. */
  function programWithout(missing: readonly string[]): string {
    const require = createRequire(import.meta.url);
    const scope = join(folder, "node_modules/@opentelemetry");
    mkdirSync(scope, { recursive: true });
    mkdirSync(join(folder, "node_modules/@toolspan"), { recursive: true });
    for (const name of ["core", "canonical", "telemetry"]) {
      const from = dirname(require.resolve(`@toolspan/${name}/package.json`));
      for (const part of ["package.json", "dist"])
        cpSync(join(realpathSync(from), part), join(folder, "node_modules/@toolspan", name, part), { recursive: true });
    }
    const installed = installedScope(require.resolve("@opentelemetry/api"));
    for (const name of readdirSync(installed))
      if (!missing.includes(name)) symlinkSync(realpathSync(join(installed, name)), join(scope, name));
    const file = join(folder, "program.mjs");
    writeFileSync(
      file,
      `import { startTelemetry } from "@toolspan/telemetry/node";
try { startTelemetry({ serviceName: "s", otlp: JSON.parse(process.argv[2]), environment: {} }); process.stdout.write("started"); }
catch (error) { process.stdout.write(error.code + " " + error.details?.peer); }
process.exit(0);`,
    );
    return file;
  }

  function installedScope(resolved: string): string {
    let at = dirname(resolved);
    while (!(existsSync(join(at, "api")) && existsSync(join(at, "core")) && at.endsWith("@opentelemetry")))
      at = dirname(at);
    return at;
  }
});
