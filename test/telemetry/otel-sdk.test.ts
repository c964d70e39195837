// The ground that the telemetry tests stand on: one SDK line, wholly resolved, registered and taken away again.
import { context, metrics, propagation, trace } from "@opentelemetry/api";
import { expect, test } from "vitest";
import { resolvedVersions, startOtelSdk } from "../support/otel-sdk.ts";

test("spans opened across an await nest under the active one, and metrics are collected by name", async () => {
  const sdk = await startOtelSdk();
  try {
    const tracer = trace.getTracer("ground");
    await tracer.startActiveSpan("outer", async (outer) => {
      await Promise.resolve();
      tracer.startSpan("inner").end();
      outer.end();
    });
    metrics.getMeter("ground").createCounter("ground.calls").add(2, { kind: "x" });

    const [inner, outer] = sdk.spans();
    expect(inner?.parentSpanContext?.spanId).toBe(outer?.spanContext().spanId);
    const calls = (await sdk.collectMetrics()).get("ground.calls");
    expect(calls?.dataPoints.map((point) => point.value)).toEqual([2]);
  } finally {
    await sdk.shutdown();
  }
});

test("after shutdown nothing is registered", async () => {
  const sdk = await startOtelSdk();
  await sdk.shutdown();
  expect(trace.getTracer("ground").startSpan("late").isRecording()).toBe(false);
  expect(context.active().getValue(Symbol.for("ground"))).toBeUndefined();
  expect(propagation.fields()).toEqual([]);
});

test("a second registration is refused while the first is there", async () => {
  const sdk = await startOtelSdk();
  try {
    await expect(startOtelSdk()).rejects.toThrow(/registered already/);
  } finally {
    await sdk.shutdown();
  }
});

test("a sampler that is off records no span", async () => {
  const sdk = await startOtelSdk({ sampler: (line) => line.alwaysOff });
  try {
    trace.getTracer("ground").startSpan("unseen").end();
    expect(sdk.spans()).toEqual([]);
  } finally {
    await sdk.shutdown();
  }
});

test("the packages of one SDK line are all of that line", async () => {
  const sdk = await startOtelSdk({ register: false });
  await sdk.shutdown();
  const versions = resolvedVersions();
  const major = `${sdk.line}.`;
  expect(versions["@opentelemetry/sdk-metrics"]).toMatch(new RegExp(`^${major}`));
  expect(versions["@opentelemetry/resources"]).toMatch(new RegExp(`^${major}`));
  expect(versions["@opentelemetry/api"]).toMatch(sdk.line === 2 ? /^1\.9\./ : /^1\.10\./);
});
