// Laws of audit: what layers attach arrives, redacted and within its size, and refers to no receipt but its own.
import {
  type AuditBlob,
  createDispatcher,
  defineLayer,
  diagnostics,
  type ToolCallAuditEvent,
  type ToolCaller,
} from "@toolspan/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { answer, counting, drain, echo, named, pass, turn } from "../support/kernel-parts.ts";
import { durable, recordingRecorder } from "../support/recording-recorder.ts";

let quiet: () => void;
beforeEach(() => {
  diagnostics.reset();
  quiet = diagnostics.listen(() => {});
});
afterEach(() => quiet());

const says = (audit: unknown): ToolCaller =>
  named("says", async (call, next) => ({ ...(await next(call)), audit: audit as AuditBlob }));

/** The blob as it leaves, and as the event carries it. */
async function auditOf(...layers: ToolCaller[]): Promise<AuditBlob> {
  const events: ToolCallAuditEvent[] = [];
  const dispatch = createDispatcher(layers, { onAudit: (event) => void events.push(event) });
  const result = await dispatch({ toolName: "t" }, echo);
  expect(events.map(({ audit }) => audit)).toEqual(result.audit === undefined ? [] : [result.audit]);
  return result.audit ?? {};
}

const bytes = (audit: AuditBlob): number => new TextEncoder().encode(JSON.stringify(audit)).length;
const big = (kilobytes: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: kilobytes }, (_, n) => [`k${n}`, "x".repeat(1000)]));

describe("audit", () => {
  it("keeps what every layer attached, at every attempt, the last word winning key by key", async () => {
    let attempt = 0;
    const counts: ToolCaller = async (call, next) => {
      attempt += 1;
      return { ...(await next(call)), audit: { summary: `attempt ${attempt}`, [`seen_${attempt}`]: true } };
    };
    const retries: ToolCaller = async (call, next) => {
      await next(call);
      return next(call);
    };
    const { layers, ...said } = await auditOf(retries, counts);
    expect(said).toEqual({ summary: "attempt 2", seen_1: true, seen_2: true });
    expect(layers).toHaveLength(3);
  });

  it("is merged shallowly, outer keys winning", async () => {
    const { layers: _, ...said } = await auditOf(
      says({ consent: { decision: "approved" } }),
      says({ consent: { decision: "denied", decided_by: "rule" }, kind: "read" }),
    );
    expect(said).toEqual({ consent: { decision: "approved" }, kind: "read" });
  });

  it.each([null, "text", 7, true])("that is no object (%o) counts as none", async (audit) => {
    expect(await auditOf(says(audit))).toEqual({});
  });

  it("has one event, also for a short circuit and for a layer that throws further out", async () => {
    const denies: ToolCaller = (call) =>
      answer(call, { ok: false, status: "consent_denied", observation: "no", audit: { summary: "denied" } });
    expect((await auditOf(pass, denies, pass)).summary).toBe("denied");
    const throws: ToolCaller = async (call, next) => {
      await next(call);
      throw new Error("outer");
    };
    expect((await auditOf(throws, says({ summary: "inner" }))).summary).toBe("inner");
  });

  it("has the layers that ran, and none that a layer made up", async () => {
    const { layers } = await auditOf(says({ layers: [{ name: "forged" }] }));
    expect(layers?.map(({ name }) => name)).toEqual(["says"]);
  });

  it("carries only the reference to its own receipt, wherever one comes from", async () => {
    const forged = says({ summary: "s", receipt_uri: "file:///elsewhere#1" });
    expect("receipt_uri" in (await auditOf(forged))).toBe(false);
    const recorder = recordingRecorder();
    expect((await auditOf(recorder.caller, forged)).receipt_uri).toBe(durable(recorder.only()).receipt.uri);
  });

  it("refers to a receipt only if that receipt is durable", async () => {
    for (const level of ["pending", "written", "durable", "sealed", "anchored", "failed"] as const) {
      const recorder = recordingRecorder({ reply: () => ({ receipt: { level, uri: "file:///r#1" } }) });
      const result = await createDispatcher([recorder.caller])({ toolName: "t" }, echo);
      const refers = ["durable", "sealed", "anchored"].includes(level);
      expect([level, result.audit?.receipt_uri]).toEqual([level, refers ? "file:///r#1" : undefined]);
    }
  });

  it("is a copy: whoever attached it cannot change it afterwards", async () => {
    const audit = { metadata: { list: [1] } };
    const result = await auditOf(says(audit));
    audit.metadata.list.push(2);
    expect(result.metadata).toEqual({ list: [1] });
  });

  it("of a stream that still runs is redacted already, and complete once it has closed", async () => {
    const redacts = defineLayer({
      name: "redacts",
      call: pass,
      redactAudit: (audit) => ({ ...audit, summary: "***" }),
    });
    const dispatch = createDispatcher([says({ summary: "secret" }), redacts]);
    const result = await dispatch({ toolName: "t" }, () => counting(1));
    expect(result.audit).toEqual({ summary: "***" });
    await drain(result);
    expect((await result.settled)?.audit).toMatchObject({
      summary: "***",
      layers: [{ name: "says" }, { name: "redacts" }],
    });
  });
});

describe("the redactor of audit", () => {
  const redactor = (redactAudit: (audit: AuditBlob) => AuditBlob): ToolCaller =>
    defineLayer({ name: "redacts", call: pass, redactAudit });

  it("is applied wherever its layer stands, before recorders and event, to the final blob", async () => {
    const redacts = redactor((audit) => JSON.parse(JSON.stringify(audit).replaceAll("secret", "***")) as AuditBlob);
    const denies: ToolCaller = (call) =>
      answer(call, { ok: false, status: "consent_denied", observation: "no", audit: { metadata: { why: "secret" } } });
    const recorder = recordingRecorder();
    for (const layers of [
      [redacts, says({ summary: "secret" })],
      [says({ summary: "secret" }), redacts],
      [denies, redacts],
    ]) {
      const text = JSON.stringify(await auditOf(recorder.caller, ...layers));
      expect([text.includes("secret"), text.includes("***")]).toEqual([false, true]);
    }
    expect(JSON.stringify(recorder.outcomes.map(({ result }) => result.audit))).not.toContain("secret");
  });

  it("that throws, or answers with nothing, leaves no free content at all", async () => {
    const reports: ToolCaller = (call, next, scope) => {
      scope.report({ attributes: { why: "secret" } });
      return next(call);
    };
    const breaks = [() => { throw new Error("secret"); }, () => undefined as never, () => null as never]; // biome-ignore format: one list
    for (const breaking of breaks) {
      const audit = await auditOf(redactor(breaking), says({ summary: "secret", free: "secret" }), reports);
      expect(JSON.stringify(audit)).not.toContain("secret");
      expect([audit.truncated, audit.layers?.length]).toEqual([[""], 3]);
    }
    expect(diagnostics.counts().get("kernel.audit redactor_threw")).toBe(3);
  });
});

describe("a listener of audit that fails", () => {
  it.each([
    ["throws", () => { throw new Error("listener"); }], // biome-ignore format: one case
    ["rejects", async () => { throw new Error("listener"); }], // biome-ignore format: one case
  ])("because it %s is reported and does not touch the call", async (_, onAudit) => {
    const dispatch = createDispatcher([says({ summary: "s" })], { onAudit });
    expect((await dispatch({ toolName: "t", toolArgs: 1 }, echo)).result).toBe(1);
    await turn();
    expect(diagnostics.counts().get("kernel.audit listener_threw")).toBe(1);
  });
});

describe("the size of audit", () => {
  it("is cut to 1 KiB a text, never in the middle of a character, and says so", async () => {
    const long = "ä€😀".repeat(400);
    const audit = await auditOf(
      says({ summary: long, note: long, consent: { decision: "denied", reason: long }, kind: "read" }),
    );
    for (const text of [audit.summary, audit.note as string, audit.consent?.reason]) {
      expect(new TextEncoder().encode(text).length).toBeLessThanOrEqual(1024);
      expect(new TextEncoder().encode(text).length).toBeGreaterThan(1020);
      expect(long.startsWith(text as string)).toBe(true);
      expect(text?.isWellFormed()).toBe(true);
    }
    expect(audit.truncated).toEqual(["/summary", "/note", "/consent/reason"]);
    expect(audit.consent?.decision).toBe("denied");
  });

  it("leaves a text of exactly 1 KiB alone", async () => {
    const audit = await auditOf(says({ summary: "x".repeat(1024) }));
    expect([audit.summary?.length, audit.truncated]).toEqual([1024, undefined]);
  });

  it("goes in the order layer attributes, layers, metadata, free keys", async () => {
    const loud = (kilobytes: number): ToolCaller =>
      named("loud", (call, next, scope) => {
        scope.report({ attributes: big(kilobytes) });
        return next(call);
      });
    const kept = { summary: "s", consent: { decision: "approved" } };
    const attributesGo = await auditOf(says({ ...kept, metadata: big(10), free: big(4) }), loud(4));
    expect(attributesGo.truncated).toEqual(["/layers/1/attributes"]);
    expect(Object.keys(attributesGo.metadata ?? {})).toHaveLength(10);

    const layersGo = await auditOf(says({ ...kept, metadata: big(11), free: big(4) }), ...Array.from({ length: 40 }, () => loud(1))); // biome-ignore format: one stack
    expect(layersGo.truncated).toEqual(["/layers"]);
    expect(layersGo.metadata).toBeDefined();

    const metadataGoes = await auditOf(says({ ...kept, metadata: big(20), free: big(4) }), loud(4));
    expect(metadataGoes.truncated).toEqual(["/layers", "/metadata"]);
    expect(metadataGoes.free).toBeDefined();

    const freeKeysGo = await auditOf(says({ ...kept, metadata: big(20), "a/b~c": big(20), free: 1 }), loud(4));
    expect(freeKeysGo.truncated).toEqual(["/layers", "/metadata", "/a~1b~0c", "/free"]);
    expect(freeKeysGo).toMatchObject(kept);

    for (const audit of [attributesGo, layersGo, metadataGoes, freeKeysGo])
      expect(bytes(audit)).toBeLessThanOrEqual(16_384);
  });

  it("is kept even where the names of what was cut would be too long", async () => {
    const keys = Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`free_key_${n}`, n]));
    const audit = await auditOf(says({ summary: "s", ...keys }));
    expect(bytes(audit)).toBeLessThanOrEqual(16_384);
    expect([audit.truncated, audit.summary]).toEqual([[""], "s"]);
    const attempts = await auditOf(
      says({ summary: "s" }),
      named("loop", async (call, next) => {
        for (let n = 0; n < 1000; n += 1) await next(call);
        return next(call);
      }),
      named("loud", (call, next, scope) => {
        scope.report({ attributes: { n: "x".repeat(50) } });
        return next(call);
      }),
    );
    expect(bytes(attempts)).toBeLessThanOrEqual(16_384);
    expect(attempts.truncated).toEqual(["/layers"]);
  });

  it("is kept whatever conventional key is misused", async () => {
    const audit = await auditOf(
      says({ summary: big(30), description: big(30), kind: big(30), hints: big(30), handoff: big(30) }),
    );
    expect(bytes(audit)).toBeLessThanOrEqual(16_384);
    expect(audit.truncated).toEqual(["/layers", "/handoff", "/hints", "/description", "/summary", "/kind"]);
  });

  it("loses what is no JSON, and names it", async () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    const audit = await auditOf(
      says({
        good: { a: [1, null, "x"] },
        fn: () => 1,
        symbol: Symbol("s"),
        big: { n: 1n },
        cycle,
        bad: { toJSON() { throw new Error("trap"); } }, // biome-ignore format: one case
        none: undefined,
      }),
    );
    expect(audit.truncated).toEqual(["/fn", "/symbol", "/big", "/cycle", "/bad"]);
    expect(audit.good).toEqual({ a: [1, null, "x"] });
    expect(JSON.parse(JSON.stringify(audit))).toEqual(audit);
  });

  it("survives a blob whose fields throw: the layer is named and the call goes on", async () => {
    const hostile = { get summary() { throw new Error("trap"); } }; // biome-ignore format: one getter
    const result = await createDispatcher([named("outer", pass), says(hostile)])({ toolName: "t" }, echo);
    expect([result.status, result.error?.includes("says")]).toEqual(["tool_middleware_exception", true]);
  });
});
