// Laws of withSummary: one line for the user, and nothing else changes.
import { createDispatcher, diagnostics, type ToolCallAuditEvent } from "@toolspan/core";
import { withRequiredReason } from "@toolspan/middleware/with-required-reason";
import { withSummary } from "@toolspan/middleware/with-summary";
import { beforeEach, expect, it, vi } from "vitest";
import { dispatchOnce, layerContract, optionContract } from "../support/layer-contract.ts";

beforeEach(() => {
  diagnostics.reset();
  diagnostics.listen(() => {});
});

layerContract("with_summary", { pass: () => withSummary(() => "a line"), audits: true });

optionContract("withSummary", [
  ["formatFn", () => withSummary(undefined as never)],
  ["formatFn", () => withSummary("Searched" as never)],
]);

it("says what the function makes of call and result", async () => {
  const format = vi.fn(({ toolName }, { status }) => `${toolName} ended ${status}`);
  const { result, runs } = await dispatchOnce([withSummary(format)], { toolName: "search" }, () => 1);
  expect([result.audit?.summary, runs[0]?.status]).toEqual(["search ended ok", "ok"]);
  expect(format).toHaveBeenCalledExactlyOnceWith(
    expect.objectContaining({ toolName: "search" }),
    expect.objectContaining({ result: 1 }),
  );
});

it("says it of failures as well, and of calls that never ran", async () => {
  const layer = withSummary((_, { status }) => status);
  const failed = await dispatchOnce([layer], { toolName: "t" }, () => Promise.reject(new Error("no")));
  const unknown = await dispatchOnce([layer], { toolName: "t", known: false }, undefined);
  expect([failed.result.audit?.summary, unknown.result.audit?.summary]).toEqual(["exception", "tool_not_found"]);
});

it("replaces what was said further in, and leaves it where it has nothing to say", async () => {
  const reason = withRequiredReason();
  const call = { toolName: "t", toolArgs: { reason: "inner" } };
  const said = await dispatchOnce([withSummary(() => "outer"), reason.caller], call, () => 1);
  expect(said.result.audit?.summary).toBe("outer");
  for (const nothing of [undefined, ""]) {
    const { result, runs } = await dispatchOnce([withSummary(() => nothing), reason.caller], call, () => 1);
    expect([result.audit?.summary, runs[0]?.status]).toEqual(["inner", "none"]);
  }
});

it.each([
  ["throws", () => { throw new Error("no"); }], // biome-ignore format: one line a case
  ["answers later", () => Promise.reject(new Error("later"))],
  ["answers with something else", () => 7],
])("costs a call nothing when its function %s, and is reported", async (_, format) => {
  const { result, runs } = await dispatchOnce([withSummary(format as never)], { toolName: "t" }, () => "v");
  expect([result.status, result.result, result.audit, runs[0]?.status]).toEqual(["ok", "v", undefined, "failed"]);
  expect(diagnostics.counts().get("middleware.with_summary format_failed")).toBe(1);
});

it("keeps the lines of a hundred calls at once apart", async () => {
  const events: ToolCallAuditEvent[] = [];
  const layer = withSummary(({ callId }, { result }) => `${callId} ${String(result)}`);
  const dispatch = createDispatcher([layer], { onAudit: (event) => events.push(event) });
  await Promise.all(Array.from({ length: 100 }, (_, i) => dispatch({ toolName: "t", callId: `c${i}` }, async () => i)));
  expect(events.map(({ tool_call_id, audit }) => [tool_call_id, audit.summary])).toEqual(
    events.map((_, i) => [`c${i}`, `c${i} ${i}`]),
  );
});
