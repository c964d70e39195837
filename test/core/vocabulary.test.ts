// Laws of the small parts: errors, diagnostics, sinks, statuses, results.
import {
  diagnostics,
  ERROR_CODES,
  fanOut,
  isCompleteResult,
  isToolStatus,
  kindOf,
  mergeAudit,
  noopMeter,
  noopSink,
  quote,
  type Sink,
  STATUSES,
  ToolspanError,
} from "@toolspan/core";
import { memorySink } from "@toolspan/core/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

describe("an error", () => {
  it("carries code, details, cause and a message that is made in one place", () => {
    const cause = new Error("inner");
    const error = new ToolspanError("TOOLSPAN_INVALID_CALL", { layer: "with_x", received: "null" }, { cause });
    expect([error.code, error.details, error.cause, error.name]).toEqual(["TOOLSPAN_INVALID_CALL", { layer: "with_x", received: "null" }, cause, "ToolspanError"]); // biome-ignore format: one row
    expect(error.message).toBe(
      "layer with_x: next expects a tool call, received null; pass on the call or a changed copy of it",
    );
    expect(error).toBeInstanceOf(Error);
  });

  it("is recognised across copies of the package, by code if asked", () => {
    const foreign = Object.defineProperty(new Error("x"), Symbol.for("toolspan.error"), { value: true });
    Object.assign(foreign, { code: "TOOLSPAN_LINT" });
    expect([ToolspanError.is(foreign), ToolspanError.is(foreign, "TOOLSPAN_LINT"), ToolspanError.is(foreign, "TOOLSPAN_INVALID_CALL")]).toEqual([true, true, false]); // biome-ignore format: one row
    for (const other of [null, undefined, "x", {}, new Error("x")]) expect(ToolspanError.is(other)).toBe(false);
  });

  it("has codes that are sorted and of one shape", () => {
    expect(ERROR_CODES).toEqual([...ERROR_CODES].sort());
    for (const code of ERROR_CODES) expect(code).toMatch(/^TOOLSPAN_[A-Z_]+$/);
  });

  it("speaks of values by kind, and quotes names short and escaped", () => {
    const kinds = [null, undefined, [], {}, "secret", 1, () => 1, 1n].map(kindOf);
    expect(kinds).toEqual([
      "null",
      "undefined",
      "an array",
      "an object",
      "a string",
      "a number",
      "a function",
      "a bigint",
    ]);
    expect(quote("a\u001b[31m\n")).toBe('"a\\u001b[31m\\n"');
    expect(quote("x".repeat(200))).toHaveLength(82);
  });
});

describe("diagnostics", () => {
  const heard: unknown[] = [];
  let stop: () => void;
  beforeEach(() => {
    diagnostics.reset();
    heard.length = 0;
    stop = diagnostics.listen((diagnostic) => heard.push(diagnostic));
  });
  afterEach(() => stop());

  it("say each kind of trouble once, and count the rest", () => {
    for (let n = 0; n < 3; n += 1) diagnostics.report("kernel.x", "kind", "message");
    diagnostics.report("kernel.x", "other", "message");
    expect(heard).toEqual([
      { source: "kernel.x", kind: "kind", message: "message", count: 1 },
      { source: "kernel.x", kind: "other", message: "message", count: 1 },
    ]);
    expect([...diagnostics.counts()]).toEqual([
      ["kernel.x kind", 3],
      ["kernel.x other", 1],
    ]);
  });

  it("never throw, also where the listener does", () => {
    const former = diagnostics.listen(() => {
      throw new Error("listener");
    });
    expect(() => diagnostics.report("a", "b", "c")).not.toThrow();
    former();
    diagnostics.report("a", "d", "e");
    expect(heard).toHaveLength(1);
  });
});

describe("fanOut", () => {
  const failing = (error: Error): Sink<unknown> => ({
    export: () => {
      throw error;
    },
    forceFlush: () => Promise.reject(error),
    shutdown: () => Promise.reject(error),
  });

  it("gives each item to every sink although one fails, and then says so", async () => {
    const [one, two] = [memorySink<number>(), memorySink<number>()];
    const error = new Error("sink");
    const sink = fanOut<number>(one, failing(error), two);
    await expect(sink.export(1)).rejects.toMatchObject({ errors: [error], message: "1 of 3 sinks failed" });
    await expect(sink.forceFlush()).rejects.toBeInstanceOf(AggregateError);
    await expect(sink.shutdown()).rejects.toBeInstanceOf(AggregateError);
    for (const each of [one, two]) expect([each.items, each.flushes, each.closed]).toEqual([[1], 1, true]);
  });

  it("is a sink like its parts, also of none", async () => {
    const inner = memorySink<number>();
    const sink = fanOut(fanOut(inner), noopSink, fanOut());
    await sink.export(7);
    await sink.forceFlush();
    await sink.shutdown();
    expect([inner.items, inner.closed]).toEqual([[7], true]);
  });
});

describe("a status", () => {
  it("is a word of the closed table, and no property of objects", () => {
    expect(Object.entries(STATUSES).filter(([, { ok }]) => ok).map(([word]) => word)).toEqual(["ok", "dry_run", "redacted"]); // biome-ignore format: one row
    expect(Object.entries(STATUSES).filter(([, { ok, error }]) => !ok && !error).map(([word]) => word)).toEqual(["suspended"]); // biome-ignore format: one row
    expect(Object.keys(STATUSES)).toHaveLength(16);
    for (const word of ["toString", "__proto__", "", "OK", null, 1]) expect(isToolStatus(word)).toBe(false);
  });
});

describe("a complete result", () => {
  it.each([
    [{ ok: true, status: "ok", toolName: "t", result: undefined }, true],
    [{ ok: false, status: "suspended", toolName: "t", observation: "wait" }, true],
    [{ ok: true, status: "redacted", toolName: "t", renderedResult: "" }, true],
    [{ ok: 1, status: "ok", toolName: "t", result: 1 }, false],
    [{ ok: true, status: "suspended", toolName: "t", observation: "wait" }, false],
    [{ ok: true, status: "ok", toolName: "", result: 1 }, true],
    [{ ok: true, status: "ok", toolName: "t", error: null }, false],
    [null, false],
    ["ok", false],
  ])("needs tool name, ok, a status that agrees, and something to show: %j is %s", (value, is) => {
    expect(isCompleteResult(value)).toBe(is);
  });
});

describe("what does nothing", () => {
  it("does nothing, quietly", () => {
    noopMeter.add("a", 1);
    noopMeter.record("a", 1);
    noopMeter.gauge("a", () => 1)();
    expect(mergeAudit(undefined, { summary: "s" })).toEqual({ summary: "s" });
    expect(mergeAudit({ summary: "inner", kind: "read" }, { summary: "outer" })).toEqual({
      summary: "outer",
      kind: "read",
    });
  });
});
