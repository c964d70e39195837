// Laws of withConsent: nothing runs that was not clearly approved, and an approval holds for what was seen.
import { plainDigest } from "@toolspan/canonical/hash";
import { createDispatcher, type DispatchResult, defineLayer, diagnostics, type ToolCallInput } from "@toolspan/core";
import { autoApprove, type ConsentOptions, type ConsentPrompt, withConsent } from "@toolspan/middleware/with-consent";
import { withRequiredReason } from "@toolspan/middleware/with-required-reason";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { dispatchOnce, layerContract, optionContract, outcomeRecorder } from "../support/layer-contract.ts";

beforeEach(() => {
  diagnostics.reset();
  diagnostics.listen(() => {});
});
afterEach(() => {
  vi.useRealTimers();
});

layerContract("with_consent", {
  pass: () => withConsent(autoApprove),
  stop: { make: () => withConsent(() => false), status: "consent_denied", layerStatus: "denied" },
  audits: true,
});

optionContract("withConsent", [
  ["promptFn", () => withConsent(undefined as never)],
  ["promptFn", () => withConsent("auto" as never)],
  ["options", () => withConsent(autoApprove, 5 as never)],
  ["promptTimeoutMs", () => withConsent(autoApprove, { promptTimeoutMs: 0 })],
  ["promptTimeoutMs", () => withConsent(autoApprove, { promptTimeoutMs: 2 ** 31 })],
  ["denials", () => withConsent(autoApprove, { denials: "never" as never })],
  ["ignoreArgs", () => withConsent(autoApprove, { ignoreArgs: "reason" as never })],
  ["timeout", () => withConsent(autoApprove, { timeout: 1 } as never)],
]);

const call: ToolCallInput = { toolName: "delete_file", toolArgs: { path: "/tmp/x" }, callId: "c1" };

describe("an answer", () => {
  it.each([
    ["true", true],
    ["a promise of true", Promise.resolve(true)],
    ["{ approved: true }", { approved: true }],
    ['{ decision: "approved" }', { decision: "approved" }],
    ["both, alike", { approved: true, decision: "approved" }],
  ])("approves if it is %s", async (_, answer) => {
    const { result, runs } = await dispatchOnce([withConsent(() => answer as never)], call, () => "ran");
    expect([result.status, result.result, runs[0]?.status]).toEqual(["ok", "ran", "approved"]);
  });

  it.each([
    ["false", false, "answered"],
    ["{ approved: false }", { approved: false }, "answered"],
    ['{ decision: "denied" }', { decision: "denied" }, "answered"],
    ["undefined", undefined, "invalid_answer"],
    ["null", null, "invalid_answer"],
    ["1", 1, "invalid_answer"],
    ['"yes"', "yes", "invalid_answer"],
    ["{}", {}, "invalid_answer"],
    ['{ approved: "true" }', { approved: "true" }, "invalid_answer"],
    ["contradictory", { approved: true, decision: "denied" }, "invalid_answer"],
    ["a decision nobody knows beside an approval", { approved: true, decision: "maybe" }, "invalid_answer"],
    ["a promise of nothing", Promise.resolve(), "invalid_answer"],
    ["a rejected promise", () => Promise.reject(new Error("closed")), "prompt_threw"],
    ["thrown", () => { throw new Error("closed"); }, "prompt_threw"], // biome-ignore format: one line a case
    ["a throwing getter", { get approved() { throw new Error("no"); } }, "invalid_answer"], // biome-ignore format: one line a case
  ])("denies if it is %s", async (_, answer, cause) => {
    const prompt = (typeof answer === "function" ? answer : () => answer) as ConsentPrompt;
    const handler = vi.fn();
    const { result, runs } = await dispatchOnce([withConsent(prompt)], call, handler);
    expect(handler).not.toHaveBeenCalled();
    expect(result).toMatchObject({
      ok: false,
      status: "consent_denied",
      errorCategory: "consent_denied",
      executed: false,
    });
    expect(runs[0]).toMatchObject({ status: "denied", attributes: { cause }, errorType: "consent_denied" });
    expect(diagnostics.counts().has(`middleware.with_consent ${cause}`)).toBe(cause !== "answered");
  });
});

describe("the decision", () => {
  it("stands in the audit with who, when and why, within the layer's own time", async () => {
    const prompt: ConsentPrompt = () => ({ approved: true, decidedBy: "ops@example", reason: "routine" });
    const { result } = await dispatchOnce([withConsent(prompt)], call, () => 1);
    const { consent, layers } = result.audit ?? {};
    expect(consent).toEqual({
      decision: "approved",
      decided_by: "ops@example",
      decided_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/),
      reason: "routine",
    });
    expect(result.approval).toEqual(consent);
    const at = consent?.decided_at ?? "";
    expect(at > (layers?.[0]?.started_at ?? "~") && at < (layers?.[0]?.ended_at ?? "")).toBe(true);
  });

  it("stands in the audit when denied too, and the model hears why", async () => {
    const prompt: ConsentPrompt = () => ({ decision: "denied", reason: "not on a Friday" });
    const { result } = await dispatchOnce([withConsent(prompt)], call, () => 1);
    expect(result.audit?.consent).toMatchObject({
      decision: "denied",
      decided_by: "prompt",
      reason: "not on a Friday",
    });
    expect(result.observation).toBe("tool delete_file: not run; consent was denied (not on a Friday)");
  });

  it("is said to be automatic where nobody was asked", async () => {
    const { result } = await dispatchOnce([withConsent(autoApprove)], call, () => 1);
    expect(result.audit?.consent).toMatchObject({ decision: "approved", decided_by: "auto" });
  });

  it("keeps the audit of what ran inside, and gives way to a consent further out", async () => {
    const summary = defineLayer({
      name: "with_words",
      async call(passed, next) {
        return { ...(await next(passed)), audit: { summary: "words" } };
      },
    });
    const outer = withConsent(() => ({ approved: true, decidedBy: "outer" }));
    const inner = withConsent(() => ({ approved: true, decidedBy: "inner" }));
    const { result } = await dispatchOnce([outer, inner, summary], call, () => 1);
    expect(result.audit).toMatchObject({ summary: "words", consent: { decided_by: "outer" } });
  });

  it("is real time when the layer is called by hand", async () => {
    const plain = { ...call, known: true, turn: { iteration: 0 }, attempt: 1, callId: null, toolArgs: 1 };
    const before = new Date().toISOString();
    const result = await withConsent(autoApprove)(
      plain,
      async () => ({ ok: true, status: "ok", toolName: "t", result: 1 }),
      undefined as never,
    );
    expect((result.audit?.consent?.decided_at ?? "") >= before.slice(0, 19)).toBe(true);
  });
});

describe("the arguments that were approved", () => {
  const rewrite = (traits: { rewritesArgs?: "own_field" | "mask" | "any" }) =>
    defineLayer({
      name: "with_rewrite",
      traits,
      call: (passed, next) => next({ ...passed, toolArgs: { path: "/etc" } }),
    });

  it.each([[{ rewritesArgs: "any" as const }], [{}]])(
    "void the approval if a layer inside rewrites them (%j)",
    async (traits) => {
      const handler = vi.fn();
      const { result } = await dispatchOnce([withConsent(autoApprove), rewrite(traits)], call, handler);
      expect([result.status, handler.mock.calls.length]).toEqual(["policy_blocked", 0]);
    },
  );

  it.each(["own_field", "mask"] as const)("may be changed by a layer that declares %s", async (rewritesArgs) => {
    const { result } = await dispatchOnce([withConsent(autoApprove), rewrite({ rewritesArgs })], call, () => 1);
    expect(result.status).toBe("ok");
  });

  it("may come as an equal copy", async () => {
    const copy = defineLayer({
      name: "with_copy",
      call: (passed, next) => next({ ...passed, toolArgs: { path: "/tmp/x" } }),
    });
    expect(plainDigest({ path: "/tmp/x" })).not.toBeNull();
    expect((await dispatchOnce([withConsent(autoApprove), copy], call, () => 1)).result.status).toBe("ok");
  });

  it("void the approval if they are changed in place while somebody thinks", async () => {
    const toolArgs = { path: "/tmp/x" };
    const prompt: ConsentPrompt = async () => {
      toolArgs.path = "/etc";
      return true;
    };
    const handler = vi.fn();
    const { result } = await dispatchOnce([withConsent(prompt)], { ...call, toolArgs }, handler);
    expect([result.status, handler.mock.calls.length]).toEqual(["policy_blocked", 0]);
  });

  it("lose nothing but the reason that was asked for", async () => {
    const reason = withRequiredReason();
    const handler = vi.fn(() => 1);
    const toolArgs = { path: "/tmp/x", reason: "cleaning up" };
    const { result } = await dispatchOnce([withConsent(autoApprove), reason.caller], { ...call, toolArgs }, handler);
    expect([result.status, result.audit?.summary]).toEqual(["ok", "cleaning up"]);
    expect(handler).toHaveBeenCalledWith(expect.objectContaining({ toolArgs: { path: "/tmp/x" } }));
  });
});

describe("a slow prompt", () => {
  it("counts as a denial once its time is over, and its later answer is not heard", async () => {
    vi.useFakeTimers();
    let answer: (approved: boolean) => void = () => {};
    const prompt: ConsentPrompt = () => new Promise((resolve) => (answer = resolve));
    const handler = vi.fn();
    const pending = dispatchOnce([withConsent(prompt, { promptTimeoutMs: 1000 })], call, handler);
    await vi.advanceTimersByTimeAsync(999);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    const { result, runs } = await pending;
    answer(true);
    await vi.runAllTimersAsync();
    expect([result.status, runs[0]?.attributes?.cause]).toEqual(["consent_denied", "prompt_timeout"]);
    expect(handler).not.toHaveBeenCalled();
  });

  it("leaves no timer and no listener behind once it has answered", async () => {
    vi.useFakeTimers();
    const { signal } = new AbortController();
    const removed = vi.spyOn(signal, "removeEventListener");
    await dispatchOnce([withConsent(async () => true, { promptTimeoutMs: 1000 })], { ...call, signal }, () => 1);
    expect(vi.getTimerCount()).toBe(0);
    expect(removed).toHaveBeenCalledTimes(1);
  });

  it("is waited for as long as it takes where no time is set", async () => {
    vi.useFakeTimers();
    let answer: (approved: boolean) => void = () => {};
    const pending = dispatchOnce(
      [withConsent(() => new Promise<boolean>((resolve) => (answer = resolve)))],
      call,
      () => 1,
    );
    await vi.advanceTimersByTimeAsync(3_600_000);
    answer(true);
    expect((await pending).result.status).toBe("ok");
  });

  it("ends with the call when that is aborted", async () => {
    const controller = new AbortController();
    const handler = vi.fn();
    const prompt: ConsentPrompt = () => {
      queueMicrotask(() => controller.abort());
      return new Promise(() => {});
    };
    const { result, runs } = await dispatchOnce([withConsent(prompt)], { ...call, signal: controller.signal }, handler);
    expect([result.status, runs[0]?.status, handler.mock.calls.length]).toEqual(["aborted", "aborted", 0]);
    expect(result.audit?.consent).toBeUndefined();
  });
});

it.each(["while it asks", "as it is asked"])("hears an abort %s", async (when) => {
  const controller = new AbortController();
  const prompt: ConsentPrompt = () => {
    if (when === "as it is asked") controller.abort();
    else queueMicrotask(() => controller.abort());
    return new Promise(() => {});
  };
  const { result } = await dispatchOnce([withConsent(prompt)], { ...call, signal: controller.signal }, () => 1);
  expect(result.status).toBe("aborted");
});

it("stops every call that waits under one signal, and keeps hearing it for those that come later", async () => {
  const controller = new AbortController();
  const answers: ((approved: boolean) => void)[] = [];
  const dispatch = createDispatcher([withConsent(() => new Promise<boolean>((resolve) => answers.push(resolve)))]);
  const ask = (): Promise<{ status: string }> => dispatch({ ...call, signal: controller.signal }, () => 1);
  const first = ask();
  await vi.waitUntil(() => answers.length === 1);
  answers[0]?.(true);
  expect((await first).status).toBe("ok");
  const others = [ask(), ask()];
  await vi.waitUntil(() => answers.length === 3);
  controller.abort();
  expect((await Promise.all(others)).map(({ status }) => status)).toEqual(["aborted", "aborted"]);
});

it("leaves a record of each refusal: deny, then expire, then approve", async () => {
  vi.useFakeTimers();
  const answers: ReturnType<ConsentPrompt>[] = [false, new Promise(() => {}), true];
  const layer = withConsent(() => answers.shift() ?? false, { promptTimeoutMs: 10 });
  const dispatch = createDispatcher([layer]);
  const seen = [];
  for (let i = 0; i < 3; i += 1) {
    const pending = dispatch(call, () => 1);
    await vi.advanceTimersByTimeAsync(10);
    const { status, executed, audit } = await pending;
    seen.push([status, executed, audit?.consent?.decision]);
  }
  expect(seen).toEqual([
    ["consent_denied", false, "denied"],
    ["consent_denied", false, "denied"],
    ["ok", true, "approved"],
  ]);
});

describe("a denial", () => {
  const turn = { iteration: 1, sessionId: "s1", runId: "r1" };
  const asking = (answers: ReturnType<ConsentPrompt>[], options: ConsentOptions = {}) => {
    const prompt = vi.fn<ConsentPrompt>(() => answers.shift() ?? true);
    const dispatch = createDispatcher([withConsent(prompt, options)]);
    const ask = async (input: Partial<ToolCallInput> = {}): Promise<DispatchResult> =>
      dispatch({ ...call, turn, ...input }, () => "ran");
    return { prompt, ask };
  };
  const no = { approved: false, decidedBy: "ops", reason: "not today" };

  it("is final for the same tool and arguments within the session: it is given again, and nobody is asked", async () => {
    const { prompt, ask } = asking([no]);
    const first = await ask();
    const again = await ask({
      callId: "c2",
      toolArgs: { path: "/tmp/x" },
      turn: { ...turn, iteration: 9, runId: "r2" },
    });
    expect(prompt).toHaveBeenCalledTimes(1);
    expect([first.status, again.status, again.executed]).toEqual(["consent_denied", "consent_denied", false]);
    expect(again.audit?.consent).toEqual(first.audit?.consent);
    expect(again.observation).toContain("not today");
    expect(again.audit?.layers?.[0]).toMatchObject({ status: "denied", attributes: { cause: "denied_before" } });
  });

  it.each<[string, Partial<ToolCallInput>]>([
    ["another tool", { toolName: "move_file" }],
    ["other arguments", { toolArgs: { path: "/tmp/y" } }],
    ["another session", { turn: { iteration: 1, sessionId: "s2" } }],
    ["a run of its own", { turn: { iteration: 1, runId: "r1" } }],
  ])("says nothing of %s", async (_, other) => {
    const { prompt, ask } = asking([no, true]);
    await ask();
    expect([(await ask(other)).status, prompt.mock.calls.length]).toEqual(["ok", 2]);
  });

  it("holds for the run where there is no session, and for the call alone where there is neither", async () => {
    const inRun = asking([no, true]);
    await inRun.ask({ turn: { iteration: 1, runId: "r1" } });
    expect((await inRun.ask({ turn: { iteration: 2, runId: "r1" } })).status).toBe("consent_denied");
    const alone = asking([no, true]);
    await alone.ask({ turn: { iteration: 1 } });
    expect((await alone.ask({ turn: { iteration: 1 } })).status).toBe("ok");
  });

  it("is no denial of arguments that cannot be compared: they are asked about each time", async () => {
    const { prompt, ask } = asking([no, true]);
    const toolArgs = { f: () => 1 };
    await ask({ toolArgs });
    expect([(await ask({ toolArgs })).status, prompt.mock.calls.length]).toEqual(["ok", 2]);
  });

  it("is final for calls that were being asked about when it came: an approval after it runs nothing", async () => {
    const answer: ((yes: boolean) => void)[] = [];
    const answers = Array.from({ length: 5 }, () => new Promise<boolean>((resolve) => answer.push(resolve)));
    const { prompt, ask } = asking([...answers]);
    const asked = answers.map((_, i) => ask({ callId: `c${i}` }));
    await vi.waitUntil(() => prompt.mock.calls.length === 5);
    answer[0]?.(false);
    const first = await asked[0];
    for (const resolve of answer.slice(1)) resolve(true);
    const results = await Promise.all(asked);
    expect(results.map(({ status, executed }) => [status, executed])).toEqual(
      new Array(5).fill(["consent_denied", false]),
    );
    expect(results[4]?.audit?.consent).toEqual(first?.audit?.consent);
    expect(results[4]?.audit?.layers?.[0]).toMatchObject({ status: "denied", attributes: { cause: "denied_before" } });
  });

  it("does not give way to another reason for the same call, where that is said", async () => {
    const { prompt, ask } = asking([no, true], { ignoreArgs: ["reason"] });
    await ask({ toolArgs: { path: "/tmp/x", reason: "please" } });
    expect((await ask({ toolArgs: { path: "/tmp/x", reason: "pretty please" } })).status).toBe("consent_denied");
    expect((await ask({ toolArgs: { path: "/tmp/y", reason: "please" } })).status).toBe("ok");
    expect(prompt).toHaveBeenCalledTimes(2);
  });

  it("is asked about again where that is wanted", async () => {
    const { prompt, ask } = asking([no, true], { denials: "ask" });
    expect([(await ask()).status, (await ask()).status, prompt.mock.calls.length]).toEqual(["consent_denied", "ok", 2]);
  });

  it("by a prompt that was late is final, by one that broke is not", async () => {
    vi.useFakeTimers();
    const late = asking([new Promise(() => {}), true], { promptTimeoutMs: 10 });
    const pending = late.ask();
    await vi.advanceTimersByTimeAsync(10);
    expect([(await pending).status, (await late.ask()).status]).toEqual(["consent_denied", "consent_denied"]);
    const broken = asking([Promise.reject(new Error("closed")), undefined as never, true]);
    expect([(await broken.ask()).status, (await broken.ask()).status]).toEqual(["consent_denied", "ok"]);
  });

  it("follows no approval: what was approved once is asked about again", async () => {
    const { prompt, ask } = asking([true, no]);
    expect([(await ask()).status, (await ask()).status, prompt.mock.calls.length]).toEqual(["ok", "consent_denied", 2]);
  });

  it("leaves a receipt each time, and no execution", async () => {
    const recorder = outcomeRecorder();
    const handler = vi.fn();
    const dispatch = createDispatcher([recorder, withConsent(() => no)]);
    for (let i = 0; i < 3; i += 1) await dispatch({ ...call, turn }, handler);
    expect(
      recorder.outcomes.map(({ result, attempts, executedArgs }) => [result.status, attempts, executedArgs]),
    ).toEqual([1, 2, 3].map(() => ["consent_denied", 0, null]));
    expect(handler).not.toHaveBeenCalled();
  });
});
