// The file of spans: what OpenTelemetry's file exporter would write, owned by one process, complete when it exits.
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type SpanContext, type TraceState, trace } from "@opentelemetry/api";
import { createDispatcher, type Diagnostic, diagnostics } from "@toolspan/core";
import { jsonlSink, type ReadableSpan, telemetryLost, withTelemetry } from "@toolspan/telemetry";
import fc from "fast-check";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { startOtelSdk } from "../support/otel-sdk.ts";
import { spansOf } from "../support/otlp-receiver.ts";
import { buildPackages, runChild } from "./child.ts";

let folder: string;
let said: Diagnostic[];
let unlisten: () => void;
beforeAll(buildPackages, 120_000);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "toolspan-jsonl-"));
  said = [];
  unlisten = diagnostics.listen((diagnostic) => said.push(diagnostic));
  diagnostics.reset();
});
afterEach(() => {
  unlisten();
  rmSync(folder, { recursive: true });
});

const linesOf = (dir: string): readonly string[] =>
  readdirSync(dir).flatMap((name) => readFileSync(join(dir, name), "utf8").trimEnd().split("\n"));
const lostSince = (before: ReadonlyMap<string, number>, key: string): number =>
  (telemetryLost().get(key) ?? 0) - (before.get(key) ?? 0);

/** A finished span with everything a span can have. */
const full: ReadableSpan = {
  name: 'name "quoted" \u2028',
  kind: 2,
  spanContext: (): SpanContext => ({
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: "00f067aa0ba902b7",
    traceFlags: 1,
    traceState: { serialize: () => "vendor=1" } as TraceState,
  }),
  parentSpanContext: {
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: "b7ad6b7169203331",
    traceFlags: 1,
    isRemote: true,
  },
  startTime: [1_700_000_000, 5],
  endTime: [1_700_000_001, 123_456_789],
  status: { code: 2, message: "why" },
  attributes: {
    text: "ü",
    big: 2 ** 53 - 1,
    int: -3,
    float: 1.5,
    nan: Number.NaN,
    infinite: Number.POSITIVE_INFINITY,
    flag: true,
    list: ["a", "b"],
    none: undefined,
  },
  events: [{ name: "e", time: [1_700_000_000, 7], attributes: { n: 1 }, droppedAttributesCount: 2 }],
  links: [
    {
      context: { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", traceFlags: 1 },
      attributes: { l: 1 },
    },
  ],
  resource: { attributes: { "service.name": "s" }, schemaUrl: "https://example.test/resource" },
  instrumentationScope: { name: "scope", version: "1", schemaUrl: "https://example.test/scope" },
  droppedAttributesCount: 1,
  droppedEventsCount: 2,
  droppedLinksCount: 3,
};

test("a line is an ExportTraceServiceRequest: hex ids, 64-bit integers as strings, enums as integers, schema addresses", async () => {
  const sink = jsonlSink({ dir: folder });
  sink.onEnd(full);
  await sink.shutdown();
  const text = readFileSync(sink.path ?? "", "utf8");
  expect(text.endsWith("}\n")).toBe(true);
  expect(JSON.parse(text)).toMatchInlineSnapshot(`
    {
      "resourceSpans": [
        {
          "resource": {
            "attributes": [
              {
                "key": "service.name",
                "value": {
                  "stringValue": "s",
                },
              },
            ],
          },
          "schemaUrl": "https://example.test/resource",
          "scopeSpans": [
            {
              "schemaUrl": "https://example.test/scope",
              "scope": {
                "name": "scope",
                "version": "1",
              },
              "spans": [
                {
                  "attributes": [
                    {
                      "key": "text",
                      "value": {
                        "stringValue": "ü",
                      },
                    },
                    {
                      "key": "big",
                      "value": {
                        "intValue": "9007199254740991",
                      },
                    },
                    {
                      "key": "int",
                      "value": {
                        "intValue": "-3",
                      },
                    },
                    {
                      "key": "float",
                      "value": {
                        "doubleValue": 1.5,
                      },
                    },
                    {
                      "key": "nan",
                      "value": {
                        "doubleValue": "NaN",
                      },
                    },
                    {
                      "key": "infinite",
                      "value": {
                        "doubleValue": "Infinity",
                      },
                    },
                    {
                      "key": "flag",
                      "value": {
                        "boolValue": true,
                      },
                    },
                    {
                      "key": "list",
                      "value": {
                        "arrayValue": {
                          "values": [
                            {
                              "stringValue": "a",
                            },
                            {
                              "stringValue": "b",
                            },
                          ],
                        },
                      },
                    },
                  ],
                  "droppedAttributesCount": 1,
                  "droppedEventsCount": 2,
                  "droppedLinksCount": 3,
                  "endTimeUnixNano": "1700000001123456789",
                  "events": [
                    {
                      "attributes": [
                        {
                          "key": "n",
                          "value": {
                            "intValue": "1",
                          },
                        },
                      ],
                      "droppedAttributesCount": 2,
                      "name": "e",
                      "timeUnixNano": "1700000000000000007",
                    },
                  ],
                  "flags": 769,
                  "kind": 3,
                  "links": [
                    {
                      "attributes": [
                        {
                          "key": "l",
                          "value": {
                            "intValue": "1",
                          },
                        },
                      ],
                      "flags": 257,
                      "spanId": "b7ad6b7169203331",
                      "traceId": "0af7651916cd43dd8448eb211c80319c",
                    },
                  ],
                  "name": "name "quoted"  ",
                  "parentSpanId": "b7ad6b7169203331",
                  "spanId": "00f067aa0ba902b7",
                  "startTimeUnixNano": "1700000000000000005",
                  "status": {
                    "code": 2,
                    "message": "why",
                  },
                  "traceId": "0af7651916cd43dd8448eb211c80319c",
                  "traceState": "vendor=1",
                },
              ],
            },
          ],
        },
      ],
    }
  `);
});

test("ended SDK spans are written as OpenTelemetry's own serializer writes them, mended", async () => {
  const { JsonTraceSerializer } = (await import("@opentelemetry/otlp-transformer")) as unknown as {
    JsonTraceSerializer: { serializeRequest(spans: readonly unknown[]): Uint8Array };
  };
  const sdk = await startOtelSdk();
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(
        fc.string({ minLength: 1 }),
        fc.oneof(
          fc.string(),
          fc.boolean(),
          fc.maxSafeInteger(),
          fc
            .double({ noNaN: true, noDefaultInfinity: true })
            .filter((n) => !Number.isInteger(n) || Number.isSafeInteger(n)),
          fc.array(fc.string()),
        ),
      ),
      fc.string(),
      async (attributes, name) => {
        sdk.reset();
        const parent = trace.getTracerProvider().getTracer("a", "1", { schemaUrl: "https://example.test/a" });
        parent.startActiveSpan(name, { attributes }, (span) => {
          span.addEvent("event", { n: 1 });
          span.setStatus({ code: 2, message: "m" });
          trace
            .getTracer("b")
            .startSpan("inner", { links: [{ context: span.spanContext() }] })
            .end();
          span.end();
        });
        const sink = jsonlSink({ dir: folder });
        for (const span of sdk.spans()) sink.onEnd(span as unknown as ReadableSpan);
        await sink.shutdown();
        const stock = new TextDecoder().decode(JsonTraceSerializer.serializeRequest(sdk.spans()));
        expect(mended(JSON.parse(readFileSync(sink.path ?? "", "utf8")))).toEqual(mended(JSON.parse(stock)));
      },
    ),
    { numRuns: 60 },
  );
  await sdk.shutdown();
});

/** Both sides in one form: integers as strings, defaults left out, spans by id. */
function mended(value: unknown): unknown {
  if (Array.isArray(value))
    return value.map(mended).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value)
    .filter(([key, member]) => !(key.startsWith("dropped") && member === 0) && !(key === "code" && member === 0))
    .filter(([, member]) => !(Array.isArray(member) && member.length === 0))
    .map(([key, member]) => [key, key === "intValue" ? String(member) : mended(member)]);
  return Object.fromEntries(entries);
}

test("file and folder belong to their user alone, and each sink has a file of its own", async () => {
  const dir = join(folder, "deep", "spans");
  const [one, two] = [jsonlSink({ dir }), jsonlSink({ dir })];
  one.onEnd(full);
  two.onEnd(full);
  await Promise.all([one.shutdown(), two.shutdown()]);
  expect(readdirSync(dir)).toHaveLength(2);
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(dir)) {
    expect(name).toMatch(/\.jsonl$/);
    expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
  }
});

test("the folder is <state root>/spans: TOOLSPAN_STATE_DIR, else .toolspan beside the nearest package.json", async () => {
  const state = join(folder, "state");
  const sink = jsonlSink({ env: { TOOLSPAN_STATE_DIR: state } });
  sink.onEnd(full);
  await sink.shutdown();
  expect(sink.path?.startsWith(join(state, "spans"))).toBe(true);

  const project = join(folder, "project");
  mkdirSync(join(project, "src"), { recursive: true });
  writeFileSync(join(project, "package.json"), "{}");
  const cwd = process.cwd;
  process.cwd = () => join(project, "src");
  const found = jsonlSink({ env: {} });
  found.onEnd(full);
  await found.shutdown();
  process.cwd = cwd;
  expect(found.path?.startsWith(join(project, ".toolspan", "spans"))).toBe(true);
});

test("no file is made before a span has ended, none for what is not sampled", async () => {
  const sink = jsonlSink({ dir: join(folder, "none") });
  const unsampled = { ...full.spanContext(), traceFlags: 0 };
  sink.onEnd({ ...full, spanContext: () => unsampled });
  await sink.shutdown();
  expect([sink.path, existsSync(join(folder, "none"))]).toEqual([null, false]);
});

test("an existing file or link is never written into; what is lost is counted and said once", async () => {
  const before = telemetryLost();
  writeFileSync(join(folder, "taken.jsonl"), "mine");
  symlinkSync(join(folder, "elsewhere"), join(folder, "link.jsonl"));
  for (const fileName of ["taken.jsonl", "link.jsonl"]) {
    const sink = jsonlSink({ dir: folder, fileName });
    sink.onEnd(full);
    sink.onEnd(full);
    await sink.forceFlush();
    await sink.shutdown();
    expect(sink.written).toBe(0);
  }
  expect(readFileSync(join(folder, "taken.jsonl"), "utf8")).toBe("mine");
  expect(existsSync(join(folder, "elsewhere"))).toBe(false);
  expect(lostSince(before, "spans write_failed")).toBe(4);
  expect(said.map(({ source, kind }) => `${source} ${kind}`)).toEqual(["telemetry.jsonl write_failed"]);
});

test("a span that ends after the shutdown is counted, not dropped in silence", async () => {
  const before = telemetryLost();
  const sink = jsonlSink({ dir: folder });
  await sink.shutdown();
  sink.onEnd(full);
  expect(lostSince(before, "spans closed")).toBe(1);
});

test("a burst without a pause is written as it comes: nothing lost, nothing queued, lines well under 1 MiB", async () => {
  const sink = jsonlSink({ dir: folder });
  const large = { ...full, attributes: { text: "x".repeat(3_000_000) } };
  for (let i = 0; i < 20_000; i += 1) sink.onEnd(full);
  expect(sink.written).toBeGreaterThan(19_000);
  sink.onEnd(large);
  sink.onEnd(full);
  await sink.shutdown();
  expect(sink.written).toBe(20_002);
  const lines = linesOf(folder);
  expect(lines.flatMap(spansOf)).toHaveLength(20_002);
  expect(lines.filter((line) => line.length > 200_000).map((line) => spansOf(line).length)).toEqual([1]);
});

test("spans of two resources never share a request", async () => {
  const sink = jsonlSink({ dir: folder });
  for (const name of ["a", "b", "b"]) sink.onEnd({ ...full, resource: name === "a" ? full.resource : other });
  await sink.shutdown();
  expect(linesOf(folder).map((line) => spansOf(line).length)).toEqual([1, 2]);
});
const other = { attributes: { "service.name": "other" } };

test("a live span with back references is projected to plain data before it is written", async () => {
  const sink = jsonlSink({ dir: folder });
  const looped = { ...full, processor: {} as Record<string, unknown> };
  looped.processor.span = looped;
  sink.onEnd(looped);
  await sink.shutdown();
  expect(sink.written).toBe(1);
});

test("null, mixed lists and NaN in attributes of a layer's event never reach a line as such", async () => {
  const dispatch = createDispatcher([
    withTelemetry({ sink: "jsonl", dir: folder, env: {} }),
    (call, next, scope) => {
      scope.event("odd", { a: null, b: [1, "x"], c: Number.NaN, d: "kept" } as never);
      scope.report({ attributes: { a: null, c: Number.NaN, d: 1 } as never });
      return next(call);
    },
  ]);
  await dispatch({ toolName: "t" }, () => 1);
  await dispatch.close();
  const layer = linesOf(folder)
    .flatMap(spansOf)
    .find(({ name }) => name === "tool_call.layer_0");
  expect(layer?.events).toEqual([
    expect.objectContaining({ name: "odd", attributes: [{ key: "d", value: { stringValue: "kept" } }] }),
  ]);
  expect(layer?.attributes.filter(({ key }) => /\.[acd]$/.test(key))).toEqual([
    { key: "toolspan.layer.d", value: { intValue: "1" } },
  ]);
});

test.each(["exit", "throw", "return"])("a program that ends by %s leaves its spans on disk", async (end) => {
  const { stderr } = await runChild("jsonl-end.mjs", { args: [folder, end] });
  if (end !== "throw") expect(stderr).toBe("");
  expect(
    linesOf(folder)
      .flatMap(spansOf)
      .map(({ name }) => name),
  ).toEqual(["tool_call.dispatch", "execute_tool t"]);
});

test("a file that can no longer be written costs the spans, counted, and fails no call", async () => {
  const before = telemetryLost();
  const sink = jsonlSink({ dir: folder });
  const dispatch = createDispatcher([withTelemetry({ sink, env: {} })]);
  await dispatch({ toolName: "t" }, () => 1);
  sink.flushSync();
  const open = readdirSync("/proc/self/fd").filter((fd) => linkOf(fd) === sink.path);
  for (const fd of open) closeSync(Number(fd));
  expect((await dispatch({ toolName: "t" }, () => 2)).result).toBe(2);
  await dispatch.close();
  expect(open).toHaveLength(1);
  expect(lostSince(before, "spans write_failed")).toBe(2);
  expect(linesOf(folder).flatMap(spansOf)).toHaveLength(2);
  expect(said.map(({ kind, message }) => [kind, message.includes("EBADF")])).toContainEqual(["write_failed", true]);
});

function linkOf(fd: string): string | undefined {
  try {
    return readlinkSync(join("/proc/self/fd", fd));
  } catch {
    return undefined; // closed meanwhile
  }
}

test("a hundred thousand dispatches leave the heap as it was", async () => {
  // Newer engines let garbage pile up to some 200 MB before they look at it; here it is what is kept that counts.
  const nodeArgs = ["--expose-gc", "--max-semi-space-size=16"];
  const { stdout, code } = await runChild("memory.mjs", { args: [folder, "100000"], nodeArgs });
  expect(code).toBe(0);
  const { early, late, rss } = JSON.parse(stdout) as { early: number; late: number; rss: number };
  expect(late - early).toBeLessThan(2_000_000);
  expect(rss).toBeLessThan(200_000_000);
  const spans = linesOf(folder).reduce((sum, line) => sum + spansOf(line).length, 0);
  expect(spans).toBe(300_000);
}, 180_000);
