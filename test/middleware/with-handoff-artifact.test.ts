// Laws of withHandoffArtifact: what a tool hands over becomes a typed record, once, and its policy can only tighten.
import { createDispatcher, diagnostics, type ToolCallInput, withExecutionPolicy } from "@toolspan/core";
import {
  type HandoffArtifactOptions,
  type HandoffRecord,
  runUnderHandoff,
  withHandoffArtifact,
} from "@toolspan/middleware/with-handoff-artifact";
import { lruIdempotencyStore, withIdempotency } from "@toolspan/middleware/with-idempotency";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { dispatchOnce, layerContract, optionContract } from "../support/layer-contract.ts";

beforeEach(() => {
  diagnostics.reset();
  diagnostics.listen(() => {});
});

layerContract("with_handoff_artifact", { pass: () => withHandoffArtifact(), audits: true });

optionContract("withHandoffArtifact", [
  ["options", () => withHandoffArtifact([] as never)],
  ["sink", () => withHandoffArtifact({ sink: "log" as never })],
  ["detect", () => withHandoffArtifact({ detect: {} as never })],
  ["keys", () => withHandoffArtifact({ keys: "handoff" as never })],
  ["source", () => withHandoffArtifact({ source: "" })],
  ["strict", () => withHandoffArtifact({ strict: 1 as never })],
  ["target", () => withHandoffArtifact({ target: "x" } as never)],
]);

const call: ToolCallInput = { toolName: "escalate", toolArgs: {}, callId: "c1" };
const payload = { target_persona_or_human: "review_captain", task: "Review pull request 7" };

/** The record in the audit of a call that gives `value`. */
async function handedOver(value: unknown, options: HandoffArtifactOptions = {}): Promise<HandoffRecord | undefined> {
  const { result } = await dispatchOnce([withHandoffArtifact(options)], call, () => value);
  return result.audit?.handoff as HandoffRecord | undefined;
}

describe("a payload", () => {
  it("becomes a record in which every field is present", async () => {
    expect(await handedOver({ handoff: payload }, { source: "merge_captain" })).toEqual({
      type: "handoff_artifact",
      id: expect.stringMatching(/^handoff_[0-9a-f-]{36}$/),
      source_persona: "merge_captain",
      target_persona_or_human: { kind: "persona", id: "review_captain", label: null },
      task: "Review pull request 7",
      reason: "",
      evidence_refs: [],
      files_or_entities_touched: [],
      open_questions: [],
      blocked_on: [],
      requested_capabilities: [],
      allowed_side_effects: [],
      policy_override: null,
      budget_remaining: null,
      deadline_checkback: null,
      confidence: null,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/),
      metadata: {},
    });
  });

  it("says what it says itself", async () => {
    const full = {
      id: "h1",
      source_persona: "oncall_captain",
      target: { kind: "human", label: "the one on call" },
      task: "Decide",
      reason: "Not mine to decide",
      evidence_refs: [{ uri: "file:///a" }, "artifact-7"],
      files_or_entities_touched: "src/a.ts",
      open_questions: ["When?"],
      blocked_on: [],
      requested_capabilities: ["fs.read"],
      allowed_side_effects: ["read_only"],
      policy_override: { allowed_tools: ["read_file"] },
      budget_remaining: { tool_calls: 3 },
      deadline_checkback: { at: "2027-01-01T00:00:00Z" },
      confidence: 0.5,
      created_at: "2026-12-01T00:00:00Z",
      metadata: { ticket: 7 },
      stranger: "left out",
    };
    const { stranger: _, target: __, ...said } = full;
    expect(await handedOver({ handoff: full }, { source: "other" })).toEqual({
      ...said,
      type: "handoff_artifact",
      target_persona_or_human: { kind: "human", id: null, label: "the one on call" },
      files_or_entities_touched: ["src/a.ts"],
    });
  });

  it.each<[string, unknown, HandoffArtifactOptions]>([
    ["under __handoff", { __handoff: payload }, {}],
    ["under handoff", { other: 1, handoff: payload }, {}],
    ["in a result that is JSON text", JSON.stringify({ handoff: payload }), {}],
    ["that is JSON text itself", { handoff: JSON.stringify(payload) }, {}],
    ["under a key of its own", { transfer: payload }, { keys: ["transfer"] }],
    ["where detect finds it", { deep: { down: payload } }, { detect: ({ result }) => (result as { deep: { down: unknown } }).deep.down }], // biome-ignore format: one line a case
  ])("is found %s", async (_, value, options) => {
    const handler = vi.fn(() => value);
    const { result, runs } = await dispatchOnce([withHandoffArtifact(options)], call, handler);
    expect(result.audit?.handoff).toMatchObject({ task: "Review pull request 7" });
    expect([result.result, runs[0]?.status]).toEqual([value, "handoff"]);
    expect(result.result).toBe(value);
  });

  it.each<[string, unknown, HandoffArtifactOptions]>([
    ["a result without the key", { other: payload }, {}],
    ["a key that keys does not name", { handoff: payload }, { keys: ["transfer"] }],
    ["an empty one", { handoff: null }, {}],
    ["a text that only looks like JSON", "{handoff", {}],
    ["a list", [payload], {}],
    ["a soft error", { isError: true, handoff: payload }, {}],
    ["detect that finds nothing", { handoff: payload }, { detect: () => undefined }],
  ])("is not seen in %s", async (_, value, options) => {
    const sink = vi.fn();
    const { result, runs } = await dispatchOnce([withHandoffArtifact({ ...options, sink })], call, () => value);
    expect([result.audit, runs[0]?.status, sink.mock.calls.length]).toEqual([undefined, "ok", 0]);
  });
});

describe("a malformed payload", () => {
  const malformed: readonly (readonly [string, unknown])[] = [
    ["a text", "later"],
    ["a number", 7],
    ["a list", [payload]],
    ["one without a task", { target: "x" }],
    ["one with a blank task", { ...payload, task: " " }],
    ["one without a target", { task: "t" }],
    ["one with a target of another kind", { task: "t", target: { kind: "robot", id: "r" } }],
    ["one with a target that nobody can find", { task: "t", target: { kind: "human" } }],
    ["one with a reason that is no text", { ...payload, reason: 5 }],
    ["one with a list of other things", { ...payload, open_questions: [1] }],
    ["one with a confidence beyond 1", { ...payload, confidence: 2 }],
    ["one with metadata that is a list", { ...payload, metadata: [] }],
    ["one with a policy that is none", { ...payload, policy_override: { side_effect_level: "disk" } }],
    ["one with a policy that says something unknown", { ...payload, policy_override: { forbid: ["x"] } }],
    ["one with constraints that are none", { ...payload, policy_override: { tool_args: { t: { a: { like: "x" } } } } }],
    ["a cyclic one", (() => { const cyclic: Record<string, unknown> = { ...payload }; cyclic.metadata = cyclic; return cyclic; })()], // biome-ignore format: one line a case
    ["one behind a throwing getter", { ...payload, get reason(): string { throw new Error("no"); } }], // biome-ignore format: one line a case
  ];

  it.each(malformed)("(%s) is reported and costs the call nothing", async (_, value) => {
    const sink = vi.fn();
    const result = { handoff: value };
    const outcome = await dispatchOnce([withHandoffArtifact({ sink })], call, () => result);
    expect([outcome.result.status, outcome.runs[0]?.status, outcome.result.audit]).toEqual([
      "ok",
      "malformed",
      undefined,
    ]);
    expect(outcome.result.result).toBe(result);
    expect(sink).not.toHaveBeenCalled();
    expect(diagnostics.counts().get("middleware.with_handoff_artifact malformed")).toBe(1);
  });

  it.each(malformed)(
    "(%s) fails the call where that is asked for, and names the field, never what it held",
    async (_, value) => {
      const { result } = await dispatchOnce([withHandoffArtifact({ strict: true })], call, () => ({ handoff: value }));
      expect(result).toMatchObject({ status: "tool_middleware_exception", executed: true });
      expect(result.error).toMatch(/^layer with_handoff_artifact threw: handoff payload: [a-z_.]+ must be /);
      expect(result.error).not.toMatch(/robot|disk|forbid|later/);
    },
  );
});

describe("the sink", () => {
  it("gets each record once, with the call", async () => {
    const sink = vi.fn();
    const dispatch = createDispatcher([withHandoffArtifact({ sink })]);
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        dispatch({ ...call, callId: `c${i}` }, () => ({ handoff: { ...payload, id: `h${i}` } })),
      ),
    );
    expect(sink.mock.calls.map(([record, { callId }]) => [record.id, callId])).toEqual(
      results.map((_, i) => [`h${i}`, `c${i}`]),
    );
    expect(sink.mock.calls.map(([record]) => record)).toEqual(results.map(({ audit }) => audit?.handoff));
  });

  it("is waited for", async () => {
    let done = false;
    const sink = async (): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve));
      done = true;
    };
    await dispatchOnce([withHandoffArtifact({ sink })], call, () => ({ handoff: payload }));
    expect(done).toBe(true);
  });

  it.each([
    ["throws", () => { throw new Error("full"); }], // biome-ignore format: one line a case
    ["rejects", () => Promise.reject(new Error("full"))],
  ])("that %s is reported, and fails the call only where that is asked for", async (_, sink) => {
    const lenient = await dispatchOnce([withHandoffArtifact({ sink })], call, () => ({ handoff: payload }));
    expect([lenient.result.status, lenient.runs[0]?.status]).toEqual(["ok", "sink_failed"]);
    expect(lenient.result.audit?.handoff).toMatchObject({ task: payload.task });
    const strict = await dispatchOnce([withHandoffArtifact({ sink, strict: true })], call, () => ({
      handoff: payload,
    }));
    expect(strict.result.status).toBe("tool_middleware_exception");
  });

  it("does not hear of a result that is only given again", async () => {
    const sink = vi.fn();
    const cached = withIdempotency(() => "k", { store: lruIdempotencyStore() });
    const dispatch = createDispatcher([withHandoffArtifact({ sink }), cached]);
    for (let i = 0; i < 3; i += 1) await dispatch(call, () => ({ handoff: payload }));
    expect(sink).toHaveBeenCalledTimes(1);
  });
});

describe("policy_override", () => {
  const policy_override = {
    stage: "review",
    allowed_tools: ["read_file", "write_file"],
    denied_tools: null,
    side_effect_level: "workspace_write",
    tool_args: { write_file: { path: { one_of: ["/tmp/a"] }, mode: { pattern: "w|a" } } },
  };
  const dispatch = createDispatcher([]);
  const statusOf = async (input: ToolCallInput): Promise<string> => (await dispatch(input, () => 1)).status;
  const write: ToolCallInput = {
    toolName: "write_file",
    toolArgs: { path: "/tmp/a", mode: "w" },
    sideEffectLevel: "workspace_write",
  };

  it("is kept in the record as the payload said it", async () => {
    expect((await handedOver({ handoff: { ...payload, policy_override } }))?.policy_override).toEqual(policy_override);
  });

  it("is in force for what is dispatched under the handoff", async () => {
    const handoff = (await handedOver({ handoff: { ...payload, policy_override } })) as HandoffRecord;
    const under = (input: ToolCallInput): Promise<string> => runUnderHandoff(handoff, () => statusOf(input));
    expect(await under(write)).toBe("ok");
    expect(await under({ ...write, toolArgs: { path: "/etc", mode: "w" } })).toBe("policy_blocked");
    expect(await under({ ...write, toolArgs: { path: "/tmp/a", mode: "x" } })).toBe("policy_blocked");
    expect(await under({ ...write, toolName: "delete_file" })).toBe("policy_blocked");
    expect(await under({ ...write, sideEffectLevel: "network" })).toBe("policy_blocked");
    expect(await statusOf({ ...write, toolName: "delete_file" })).toBe("ok");
  });

  it("cannot widen what is in force around it", async () => {
    const status = withExecutionPolicy({ allowedTools: ["read_file"] }, () =>
      runUnderHandoff({ policy_override: { allowed_tools: ["write_file"] } }, () => statusOf(write)),
    );
    expect(await status).toBe("policy_blocked");
  });

  it("that is not there restricts nothing; one that is none lets nothing run", async () => {
    expect(await runUnderHandoff({}, () => statusOf(write))).toBe("ok");
    expect(await runUnderHandoff({ policy_override: null }, () => statusOf(write))).toBe("ok");
    const fn = vi.fn();
    expect(() => runUnderHandoff({ policy_override: { allow: ["*"] } }, fn)).toThrow("policy_override must be");
    expect(() => runUnderHandoff({ policy_override: { allowed_tools: "all" } }, fn)).toThrow("policy_override must be");
    expect(fn).not.toHaveBeenCalled();
  });
});
