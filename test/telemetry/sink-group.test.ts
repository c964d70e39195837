// Several sinks at their end: each is flushed and ended, whatever the others do, within one deadline.
import { createDispatcher, type Diagnostic, diagnostics } from "@toolspan/core";
import { withTelemetry } from "@toolspan/telemetry";
import { startTelemetry } from "@toolspan/telemetry/node";
import { afterEach, beforeEach, expect, test } from "vitest";
import { clearGlobals } from "../support/otel-sdk.ts";

type Verb = () => Promise<void>;

let said: Diagnostic[];
let unlisten: () => void;
beforeEach(() => {
  said = [];
  unlisten = diagnostics.listen((diagnostic) => said.push(diagnostic));
  diagnostics.reset();
});
afterEach(() => {
  unlisten();
  clearGlobals();
});

const kinds = (): readonly string[] => said.map(({ source, kind }) => `${source} ${kind}`).toSorted();
const sink = (verb: Verb) => ({ onStart() {}, onEnd() {}, forceFlush: verb, shutdown: verb });
/** Settles like any sink, a step later, and notes that it was asked. */
function good() {
  const calls: string[] = [];
  const noted = (name: string) => async () => {
    await Promise.resolve();
    calls.push(name);
  };
  return { calls, onStart() {}, onEnd() {}, forceFlush: noted("flush"), shutdown: noted("shutdown") };
}
const throwing: Verb = () => {
  throw new TypeError("secret");
};
const hanging: Verb = () => new Promise(() => {});

test.each([
  ["rejects", async () => Promise.reject(new TypeError("secret")), "failed"],
  ["throws", throwing, "failed"],
  ["hangs", hanging, "deadline"],
])("a sink that %s keeps no other from its flush and its end, and is said once", async (_, verb, outcome) => {
  const other = good();
  const dispatch = createDispatcher([withTelemetry({ sinks: [sink(verb), other], flushTimeoutMs: 100 })]);
  await dispatch({ toolName: "t" }, () => 1);
  await dispatch.flush();
  await dispatch.close();
  expect(other.calls).toEqual(["flush", "flush", "flush", "shutdown"]);
  expect(kinds()).toEqual([`telemetry.sink flush_${outcome}`, `telemetry.sink shutdown_${outcome}`]);
  expect(JSON.stringify(said)).not.toContain("secret");
});

test("a sink that hangs costs a close one deadline, not three", async () => {
  const dispatch = createDispatcher([withTelemetry({ sinks: [sink(hanging)], flushTimeoutMs: 1000 })]);
  await dispatch({ toolName: "t" }, () => 1);
  const started = performance.now();
  await dispatch.close();
  expect(performance.now() - started).toBeLessThan(1900);
});

test.each([
  ["rejects", async () => Promise.reject(new TypeError("secret"))],
  ["throws", throwing],
])(
  "under startTelemetry too a sink that %s keeps no other from its end, and a flush with it is not complete",
  async (_, verb) => {
    const other = good();
    const telemetry = startTelemetry({ serviceName: "s", sinks: [sink(verb), other], environment: {}, signals: false });
    expect((await telemetry.forceFlush()).complete).toBe(false);
    await telemetry.shutdown();
    expect(other.calls).toEqual(["flush", "shutdown"]);
  },
);
