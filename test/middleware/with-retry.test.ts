// Laws of withRetry: what may not be repeated is not, and every attempt leaves its own record with number and decision.
import {
  CAUSE,
  createDispatcher,
  defineLayer,
  type ToolCallInput,
  type ToolResult,
  type ToolStatus,
} from "@toolspan/core";
import { argsKey } from "@toolspan/middleware/with-idempotency";
import { type RetryOptions, withRetry } from "@toolspan/middleware/with-retry";
import { afterEach, describe, expect, it, vi } from "vitest";
import { dispatchOnce, layerContract, optionContract, outcomeRecorder } from "../support/layer-contract.ts";
import { recordingObserver } from "../support/recording-observer.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

layerContract("with_retry", { pass: () => withRetry({ backoffMs: 0 }), innerRuns: ["with_retry_attempt"] });

optionContract("withRetry", [
  ["options", () => withRetry(3 as never)],
  ["maxAttempts", () => withRetry({ maxAttempts: 0 })],
  ["backoffMs", () => withRetry({ backoffMs: -1 })],
  ["maxBackoffMs", () => withRetry({ maxBackoffMs: 2 ** 31 })],
  ["jitter", () => withRetry({ jitter: "some" as never })],
  ["statuses", () => withRetry({ statuses: ["consent_denied"] })],
  ["statuses", () => withRetry({ statuses: ["aborted"] })],
  ["budget", () => withRetry({ budget: 0.5 })],
  ["key", () => withRetry({ key: "id" as never })],
  ["perTool", () => withRetry({ perTool: { t: 3 } as never })],
  ["perTool.t.maxAttempts", () => withRetry({ perTool: { t: { maxAttempts: 0 } } })],
  ["perTool.t.backoffMs", () => withRetry({ perTool: { t: { backoffMs: -1 } } })],
  ["retries", () => withRetry({ retries: 1 } as never)],
]);

const call: ToolCallInput = { toolName: "fetch_page", toolArgs: { url: "x" }, callId: "c1", idempotent: true };
const quick = (options: RetryOptions = {}) => withRetry({ backoffMs: 0, ...options });

/** Fails as often as said, then succeeds; counts its effects, each of which happens before the failure. */
function failing(times: number): { (): string; readonly effects: number } {
  let effects = 0;
  const handler = (): string => {
    effects += 1;
    if (effects <= times) throw new Error(`failure ${effects}`);
    return "done";
  };
  return Object.defineProperty(handler, "effects", { get: () => effects }) as never;
}

describe("attempts", () => {
  it("that fail twice and then succeed are three siblings, each with its number and what was decided", async () => {
    const observer = recordingObserver();
    const tool = failing(2);
    const recorder = outcomeRecorder();
    const result = await createDispatcher([observer.caller, recorder, quick()])(call, tool);
    expect([result.status, result.result, tool.effects]).toEqual(["ok", "done", 3]);
    expect(observer.tree()).toBe(
      [
        "with_retry retried",
        "  with_retry_attempt retry",
        "    leaf#1 exception",
        "  with_retry_attempt retry",
        "    leaf#2 exception",
        "  with_retry_attempt ok",
        "    leaf#3 ok",
      ].join("\n"),
    );
    const [outcome] = recorder.outcomes;
    expect(outcome?.attempts).toBe(3);
    expect(outcome?.runs.map(({ name, attempt, attributes }) => [name, attempt, attributes])).toEqual([
      ["with_retry", 1, { attempts: 3 }],
      ["with_retry_attempt", 1, { number: 1, decision: "retry", delay_ms: 0 }],
      ["with_retry_attempt", 2, { number: 2, decision: "retry", delay_ms: 0 }],
      ["with_retry_attempt", 3, { number: 3, decision: "accept" }],
    ]);
  });

  it("that all fail end with the last one's result and error, untouched", async () => {
    const thrown = new RangeError("always");
    const { result, runs } = await dispatchOnce([quick()], call, () => {
      throw thrown;
    });
    expect(result[CAUSE]).toBe(thrown);
    expect(runs[0]).toMatchObject({ status: "exhausted", attributes: { attempts: 3 } });
    expect(runs.at(-1)).toMatchObject({ status: "give_up", attributes: { number: 3, cause: "exhausted" } });
  });

  it("give each the call as it came: same arguments, same key, its own number", async () => {
    const seen: unknown[] = [];
    const handler = vi.fn(({ toolArgs, attempt, meta }) => {
      seen.push([toolArgs, attempt, meta]);
      throw new Error("no");
    });
    const toolArgs = Object.freeze({ url: "x" });
    const input = { ...call, toolArgs, meta: { tenant: "t" } };
    await createDispatcher([quick({ maxAttempts: 2, key: () => "k1" })])(input, handler);
    const meta = { tenant: "t", idempotency_key: "k1" };
    expect(seen).toEqual([
      [toolArgs, 1, meta],
      [toolArgs, 2, meta],
    ]);
  });

  it("of a hundred calls at once do not count for one another", async () => {
    const dispatch = createDispatcher([quick()]);
    const results = await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        const tool = failing(i % 4);
        const { status } = await dispatch(call, tool);
        return [status, tool.effects];
      }),
    );
    const expected = [["ok", 1], ["ok", 2], ["ok", 3], ["exception", 3]]; // biome-ignore format: one table
    expect(results).toEqual(results.map((_, i) => expected[i % 4]));
  });
});

describe("a tool that is not idempotent", () => {
  it.each<[string, Partial<ToolCallInput>, number]>([
    ["declares nothing", { idempotent: undefined }, 1],
    ["declares that it is not", { idempotent: false }, 1],
    ["only hints that it is", { idempotent: undefined, annotations: { idempotentHint: true, readOnlyHint: true } }, 1],
    ["writes", { idempotent: undefined, sideEffectLevel: "workspace_write" }, 1],
    ["declares that it is", {}, 3],
    ["only reads", { idempotent: undefined, sideEffectLevel: "read_only" }, 3],
    ["has no effect", { idempotent: undefined, sideEffectLevel: "none" }, 3],
  ])("or is: one that %s", async (_, facts, effects) => {
    const tool = failing(9);
    const { result, runs } = await dispatchOnce([quick()], { ...call, ...facts }, tool);
    expect([result.status, tool.effects]).toEqual(["exception", effects]);
    expect(runs[0]?.status).toBe(effects === 1 ? "refused" : "exhausted");
    if (effects === 1) expect(runs[1]).toMatchObject({ status: "give_up", attributes: { cause: "refused" } });
  });

  it("is repeated with a key, which it gets, and not where the key function has none", async () => {
    const unsafe = { ...call, idempotent: false, turn: { iteration: 1, sessionId: "s" } };
    const keyed = failing(2);
    expect((await dispatchOnce([quick({ key: argsKey() })], unsafe, keyed)).result.status).toBe("ok");
    const keyless = failing(2);
    await dispatchOnce([quick({ key: () => undefined })], unsafe, keyless);
    expect([keyed.effects, keyless.effects]).toEqual([3, 1]);
  });
});

describe("a failure", () => {
  const answering = (status: ToolStatus, errorCategory: string = status) => {
    let runs = 0;
    const layer = defineLayer({
      name: "with_answer",
      traits: { rewritesArgs: "no", audits: false },
      call: ({ toolName }): ToolResult => {
        runs += 1;
        return { ok: status === "ok" || status === "dry_run", status, toolName, observation: "said", errorCategory };
      },
    });
    return { layer, runs: () => runs };
  };
  const all: ToolStatus[] = ["exception", "error", "executor_error", "timeout", "rate_limited"];

  it.each<[ToolStatus, number, number]>([
    ["exception", 3, 3],
    ["executor_error", 3, 3],
    ["timeout", 3, 3],
    ["error", 1, 3],
    ["rate_limited", 1, 3],
    ["ok", 1, 1],
    ["dry_run", 1, 1],
    ["suspended", 1, 1],
    ["aborted", 1, 1],
    ["consent_denied", 1, 1],
    ["policy_blocked", 1, 1],
    ["scope_violation", 1, 1],
    ["schema_violation", 1, 1],
    ["tool_not_found", 1, 1],
    ["tool_middleware_exception", 1, 1],
  ])("of status %s is tried %i times by default, %i at most", async (status, byDefault, atMost) => {
    for (const [options, expected] of [
      [{}, byDefault],
      [{ statuses: all }, atMost],
    ] as const) {
      const { layer, runs } = answering(status);
      const { result } = await dispatchOnce([quick(options), layer], call, undefined);
      expect([result.status, runs()]).toEqual([status, expected]);
    }
  });

  it("of a receipt is never repeated, whatever its status", async () => {
    const { layer, runs } = answering("exception", "receipt_failed");
    await dispatchOnce([quick(), layer], call, undefined);
    expect(runs()).toBe(1);
  });

  it("that becomes another kind of failure is the answer", async () => {
    const statuses: ToolStatus[] = ["exception", "schema_violation"];
    const layer = defineLayer({
      name: "with_answer",
      call: ({ toolName }) => ({ ok: false, status: statuses.shift() ?? "ok", toolName, observation: "said" }),
    });
    const { result, runs } = await dispatchOnce([quick(), layer], call, undefined);
    expect([result.status, runs[0]?.status]).toEqual(["schema_violation", "retried"]);
  });
});

describe("the wait", () => {
  const delays = async (options: RetryOptions): Promise<unknown[]> => {
    vi.useFakeTimers();
    const pending = dispatchOnce([withRetry({ maxAttempts: 5, ...options })], call, failing(9));
    await vi.runAllTimersAsync();
    const { runs } = await pending;
    return runs.flatMap(({ attributes }) => attributes?.delay_ms ?? []);
  };

  it("doubles from attempt to attempt, up to a bound", async () => {
    expect(await delays({ jitter: "none" })).toEqual([100, 200, 400, 800]);
    expect(await delays({ jitter: "none", backoffMs: 10, maxBackoffMs: 25 })).toEqual([10, 20, 25, 25]);
  });

  it("is a random part of that by default, from nothing to all of it", async () => {
    vi.spyOn(Math, "random").mockReturnValueOnce(0).mockReturnValueOnce(0.999_999).mockReturnValue(0.5);
    expect(await delays({})).toEqual([0, 200, 200, 400]);
  });

  it("is the real one, and is cut short when the signal fires", async () => {
    vi.useFakeTimers();
    const controller = new AbortController();
    const tool = failing(9);
    const pending = dispatchOnce(
      [withRetry({ backoffMs: 1000, jitter: "none" })],
      { ...call, signal: controller.signal },
      tool,
    );
    await vi.advanceTimersByTimeAsync(999);
    expect(tool.effects).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(tool.effects).toBe(2);
    controller.abort();
    const { result, runs } = await pending;
    expect([result.status, result.executed, runs[0]?.status]).toEqual(["aborted", true, "aborted"]);
    expect([tool.effects, vi.getTimerCount()]).toEqual([2, 0]);
  });

  it("does not begin for a call whose signal has fired", async () => {
    const controller = new AbortController();
    const { result, runs } = await dispatchOnce([quick()], { ...call, signal: controller.signal }, () => {
      controller.abort();
      throw new Error("no");
    });
    expect([result.status, runs.length, runs[0]?.status]).toEqual(["exception", 2, "ok"]);
  });
});

describe("bounds", () => {
  it("a budget is shared by all calls of the layer, exactly", async () => {
    const layer = quick({ budget: 5, maxAttempts: 3 });
    const tools = Array.from({ length: 100 }, () => failing(9));
    const dispatch = createDispatcher([layer]);
    await Promise.all(tools.map((tool) => dispatch(call, tool)));
    expect(tools.reduce((sum, tool) => sum + tool.effects, 0)).toBe(105);
    const { runs } = await dispatchOnce([layer], call, failing(9));
    expect(runs[0]?.status).toBe("budget_spent");
  });

  it("a tool has its own, by map or by function", async () => {
    for (const perTool of [
      { fetch_page: { maxAttempts: 5 }, other: { maxAttempts: 1 } },
      (name: string) => (name === "fetch_page" ? { maxAttempts: 5 } : { maxAttempts: 1 }),
    ]) {
      const [own, other] = [failing(9), failing(9)];
      const dispatch = createDispatcher([quick({ perTool })]);
      await dispatch(call, own);
      await dispatch({ ...call, toolName: "other" }, other);
      expect([own.effects, other.effects]).toEqual([5, 1]);
    }
  });

  it.each([undefined, Number.NaN, Number.POSITIVE_INFINITY, 0, 2.5, "9"])(
    "a tool whose own number of attempts is %s has the layer's",
    async (maxAttempts) => {
      const tool = failing(9);
      await dispatchOnce(
        [quick({ maxAttempts: 3, perTool: () => ({ maxAttempts: maxAttempts as number }) })],
        call,
        tool,
      );
      expect(tool.effects).toBe(3);
    },
  );

  it("one attempt is no repetition", async () => {
    const tool = failing(9);
    await dispatchOnce([quick({ maxAttempts: 1 })], call, tool);
    expect(tool.effects).toBe(1);
  });
});
