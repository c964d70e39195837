// Laws of a receipt's line: it is its own canonical form, keeps to its schema and its size, whatever it is made from.
import { canonicalJson } from "@toolspan/canonical";
import type { ToolCallReceipt } from "@toolspan/receipts";
import fc from "fast-check";
import stableStringify from "fast-json-stable-stringify";
import { describe, expect, test } from "vitest";
import { fitText, jsonText } from "../../packages/receipts/src/json-text.ts";
import { receiptLine } from "../../packages/receipts/src/receipt-line.ts";
import { MAX_LINE_BYTES } from "../../packages/receipts/src/records/envelope.ts";
import { faultOf } from "../../packages/receipts/src/records/record.ts";
import { toReceipt } from "../../packages/receipts/src/to-receipt.ts";
import { ToolHashes } from "../../packages/receipts/src/tool-hashes.ts";
import { layerRun, type OutcomeParts, outcomeOf } from "./outcome.ts";

const chain = { log: "01900000-0000-7000-8000-00000000000f", seq: 7, prev: "0f".repeat(32) };
const uri = "file:///state/receipts/s.jsonl#01900000-0000-7000-8000-000000000001";

function lineOf(parts: OutcomeParts, form: "compact" | "full" = "compact", address: string | null = uri): string {
  return receiptLine(toReceipt(outcomeOf(parts), new ToolHashes(), form, address), chain);
}

function receiptOf(parts: OutcomeParts, form: "compact" | "full" = "compact"): ToolCallReceipt {
  return JSON.parse(lineOf(parts, form)) as ToolCallReceipt;
}

/** Any text, half surrogate pairs and control characters included. */
const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 }).map((units) => String.fromCharCode(...units)),
  fc.constantFrom("", "\u0000", "\ud800", "\udfff\ud800", "\u2028", "\u007f", '"\\', "\u{1f600}", "x".repeat(5000)),
);
const anything = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withNullPrototype: true,
});
const parts: fc.Arbitrary<OutcomeParts> = fc.record({
  call: fc.record({
    toolName: anyText,
    callId: fc.option(anyText, { nil: null }),
    description: anyText,
    schema: anything,
    turn: fc.record({
      iteration: fc.oneof(fc.nat(), fc.double()),
      sessionId: anyText,
      runId: anyText,
      turnIndex: fc.oneof(fc.nat(), fc.double()),
      toolCallIndex: fc.nat(),
      model: anyText,
      provider: anyText,
      agentName: anyText,
    }),
  }),
  result: fc.record({
    audit: fc.dictionary(anyText, anything, { maxKeys: 6 }),
    errorCategory: fc.option(anyText, { nil: null }),
  }),
  runs: fc.array(
    fc
      .record({
        name: anyText,
        status: anyText,
        selfTime: fc.oneof(fc.nat(), fc.constantFrom(Number.NaN, -5, Infinity)),
        attributes: fc.dictionary(anyText, fc.oneof(anyText, fc.double())),
      })
      .map(({ name, ...run }) => layerRun(name, run)),
    { maxLength: 6 },
  ),
  errorType: anyText,
});

describe("a receipt's line", () => {
  test("is the canonical form of the record it holds, by both implementations", () => {
    fc.assert(
      fc.property(
        parts,
        fc.constantFrom("compact" as const, "full" as const),
        fc.boolean(),
        (made, form, addressed) => {
          const line = lineOf(made, form, addressed ? uri : null);
          const record = JSON.parse(line) as Readonly<Record<string, unknown>>;
          expect(stableStringify(record)).toBe(line);
          // Typed forms in the audit blob would be escaped again, as anybody's own data is.
          if (!line.includes('"$toolspan"')) expect(canonicalJson(record)).toBe(line);
          expect(faultOf(record)).toBeNull();
        },
      ),
      { numRuns: 300 },
    );
  });

  test("holds every field, even those that are null", () => {
    const bare = outcomeOf({ call: { callId: null, turn: { iteration: 0 } } });
    const record = JSON.parse(receiptLine(toReceipt(bare, new ToolHashes(), "compact", null), null)) as object;
    expect(Object.keys(record)).toHaveLength(35);
    expect(record).toMatchObject({
      audit: null,
      chain: null,
      session_id: null,
      run_id: null,
      tool_call_id: null,
      trace_id: null,
    });
  });

  test("is at most 64 KiB long, and names what was cut", () => {
    const long = "\u0001\u{1f600}".repeat(50_000);
    const many = Array.from({ length: 3000 }, (_, i) =>
      layerRun(`layer_${i}`, { attributes: { text: "x".repeat(50) } }),
    );
    const keys = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`key~${i}/`, () => i]));
    const made: OutcomeParts = {
      call: {
        toolName: long,
        callId: long,
        turn: { iteration: 1, sessionId: long, runId: long, model: long, provider: long, agentName: long },
      },
      result: {
        errorCategory: long,
        audit: { reason: long, summary: long, metadata: { long }, kind: "read", ...keys },
      },
      errorType: long,
      runs: many,
      redact: [],
    };
    for (const form of ["compact", "full"] as const) {
      const line = lineOf(made, form);
      expect(Buffer.byteLength(line)).toBeLessThanOrEqual(MAX_LINE_BYTES);
      const record = JSON.parse(line) as ToolCallReceipt;
      expect(faultOf({ ...record })).toBeNull();
      for (const field of ["/tool_name", "/tool_call_id", "/session_id", "/run_id", "/model"])
        expect(record.truncated).toContain(field);
      expect(record.audit).toMatchObject({ kind: "read", receipt_uri: uri });
    }
  });

  test("names attributes, layers, metadata, free keys as cut, in that order, and keeps what is smaller", () => {
    const many = Array.from({ length: 150 }, () => layerRun("with_x", { attributes: { text: "x".repeat(200) } }));
    const attributesCut = receiptOf({ runs: many, result: { audit: { metadata: { a: 1 } } } }, "full");
    expect(attributesCut.truncated).toEqual(["/audit/layers/*"]);
    expect(attributesCut.audit?.layers).toHaveLength(150);
    const layersCut = receiptOf(
      { runs: Array.from({ length: 6 }, () => many).flat(), result: { audit: { metadata: { a: 1 } } } },
      "full",
    );
    expect(layersCut.truncated).toEqual(["/audit/layers/*", "/audit/layers"]);
    expect(layersCut.audit).toMatchObject({ metadata: { a: 1 } });
    const large = "y".repeat(20_000);
    const metadataCut = receiptOf({ result: { audit: { metadata: { large }, free: large, summary: "s" } } });
    expect(metadataCut.truncated).toEqual(["/audit/metadata"]);
    expect(metadataCut.audit).toMatchObject({ free: large, summary: "s" });
  });

  test("leaves out of the audit blob what has no canonical form, and names it", () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    const throwing = Object.defineProperty({ fine: 1 }, "bad", {
      enumerable: true,
      get: () => {
        throw new Error("no");
      },
    });
    const { audit, truncated } = receiptOf({
      result: { audit: { cycle, call: () => 1, nan: Number.NaN, ok: 1, when: new Date(0), throwing } },
    });
    expect(audit).toMatchObject({ ok: 1, when: { $toolspan: "date" } });
    expect([...truncated].sort()).toEqual(["/audit/call", "/audit/cycle", "/audit/nan", "/audit/throwing"]);
  });
});

describe("what a receipt says", () => {
  test("comes from the outcome before any receipt failure", () => {
    const receipt = receiptOf({
      call: {
        callId: "c",
        turn: {
          iteration: 3,
          sessionId: "s",
          runId: "r",
          turnIndex: 4,
          toolCallIndex: 2,
          model: "m",
          provider: "p",
          agentName: "a",
        },
      },
      result: { ok: false, status: "timeout", errorCategory: "timeout" },
      errorType: "timeout",
      trace: { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", sampled: false },
    });
    expect(receipt).toMatchObject({
      record: "receipt",
      schema_version: 1,
      dispatch_id: "01900000-0000-7000-8000-000000000001",
      session_id: "s",
      run_id: "r",
      tool_call_id: "c",
      tool_name: "add",
      iteration: 3,
      turn_index: 4,
      emit_order: 2,
      attempts: 1,
      executor: "local",
      status: "timeout",
      ok: false,
      error_type: "timeout",
      error_category: "timeout",
      started_at: "2027-01-15T08:00:00.124456789Z",
      emitted_at: "2027-01-15T08:00:00.132456789Z",
      duration_ms: 3.5,
      agent_name: "a",
      model: "m",
      provider: "p",
      trace_id: "0af7651916cd43dd8448eb211c80319c",
      span_id: "b7ad6b7169203331",
      replayed: false,
    });
  });

  test("has no trace id where there is no trace, all-zero ids included", () => {
    const none = receiptOf({ trace: null });
    const zero = receiptOf({ trace: { traceId: "0".repeat(32), spanId: "0".repeat(16), sampled: false } });
    for (const { trace_id, span_id } of [none, zero]) expect([trace_id, span_id]).toEqual([null, null]);
  });

  test("holds layers as name, status and self time, or all of each", () => {
    const runs = [layerRun("with_consent", { status: "approved", attributes: { who: "auto" } })];
    expect(receiptOf({ runs }).audit).toEqual({
      layers: [{ name: "with_consent", self_time_ms: 0.25, status: "approved" }],
      receipt_uri: uri,
    });
    expect(receiptOf({ runs }, "full").audit?.layers?.[0]).toMatchObject({
      index: 0,
      depth: 0,
      attributes: { who: "auto" },
      short_circuited: false,
    });
  });

  test("takes its reason from the required reason, or from a key of that name", () => {
    const given = { result: { audit: { summary: "to find out" } } };
    expect(receiptOf(given).reason).toBeNull();
    expect(receiptOf({ ...given, runs: [layerRun("with_required_reason")] }).reason).toBe("to find out");
    expect(receiptOf({ result: { audit: { reason: "own" } } }).reason).toBe("own");
  });

  test("folds kinds that nobody defined to other", () => {
    expect(receiptOf({ result: { audit: { kind: "search" } } }).kind).toBe("search");
    expect(receiptOf({ result: { audit: { kind: "juggle" as "other" } } }).kind).toBe("other");
    expect(receiptOf({}).kind).toBeNull();
  });

  test("fingerprints the tool's definition, and the fingerprint changes with it", () => {
    const tools = new ToolHashes();
    const of = (call: object): unknown => toReceipt(outcomeOf({ call }), tools, "compact", null).tool_hash;
    const first = of({ description: "adds", schema: { type: "object" } });
    expect(first).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(of({ description: "adds", schema: { type: "object" } })).toBe(first);
    expect(of({ description: "subtracts", schema: { type: "object" } })).not.toBe(first);
    expect(of({ description: "adds", schema: { type: "string" } })).not.toBe(first);
    expect(of({})).toBeNull();
  });

  test("names the redact keys that were there", () => {
    const made = { call: { toolArgs: { token: "t", deep: { token: "u", a: 1 } } }, redact: ["token", "pin"] };
    expect(receiptOf(made).args_redacted).toEqual(["token"]);
  });
});

describe("text within its size", () => {
  test("keeps valid UTF-8 and never parts a surrogate pair", () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 8, max: 64 }), (text, maxBytes) => {
        const fitted = fitText(text, maxBytes);
        expect(Buffer.byteLength(jsonText(fitted))).toBeLessThanOrEqual(maxBytes);
        expect((fitted as string & { isWellFormed(): boolean }).isWellFormed()).toBe(true);
        expect((text as string & { toWellFormed(): string }).toWellFormed().startsWith(fitted)).toBe(true);
      }),
    );
  });
});
