// Langfuse, as a real HTTP server on the loopback interface sees it: what is sent, under which ids, and what is not.
import {
  cpSync,
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
import { context, type TracerProvider, trace } from "@opentelemetry/api";
import { createDispatcher, type Diagnostic, defineLayer, diagnostics } from "@toolspan/core";
import { telemetryLost, withTelemetry } from "@toolspan/telemetry";
import { type LangfuseOptions, langfuseSink } from "@toolspan/telemetry/langfuse";
import { startTelemetry } from "@toolspan/telemetry/node";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { clearGlobals, type OtelSdk, startOtelSdk } from "../support/otel-sdk.ts";
import {
  type Answer,
  attributesOf,
  type OtlpReceiver,
  spansOf,
  startOtlpReceiver,
  type WireSpan,
} from "../support/otlp-receiver.ts";
import { buildPackages, runFile } from "./child.ts";

const PATH = "/api/public/otel/v1/traces";
const KEYS = { publicKey: "pk-lf-1", secretKey: "sk-lf-1" };
const require = createRequire(import.meta.url);
const installed = isInstalled("@langfuse/otel");

function isInstalled(name: string): boolean {
  try {
    require.resolve(name);
    return true;
  } catch {
    return false;
  }
}

let receiver: OtlpReceiver;
let sdk: OtelSdk | undefined;
let said: Diagnostic[];
let unlisten: () => void;
beforeEach(async () => {
  receiver = await startOtlpReceiver();
  said = [];
  unlisten = diagnostics.listen((diagnostic) => said.push(diagnostic));
  diagnostics.reset();
});
afterEach(async () => {
  await sdk?.shutdown();
  sdk = undefined;
  clearGlobals();
  unlisten();
  await receiver.close();
});

async function answering(answer: Answer): Promise<void> {
  await receiver.close();
  receiver = await startOtlpReceiver(answer);
}

const options = (more: LangfuseOptions = {}): LangfuseOptions => ({
  baseUrl: receiver.endpoint,
  ...KEYS,
  env: {},
  ...more,
});
const sent = (): readonly WireSpan[] => receiver.requests.flatMap(({ body }) => spansOf(body.toString()));
const named = (name: string): Readonly<Record<string, unknown>> =>
  attributesOf(sent().find((span) => span.name === name) ?? { attributes: [] });
const lost = (key: string): number => telemetryLost().get(key) ?? 0;
const kinds = (): readonly string[] => said.map(({ source, kind }) => `${source} ${kind}`);

const pass = defineLayer({ name: "with_pass", call: (call, next) => next(call) });
const deny = defineLayer({
  name: "with_consent",
  call: (call, _, scope) => {
    scope.report({ status: "denied" });
    return {
      ok: false,
      status: "consent_denied",
      toolName: call.toolName,
      error: "not today",
      errorCategory: "consent_denied",
      result: null,
    } as never;
  },
});
const call = {
  toolName: "search",
  toolArgs: { city: "Rome" },
  callId: "call_1",
  turn: { iteration: 2, sessionId: "session-7", agentName: "clerk" },
};

describe.skipIf(!installed)("langfuse (needs @langfuse/otel, which is of OpenTelemetry 2.x alone)", () => {
  beforeAll(buildPackages, 120_000);

  test("a call is sent as Langfuse wants it: address, keys, types, names, input, output, session, tags, metadata", async () => {
    sdk = await startOtelSdk({ resource: { "service.name": "clerk" } });
    const dispatch = createDispatcher([
      withTelemetry({
        sink: "langfuse",
        ...options(),
        project: "airline",
        environment: "staging",
        release: "1.4.0",
        tags: ["nightly"],
        persona: "merge_captain",
        mode: "apply",
        captureContent: true,
      }),
      pass,
    ]);
    await dispatch.run({ agentName: "clerk", model: "m-1", sessionId: "session-7" }, async () => {
      await dispatch.model(
        {
          model: "m-1",
          provider: "acme",
          iteration: 2,
          sessionId: "session-7",
          inputMessages: [{ role: "user", content: "hi" }],
        } as never,
        async (report) => {
          report({
            responseModel: "m-1-x",
            inputTokens: 7,
            outputTokens: 3,
            outputMessages: [{ role: "assistant", content: "yo" }],
          } as never);
        },
      );
      await dispatch(call, () => ({ found: ["Rome", 1] }));
      await dispatch({ ...call, toolName: "broken" }, () => {
        throw new RangeError("too far");
      });
    });
    await dispatch.close();
    const [request] = receiver.requests;
    expect(receiver.requests).toHaveLength(1);
    expect([request?.path, request?.headers.authorization]).toEqual([
      PATH,
      `Basic ${Buffer.from("pk-lf-1:sk-lf-1").toString("base64")}`,
    ]);
    await expect(`${JSON.stringify(normalised(request?.body.toString() ?? ""), null, 2)}\n`).toMatchFileSnapshot(
      "golden/langfuse-request.json",
    );
  });

  test("the request is what the package's own exporter would send, header by header and span by span", async () => {
    const { LangfuseSpanProcessor } = await import("@langfuse/otel");
    sdk = await startOtelSdk();
    const ended: unknown[] = [];
    const stock = new LangfuseSpanProcessor({
      baseUrl: receiver.endpoint,
      ...KEYS,
      environment: "e",
      release: "r",
      mediaUploadEnabled: false,
    });
    const ours = langfuseSink(options({ environment: "e", release: "r" }));
    const provider = sdk.createProvider({
      spanProcessors: [
        {
          onStart: (span, parent) => stock.onStart(span as never, parent),
          onEnd: (span) => void ended.push(span),
          forceFlush: async () => {},
          shutdown: async () => {},
        },
      ],
    });
    const tracer = provider.getTracer("openinference.agents", "3");
    const parent = tracer.startSpan("outer", {
      attributes: { "gen_ai.operation.name": "chat", n: 3, on: true, list: ["a", "b"], half: 0.5 },
    });
    parent.addEvent("seen", { k: "v" });
    tracer
      .startSpan(
        "inner",
        { kind: 2, links: [{ context: parent.spanContext() }] },
        trace.setSpan(context.active(), parent),
      )
      .end();
    parent.setStatus({ code: 2, message: "m" }).end();
    for (const span of ended) {
      ours.onEnd(span as never);
      stock.onEnd(span as never);
    }
    await ours.forceFlush();
    await stock.forceFlush();
    const [mine, theirs] = receiver.requests;
    const telling = ({ headers }: (typeof receiver.requests)[number]) =>
      Object.fromEntries(
        Object.entries(headers).filter(
          ([name]) => name.startsWith("x-langfuse") || ["authorization", "content-type"].includes(name),
        ),
      );
    expect(mine?.path).toBe(theirs?.path);
    expect(telling(mine as never)).toEqual(telling(theirs as never));
    expect(comparable(mine?.body.toString() ?? "")).toEqual(comparable(theirs?.body.toString() ?? ""));
    await stock.shutdown();
    await provider.shutdown();
  });

  test("every name of Langfuse's that is sent is one that the package knows", async () => {
    const { LangfuseOtelSpanAttributes: known } = await import("@langfuse/core");
    const names = new Set<string>(Object.values(known));
    const golden = readFileSync(join(import.meta.dirname, "golden/langfuse-request.json"), "utf8");
    const keys = [...golden.matchAll(/"key": "((?:langfuse|session)\.[^"]+)"/g)].map(([, key]) => key as string);
    const free = [`${known.OBSERVATION_METADATA}.`, `${known.TRACE_METADATA}.`];
    expect(new Set(keys).size).toBeGreaterThan(12);
    expect(keys.filter((key) => !names.has(key) && !free.some((prefix) => key.startsWith(prefix)))).toEqual([]);
  });

  test("trace and span ids equal the host's, layers lie under their call, and the host's own SDK is left as it is", async () => {
    sdk = await startOtelSdk();
    const provider: TracerProvider = trace.getTracerProvider();
    const dispatch = createDispatcher([withTelemetry({ sink: "langfuse", ...options(), environment: "e" }), pass]);
    await trace.getTracer("host").startActiveSpan("request", async (request) => {
      await dispatch(call, () => 1);
      request.end();
    });
    await dispatch.close();
    const facts = (span: ReturnType<OtelSdk["spans"]>[number]) => [
      span.name,
      span.spanContext().traceId,
      span.spanContext().spanId,
      span.parentSpanContext?.spanId,
    ];
    const host = sdk.spans().filter(({ name }) => name !== "request");
    expect(sent().map((span) => [span.name, span.traceId, span.spanId, span.parentSpanId])).toEqual(host.map(facts));
    expect(
      host.flatMap(({ attributes }) => Object.keys(attributes)).filter((key) => key.startsWith("langfuse")),
    ).toEqual([]);
    expect(trace.getTracerProvider()).toBe(provider);
    expect(named("execute_tool search")["langfuse.internal.is_app_root"]).toBe(true);
    expect(named("tool_call.with_pass")).toMatchObject({
      "langfuse.observation.type": "span",
      "session.id": "session-7",
    });
    expect(named("tool_call.with_pass")).not.toHaveProperty(["langfuse.internal.is_app_root"]);
  });

  test("without opt-in neither input nor output nor an error's words are sent; the kind of failure is", async () => {
    const dispatch = createDispatcher([withTelemetry({ sink: "langfuse", ...options() }), pass]);
    await dispatch(call, () => {
      throw new RangeError("secret words");
    });
    await dispatch.close();
    const root = named("execute_tool search");
    expect(root).toMatchObject({
      "langfuse.observation.type": "tool",
      "langfuse.observation.level": "ERROR",
      "langfuse.observation.status_message": "RangeError",
    });
    expect(Object.keys(root).filter((key) => /input|output/.test(key))).toEqual([]);
    expect(receiver.requests[0]?.body.toString()).not.toMatch(/secret words|Rome/);
  });

  test("a denial has its level, its status and the denying layer under it", async () => {
    const dispatch = createDispatcher([withTelemetry({ sink: "langfuse", ...options() }), deny]);
    await dispatch(call, () => 1);
    await dispatch.close();
    expect(sent().map(({ name }) => name)).toEqual(["tool_call.with_consent", "execute_tool search"]);
    expect(named("execute_tool search")).toMatchObject({
      "langfuse.observation.level": "ERROR",
      "langfuse.observation.metadata.status": "consent_denied",
    });
    expect(named("tool_call.with_consent")).toMatchObject({ "langfuse.observation.metadata.layer_status": "denied" });
  });

  test("calls travel in batches, never one request each", async () => {
    const dispatch = createDispatcher([withTelemetry({ sinks: [langfuseSink(options())] })]);
    for (let i = 0; i < 200; i += 1) await dispatch(call, () => i);
    await dispatch.close();
    expect(sent()).toHaveLength(400);
    expect(receiver.requests.length).toBeLessThanOrEqual(3);
  });

  test("a data address in a result is sent as it is: nothing is uploaded", async () => {
    const image = `data:image/png;base64,${Buffer.from("x".repeat(300)).toString("base64")}`;
    const dispatch = createDispatcher([withTelemetry({ sink: "langfuse", ...options(), captureContent: true })]);
    await dispatch(call, () => ({ image }));
    await dispatch.close();
    expect(receiver.requests.map(({ path }) => path)).toEqual([PATH]);
    expect(named("execute_tool search")["langfuse.observation.output"]).toBe(JSON.stringify({ image }));
  });

  test.each<[string, LangfuseOptions, RegExp]>([
    ["no address", { ...KEYS }, /baseUrl \(LANGFUSE_BASE_URL\) is missing/],
    ["no keys", { baseUrl: "http://127.0.0.1:1" }, /publicKey .* secretKey .* are missing/],
    ["an address that is none", { ...KEYS, baseUrl: "cloud.example" }, /no http or https address/],
  ])("with %s nothing is sent anywhere; it is said once, told once, and counted", async (_, given, words) => {
    const told: [string, string][] = [];
    const before = lost("spans not_configured");
    const dispatch = createDispatcher([
      withTelemetry({
        sink: "langfuse",
        env: {},
        ...given,
        onError: (message, span) => void told.push([message, span.name]),
      }),
    ]);
    for (let i = 0; i < 3; i += 1) expect((await dispatch(call, () => i)).result).toBe(i);
    await dispatch.close();
    expect(kinds()).toEqual(["telemetry.langfuse not_configured"]);
    expect(said[0]?.message).toMatch(words);
    expect(told).toEqual([[expect.stringMatching(words), "tool_call.search"]]);
    expect(lost("spans not_configured") - before).toBe(6);
  });

  test("address and keys come from LANGFUSE_*, the options win", async () => {
    const env = {
      LANGFUSE_BASE_URL: `${receiver.endpoint}/`,
      LANGFUSE_PUBLIC_KEY: "pk-env",
      LANGFUSE_SECRET_KEY: "sk-env",
      LANGFUSE_TRACING_ENVIRONMENT: "env",
      LANGFUSE_RELEASE: "r-env",
    };
    const dispatch = createDispatcher([withTelemetry({ sink: "langfuse", env, release: "r-own" })]);
    await dispatch(call, () => 1);
    await dispatch.close();
    expect(receiver.requests[0]?.path).toBe(PATH);
    expect(receiver.requests[0]?.headers["x-langfuse-public-key"]).toBe("pk-env");
    expect(named("execute_tool search")).toMatchObject({ "langfuse.environment": "env", "langfuse.release": "r-own" });
  });

  test("a Langfuse that never answers costs no call and a close no more than its deadline; the lost are counted and told", async () => {
    await answering(() => "hang");
    const told: string[] = [];
    const before = lost("spans deadline");
    const dispatch = createDispatcher([
      withTelemetry({
        sink: "langfuse",
        ...options(),
        flushTimeoutMs: 200,
        onError: (message) => void told.push(message),
      }),
    ]);
    expect((await dispatch(call, () => 1)).result).toBe(1);
    const started = performance.now();
    await dispatch.close();
    expect(performance.now() - started).toBeLessThan(2000);
    expect(lost("spans deadline") - before).toBe(2);
    expect(told).toEqual([expect.stringContaining("Langfuse did not take everything")]);
  });

  test("a Langfuse that refuses costs the batch, counted, and is told", async () => {
    await answering(() => ({ status: 401 }));
    const told: string[] = [];
    const before = lost("spans rejected");
    const dispatch = createDispatcher([
      withTelemetry({ sink: "langfuse", ...options(), onError: (message) => void told.push(message) }),
    ]);
    await dispatch(call, () => 1);
    await dispatch.close();
    expect(lost("spans rejected") - before).toBe(2);
    expect(told).toEqual([expect.stringContaining("status 401")]);
  });

  test.each(["publicKey", "secretKey"] as const)(
    "a %s that no header can carry is told at once, not by request",
    async (key) => {
      const sink = langfuseSink(options({ [key]: "lf-s3cret\nX" }));
      expect(sink.problem).toMatch(new RegExp(`^Langfuse gets no spans: ${key} .* holds a character`));
      expect(kinds()).toEqual(["telemetry.langfuse not_configured"]);
      expect(JSON.stringify([said, sink.problem])).not.toContain("s3cret");
    },
  );

  test("a busy Langfuse is asked again", async () => {
    await answering((_, count) => (count === 1 ? { status: 503 } : undefined));
    const dispatch = createDispatcher([withTelemetry({ sink: "langfuse", ...options() })]);
    await dispatch(call, () => 1);
    await dispatch.close();
    expect(receiver.requests).toHaveLength(2);
    expect(said).toEqual([]);
  });

  test.each([
    ["just ends has its spans delivered", "", 2, {}],
    ["calls process.exit has them counted", "process.exit(0);", 0, { "spans process_exit": 2 }],
    [
      "calls process.exit while it closes has them counted",
      "void dispatch.close(); process.exit(0);",
      0,
      { "spans process_exit": 2 },
    ],
  ])("a program that %s", { timeout: 60_000 }, async (_, end, arrived, lostThere) => {
    const file = join(mkdtempSync(join(import.meta.dirname, "langfuse-")), "program.mjs");
    writeFileSync(
      file,
      `import { createDispatcher, diagnostics } from "@toolspan/core";
import { telemetryLost, withTelemetry } from "@toolspan/telemetry";
diagnostics.listen(() => {});
const dispatch = createDispatcher([withTelemetry({ sink: "langfuse", ...${JSON.stringify(options())} })]);
await dispatch({ toolName: "t" }, () => 1);
await null;
process.on("exit", () => console.log(JSON.stringify(Object.fromEntries(telemetryLost()))));
${end}`,
    );
    const { code, stdout, ms } = await runFile(file);
    rmSync(dirname(file), { recursive: true });
    expect([code, sent().length, JSON.parse(stdout)]).toEqual([0, arrived, lostThere]);
    expect(ms).toBeLessThan(15_000);
  });

  test.each([
    ["takes them", undefined, 2, ""],
    ["is away", 503, 0, "telemetry.langfuse: Langfuse did not take"],
  ])(
    "SIGTERM waits for a Langfuse that %s, then ends the program as it would have; what is lost is said",
    { timeout: 60_000 },
    async (_, status, arrived, words) => {
      await answering(() => (status === undefined ? undefined : { status }));
      const file = join(mkdtempSync(join(import.meta.dirname, "langfuse-")), "program.mjs");
      writeFileSync(
        file,
        `import { createDispatcher } from "@toolspan/core";
import { withTelemetry } from "@toolspan/telemetry";
const dispatch = createDispatcher([withTelemetry({ sink: "langfuse", ...${JSON.stringify(options())} })]);
await dispatch({ toolName: "t" }, () => 1);
setInterval(() => {}, 1000);
console.log("ready");`,
      );
      const { signal, stderr, ms } = await runFile(file, { onLine: (_line, kill) => kill("SIGTERM") });
      rmSync(dirname(file), { recursive: true });
      expect([signal, status === undefined ? sent().length : 0]).toEqual(["SIGTERM", arrived]);
      expect(stderr).toContain(words);
      expect(ms).toBeLessThan(15_000);
    },
  );

  test("under startTelemetry it gets our spans and those of known instrumentations, and ends within the deadline", async () => {
    const telemetry = startTelemetry({
      serviceName: "clerk",
      sinks: [langfuseSink(options())],
      environment: {},
      signals: false,
    });
    trace.getTracer("http").startSpan("GET /").end();
    trace.getTracer("openinference.x").startSpan("theirs").end();
    const dispatch = createDispatcher([withTelemetry({ sink: "otel", env: {} })]);
    await dispatch(call, () => 1);
    expect(await telemetry.shutdown()).toEqual({ complete: true, lost: 0 });
    expect(sent().map(({ name }) => name)).toEqual(["theirs", "tool_call.dispatch", "execute_tool search"]);
  });

  test("spans of the host that Langfuse is not meant to get take up no room, however many they are", async () => {
    const sink = langfuseSink(options());
    const telemetry = startTelemetry({ serviceName: "clerk", sinks: [sink], environment: {}, signals: false });
    const tracer = trace.getTracer("http");
    for (let i = 0; i < 66_000; i += 1) tracer.startSpan("GET /").end();
    expect(sink.pending).toBe(0);
    await createDispatcher([withTelemetry({ sink: "otel", env: {} })])(call, () => 1);
    expect(await telemetry.shutdown()).toEqual({ complete: true, lost: 0 });
    expect(sent()).toHaveLength(2);
  });

  test("a span that ends after the shutdown is counted, not dropped in silence", async () => {
    const before = lost("spans closed");
    const sink = langfuseSink(options());
    const dispatch = createDispatcher([withTelemetry({ sinks: [sink] })]);
    await dispatch(call, () => 1);
    await sink.shutdown();
    await dispatch(call, () => 1);
    await sink.forceFlush();
    expect([sent().length, lost("spans closed") - before, sink.pending]).toEqual([2, 2, 0]);
  });

  test("a flush that leaves spans behind is not complete", async () => {
    await answering(() => "hang");
    const sink = langfuseSink(options({ flushTimeoutMs: 100 }));
    const telemetry = startTelemetry({ serviceName: "clerk", sinks: [sink], environment: {}, signals: false });
    await createDispatcher([withTelemetry({ sink: "otel", env: {} })])(call, () => 1);
    expect(await telemetry.forceFlush()).toEqual({ complete: false, lost: 0 });
    await telemetry.shutdown({ timeoutMs: 100 });
  });

  test("a hanging Langfuse under startTelemetry ends within the deadline, and the number lost is returned", async () => {
    await answering(() => "hang");
    const telemetry = startTelemetry({
      serviceName: "clerk",
      sinks: [langfuseSink(options())],
      environment: {},
      signals: false,
    });
    await createDispatcher([withTelemetry({ sink: "otel", env: {} })])(call, () => 1);
    const started = performance.now();
    expect(await telemetry.shutdown({ timeoutMs: 300 })).toEqual({ complete: false, lost: 2 });
    expect(performance.now() - started).toBeLessThan(1000);
  });
});

describe("where a package is missing", () => {
  let folder: string;
  beforeAll(buildPackages, 120_000);
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "toolspan-langfuse-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test.for([
    ["@langfuse/otel", ["otel"]],
    ["@opentelemetry/sdk-trace-base", ["sdk-trace-base"]],
    ["@opentelemetry/exporter-trace-otlp-http", ["exporter-trace-otlp-http"]],
  ] as const)(
    "without %s both ways to the sink say so when made",
    { timeout: 60_000 },
    async ([peer, missing], { skip }) => {
      skip(!installed && peer !== "@langfuse/otel", "needs @langfuse/otel, which is of OpenTelemetry 2.x alone");
      const { stdout } = await runFile(programWithout(missing));
      expect(stdout.trim().split("\n")).toEqual([`TOOLSPAN_MISSING_PEER ${peer}`, `TOOLSPAN_MISSING_PEER ${peer}`]);
    },
  );

  /** A folder with copies of our packages and of what Langfuse needs, less some. */
  function programWithout(missing: readonly string[]): string {
    const modules = join(folder, "node_modules");
    for (const name of ["core", "canonical", "telemetry"]) {
      const from = realpathSync(dirname(require.resolve(`@toolspan/${name}/package.json`)));
      for (const part of ["package.json", "dist"])
        cpSync(join(from, part), join(modules, "@toolspan", name, part), { recursive: true });
    }
    const all = scopeOf("@opentelemetry", "@opentelemetry/api");
    for (const scope of ["@opentelemetry", "@langfuse"]) {
      mkdirSync(join(modules, scope), { recursive: true });
      const from = join(dirname(all), scope);
      for (const name of installed || scope === "@opentelemetry" ? readdirSync(from) : [])
        if (!missing.includes(name)) copyOrLink(join(from, name), join(modules, scope, name), scope);
    }
    const file = join(folder, "program.mjs");
    writeFileSync(
      file,
      `import { withTelemetry } from "@toolspan/telemetry";
import { langfuseSink } from "@toolspan/telemetry/langfuse";
for (const make of [() => withTelemetry("langfuse"), () => langfuseSink()])
  try { make(); console.log("made"); } catch (error) { console.log(error.code + " " + error.details?.peer); }`,
    );
    return file;
  }

  /** Langfuse's package is copied: as a link it would find its peers where it really is. */
  function copyOrLink(from: string, to: string, scope: string): void {
    if (scope === "@langfuse") cpSync(realpathSync(from), to, { recursive: true });
    else symlinkSync(realpathSync(from), to);
  }

  function scopeOf(scope: string, member: string): string {
    let at = dirname(require.resolve(member));
    while (!at.endsWith(`node_modules/${scope}`)) at = dirname(at);
    return at;
  }
});

/** The request with ids by order of appearance, and without times and what each run makes anew. */
function normalised(body: string): unknown {
  const ids = new Map<string, string>();
  const label = (id: string): string => {
    if (!ids.has(id)) ids.set(id, `id-${ids.size + 1}`);
    return ids.get(id) as string;
  };
  return JSON.parse(body, (key, value) => {
    if (/^(traceId|spanId|parentSpanId)$/.test(key)) return label(value);
    if (/UnixNano$/.test(key)) return "time";
    if (key === "stringValue" && /^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(value)) return "uuid";
    if (key === "stringValue" && /^\s+at /.test(value)) return "stack";
    if (key === "doubleValue") return "measured";
    return value;
  });
}

/** What two serializers must agree on: all of a request but the order of attributes and of spans, and how integers are written. */
function comparable(body: string): unknown {
  return JSON.parse(body, (key, value) => {
    if (key === "intValue") return String(value);
    if (/^(attributes|events|links)$/.test(key) && value.length === 0) return undefined;
    if (key === "attributes")
      return value.toSorted((a: { key: string }, b: { key: string }) => (a.key < b.key ? -1 : 1));
    if (/^dropped.*Count$/.test(key) && value === 0) return undefined;
    if (key === "status" && value.code === 0) return {};
    return value;
  });
}
