// The first law: with telemetry, callers, tools and models see exactly what they see without it.
import { type Context, context, metrics, trace } from "@opentelemetry/api";
import { CAUSE, createDispatcher, type Dispatcher, defineLayer, diagnostics, type Report } from "@toolspan/core";
import { telemetryLost, withTelemetry } from "@toolspan/telemetry";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { clearGlobals, type OtelSdk, startOtelSdk } from "../support/otel-sdk.ts";

let sdk: OtelSdk;
let unlisten: () => void;
beforeEach(async () => {
  sdk = await startOtelSdk();
  unlisten = diagnostics.listen(() => {});
  diagnostics.reset();
});
afterEach(async () => {
  unlisten();
  await sdk.shutdown();
});

const layer = defineLayer({ name: "with_a", traits: { rewritesArgs: "no" }, call: (call, next) => next(call) });
const plain = createDispatcher([layer]);
const telemetry = { sinks: ["otel", "noop", () => {}] as const, hashArgs: false };
const traced = createDispatcher([withTelemetry(telemetry), layer]);

/** Makers of values that punish whoever looks at them; made late, as the generator looks too. */
const hostile: fc.Arbitrary<() => unknown> = fc.oneof(
  fc
    .anything({
      withBigInt: true,
      withNullPrototype: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withSparseArray: true,
    })
    .map((value) => () => value),
  fc.constantFrom<() => unknown>(
    cyclic,
    revoked,
    () => Object.freeze({ a: 1 }),
    () => Symbol("s"),
    () => () => 1,
    () => ({
      get secret(): never {
        throw new Error("getter");
      },
    }),
    () => ({
      toJSON: () => {
        throw new Error("toJSON");
      },
    }),
    () => new Proxy({}, { ownKeys: boom, get: boom, has: boom, getPrototypeOf: boom, getOwnPropertyDescriptor: boom }),
  ),
);

function cyclic(): object {
  const o: Record<string, unknown> = {};
  o.self = o;
  return o;
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** A proxy that counts every trap that fires on it. */
function counting(): { readonly proxy: object; readonly count: () => number } {
  let count = 0;
  const handler = new Proxy(
    {},
    {
      get:
        (_, trap: keyof ProxyHandler<object>) =>
        (...args: unknown[]) => {
          count += 1;
          return (Reflect[trap as "get"] as (...given: unknown[]) => unknown)(...args);
        },
    },
  );
  return { proxy: new Proxy({ inner: { deep: 1 }, list: [1, 2] }, handler), count: () => count };
}

async function outcomeOf(dispatch: Dispatcher, args: unknown, handler: () => unknown) {
  const { result, status, errorCategory, error, ok, ...rest } = await dispatch(
    { toolName: "t", toolArgs: args },
    handler,
  );
  return { result, status, errorCategory, error, ok, threw: CAUSE in rest, thrown: rest[CAUSE] };
}

test("a returned value leaves as the same object, random and hostile ones too", async () => {
  await fc.assert(
    fc.asyncProperty(hostile, hostile, async (makeArgs, makeValue) => {
      const [args, value] = [makeArgs(), makeValue()];
      const handler = async () => ({ value });
      const [without, within] = [await outcomeOf(plain, args, handler), await outcomeOf(traced, args, handler)];
      expect(within.status).toBe(without.status);
      expect(Object.is((within.result as { value: unknown }).value, value)).toBe(true);
    }),
    { numRuns: 150 },
  );
});

test("a thrown value leaves as the same object, random and hostile ones too", async () => {
  await fc.assert(
    fc.asyncProperty(hostile, async (make) => {
      const thrown = make();
      const handler = () => {
        throw thrown;
      };
      const [without, within] = [await outcomeOf(plain, 1, handler), await outcomeOf(traced, 1, handler)];
      expect(within.status).toBe(without.status);
      expect(within.errorCategory).toBe(without.errorCategory);
      expect([within.threw, without.threw]).toEqual([true, true]);
      expect(Object.is(within.thrown, without.thrown)).toBe(true);
    }),
    { numRuns: 150 },
  );
});

test("no trap of arguments, results or thrown values fires more often than without telemetry", async () => {
  for (const end of ["return", "throw"] as const) {
    const counts: (readonly number[])[] = [];
    for (const dispatch of [plain, traced]) {
      const [args, value] = [counting(), counting()];
      await outcomeOf(dispatch, args.proxy, () => {
        if (end === "throw") throw value.proxy;
        return value.proxy;
      });
      counts.push([args.count(), value.count()]);
    }
    expect(counts[1]).toEqual(counts[0]);
  }
});

test("arguments are read for their hash alone, results not at all", async () => {
  const [args, value] = [counting(), counting()];
  await outcomeOf(createDispatcher([withTelemetry("otel"), layer]), args.proxy, () => value.proxy);
  const bare = counting();
  await outcomeOf(plain, 1, () => bare.proxy);
  expect(args.count()).toBeGreaterThan(0);
  expect(value.count()).toBe(bare.count());
});

test("with content capture, hostile values still cost nothing but their content", async () => {
  const dispatch = createDispatcher([withTelemetry({ sinks: ["otel", () => {}], captureContent: true }), layer]);
  await fc.assert(
    fc.asyncProperty(hostile, hostile, async (makeArgs, makeValue) => {
      const [args, value] = [makeArgs(), makeValue()];
      const { result, status } = await outcomeOf(dispatch, args, () => ({ value }));
      expect(status).toBe("ok");
      expect(Object.is((result as { value: unknown }).value, value)).toBe(true);
    }),
    { numRuns: 150 },
  );
  const roots = sdk.spans().filter(({ name }) => name === "execute_tool t");
  expect(roots).toHaveLength(150);
  for (const { attributes } of roots) JSON.parse(attributes["gen_ai.tool.call.result"] as string);
});

test("runs and model calls pass values and errors through untouched", async () => {
  for (const dispatch of [plain, traced]) {
    const value = { v: 1 };
    const error = Object.freeze({ name: 7 });
    const fails = () => Promise.reject(error);
    const throwsAtOnce = (): Promise<never> => {
      throw error;
    };
    expect(await dispatch.run({}, async () => value)).toBe(value);
    expect(await dispatch.model({ model: "m", iteration: 1 }, async () => value)).toBe(value);
    for (const fn of [fails, throwsAtOnce]) {
      await expect(dispatch.run({}, fn)).rejects.toBe(error);
      await expect(dispatch.model({ model: "m", iteration: 1 }, fn)).rejects.toBe(error);
    }
  }
});

/** A host in which one part throws. */
const brokenHosts: readonly [string, () => void][] = [
  ["getTracer", () => trace.setGlobalTracerProvider({ getTracer: boom } as never)],
  ["startSpan", () => trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan: boom }) } as never)],
  [
    "every method of a span",
    () => trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan: () => brokenSpan }) } as never),
  ],
  ["context.with before it calls", () => context.setGlobalContextManager({ ...noopManager(), with: boom } as never)],
  [
    "context.with after it has called",
    () =>
      context.setGlobalContextManager({
        ...noopManager(),
        with: (_: Context, fn: (...args: unknown[]) => unknown, __: unknown, ...args: unknown[]) => {
          fn(...args);
          boom();
        },
      } as never),
  ],
  [
    "context.with calls twice",
    () =>
      context.setGlobalContextManager({
        ...noopManager(),
        with: (_: Context, fn: (...args: unknown[]) => unknown, __: unknown, ...args: unknown[]) => {
          fn(...args);
          return fn(...args);
        },
      } as never),
  ],
  ["context.active", () => context.setGlobalContextManager({ ...noopManager(), active: boom } as never)],
  ["getMeter", () => metrics.setGlobalMeterProvider({ getMeter: boom } as never)],
  [
    "instruments",
    () => metrics.setGlobalMeterProvider({ getMeter: () => new Proxy({}, { get: () => boom }) } as never),
  ],
];

function boom(): never {
  throw new Error("boom");
}

const brokenSpan = {
  spanContext: () => ({ traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", traceFlags: 1 }),
  isRecording: () => true,
  setAttribute: boom,
  setAttributes: boom,
  addEvent: boom,
  addLink: boom,
  addLinks: boom,
  setStatus: boom,
  updateName: boom,
  end: boom,
  recordException: boom,
};

function noopManager() {
  const root = { getValue: () => undefined, setValue: () => root, deleteValue: () => root } as Context;
  return {
    active: () => root,
    with: boom,
    bind: <T>(_: unknown, target: T) => target,
    enable: () => {},
    disable: () => {},
  };
}

test.each(brokenHosts)("a host whose %s fails changes neither results nor how often code runs", async (_, breakIt) => {
  clearGlobals();
  breakIt();
  try {
    const dispatch = createDispatcher([withTelemetry({ sinks: ["otel", () => {}] }), layer]);
    let runs = 0;
    const value = {};
    const { result, status } = await dispatch({ toolName: "t" }, () => {
      runs += 1;
      return value;
    });
    const report = async (said: Report) => {
      runs += 1;
      said({ toolCalls: 1 });
      return value;
    };
    expect([status, result, runs]).toEqual(["ok", value, 1]);
    expect(await dispatch.run({ agentName: "a" }, report)).toBe(value);
    expect(await dispatch.model({ model: "m", iteration: 1 }, report)).toBe(value);
    expect(runs).toBe(3);
    await dispatch.close();
  } finally {
    clearGlobals();
  }
});

test("a sink that throws, rejects or never answers fails no call, is counted, and said once", async () => {
  const said: string[] = [];
  unlisten();
  unlisten = diagnostics.listen(({ source, kind }) => said.push(`${source} ${kind}`));
  const before = telemetryLost().get("records sink_failed") ?? 0;
  const heard: string[] = [];
  const dispatch = createDispatcher([
    withTelemetry({
      sinks: [
        boom,
        () => Promise.reject(new Error("no")),
        () => new Promise(() => {}),
        { export: boom, forceFlush: async () => boom(), shutdown: async () => boom() },
      ],
      onError: (message, span) => {
        heard.push(`${span.name}: ${message}`);
        boom();
      },
      flushTimeoutMs: 20,
    }),
    layer,
  ]);
  for (let i = 0; i < 3; i += 1) expect((await dispatch({ toolName: "t" }, () => i)).result).toBe(i);
  await dispatch.close();
  expect((telemetryLost().get("records sink_failed") ?? 0) - before).toBe(9);
  expect(said.filter((line) => line === "telemetry.sink sink_failed")).toHaveLength(1);
  expect(heard).toHaveLength(9);
  expect(heard[0]).toBe("tool_call.t: a telemetry sink failed (Error); the call went on");
});
