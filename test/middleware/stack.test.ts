// Laws of the bundled layers together: order is truth, errors stay themselves, decisions hold, time is counted where it is spent.
import { getEventListeners } from "node:events";
import { CAUSE, createDispatcher, defineLayer, type ToolCaller, type ToolCallInput } from "@toolspan/core";
import {
  argsKey,
  autoApprove,
  withConsent,
  withDryRun,
  withHandoffArtifact,
  withIdempotency,
  withRateLimit,
  withRedaction,
  withRequiredReason,
  withRetry,
  withScopedExecutor,
  withSummary,
  withTimeout,
} from "@toolspan/middleware";
import { expect, it, vi } from "vitest";
import { dispatchOnce } from "../support/layer-contract.ts";

const stack = (): readonly ToolCaller[] => [
  withSummary(({ toolName }) => `Used ${toolName}`),
  withScopedExecutor({ stage: "all" }),
  withTimeout({ maxMs: 60_000 }),
  withConsent(autoApprove),
  withRequiredReason({ schemaRequired: false, auditKey: "reason" }).caller,
  withRedaction(() => ({})),
  withHandoffArtifact(),
  withIdempotency(argsKey()),
  withRateLimit({ maxCalls: 100 }),
  withDryRun({ only: ["shadow"] }),
  withRetry({ backoffMs: 0 }),
];

const call: ToolCallInput = { toolName: "search", toolArgs: { q: "x", reason: "to find x" }, callId: "c1" };

it("runs in the order that describe prints, and lint has nothing to say about it", async () => {
  const dispatch = createDispatcher(stack(), { onFinding: "throw" });
  const printed = dispatch.describe().layers.map(({ name }) => name);
  const { runs } = await dispatchOnce(stack(), call, () => 1);
  expect(runs.map(({ name, index, depth }) => [name, index, depth])).toEqual(printed.map((name, i) => [name, i, i]));
  expect(dispatch.lint()).toEqual([]);
});

it("lists each layer with its own word in the audit, outermost first", async () => {
  const { result } = await dispatchOnce(stack(), { ...call, toolName: "shadow" }, () => 1);
  expect(result.status).toBe("dry_run");
  expect(result.audit).toMatchObject({
    summary: "Used shadow",
    reason: "to find x",
    scope: { stage: "all" },
    consent: { decision: "approved", decided_by: "auto" },
  });
  expect(
    result.audit?.layers?.map(({ name, status, short_circuited, args_changed }) => [
      name,
      status,
      short_circuited,
      args_changed,
    ]),
  ).toEqual([
    ["with_summary", "ok", false, false],
    ["with_scoped_executor", "ok", false, false],
    ["with_timeout", "ok", false, false],
    ["with_consent", "approved", false, false],
    ["with_required_reason", "ok", false, true],
    ["with_redaction", "ok", false, false],
    ["with_handoff_artifact", "ok", false, false],
    ["with_idempotency", "bypassed", false, false],
    ["with_rate_limit", "ok", false, false],
    ["with_dry_run", "dry_run", true, false],
  ]);
});

it("passes the tool's own error through every layer, unwrapped and unnamed", async () => {
  const thrown = new RangeError("too far");
  const { result, runs } = await dispatchOnce(stack(), call, () => {
    throw thrown;
  });
  expect(result[CAUSE]).toBe(thrown);
  expect([result.status, result.error, thrown.cause]).toEqual(["exception", "too far", undefined]);
  expect(runs.map(({ name, status }) => `${name} ${status}`)).toEqual([
    "with_summary ok",
    "with_scoped_executor ok",
    "with_timeout ok",
    "with_consent approved",
    "with_required_reason ok",
    "with_redaction ok",
    "with_handoff_artifact ok",
    "with_idempotency bypassed",
    "with_rate_limit ok",
    "with_dry_run ok",
    "with_retry refused",
    "with_retry_attempt give_up",
  ]);
  expect(runs.flatMap(({ errorType }) => errorType ?? [])).toEqual([]);
});

it("changes nothing about a call when a layer that does nothing is added anywhere", async () => {
  const idle = defineLayer({
    name: "with_nothing",
    traits: { rewritesArgs: "no", audits: false },
    call: (passed, next) => next(passed),
  });
  const without = await dispatchOnce(stack(), call, () => "v");
  for (let at = 0; at <= stack().length; at += 1) {
    const { result } = await dispatchOnce(stack().toSpliced(at, 0, idle), call, () => "v");
    expect([result.status, result.result, result.arguments]).toEqual(["ok", "v", without.result.arguments]);
  }
});

it("refuses to be built with a decider outside a layer that rewrites arguments", () => {
  const rewrite = defineLayer({
    name: "with_rewrite",
    traits: { rewritesArgs: "any" },
    call: (passed, next) => next({ ...passed, toolArgs: {} }),
  });
  expect(() => createDispatcher([withConsent(autoApprove), rewrite], { onFinding: "throw" })).toThrowError(
    expect.objectContaining({ code: "TOOLSPAN_LINT" }),
  );
  expect(createDispatcher([rewrite, withConsent(autoApprove)]).lint()).toEqual([]);
});

it("counts the time that people take against consent alone", async () => {
  let answer: (approved: boolean) => void = () => {};
  const asked = withConsent(() => new Promise<boolean>((resolve) => (answer = resolve)));
  const pending = dispatchOnce([withTimeout({ maxMs: 60_000 }), asked, withRateLimit({ maxCalls: 1 })], call, () => 1);
  setTimeout(() => answer(true), 30);
  const { runs } = await pending;
  const selfMs = runs.map(({ selfTime }) => selfTime / 1e6);
  expect(selfMs[1]).toBeGreaterThan(25);
  expect(Math.max(selfMs[0] ?? 0, selfMs[2] ?? 0)).toBeLessThan(25);
});

it("holds one listener on a signal that a thousand calls share, and none once they have ended, however they end", async () => {
  const controller = new AbortController();
  const listeners = (): number => getEventListeners(controller.signal, "abort").length;
  let most = 0;
  const dispatch = createDispatcher([
    withTimeout({ maxMs: 1, perTool: { fast: 60_000 }, onBreach: "abort" }),
    withConsent(async ({ toolArgs }) => toolArgs !== "deny", { promptTimeoutMs: 60_000 }),
  ]);
  const statuses = await Promise.all(
    Array.from({ length: 1000 }, async (_, i) => {
      const toolName = i % 3 === 0 ? "slow" : "fast";
      const toolArgs = i % 3 === 1 ? "deny" : "allow";
      most = Math.max(most, listeners());
      const handler = vi.fn(({ signal }) =>
        toolName === "fast" ? 1 : new Promise((resolve) => signal.addEventListener("abort", resolve)),
      );
      return (await dispatch({ toolName, toolArgs, signal: controller.signal }, handler)).status;
    }),
  );
  expect([...new Set(statuses)].sort()).toEqual(["consent_denied", "ok", "timeout"]);
  expect([most, listeners()]).toEqual([1, 0]);
});
