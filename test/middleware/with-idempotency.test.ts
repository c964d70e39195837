// Laws of withIdempotency: the same call runs once, its success is given again, and nobody but the key says what is the same.
import { plainHasher } from "@toolspan/canonical/hash";
import { createDispatcher, defineLayer, diagnostics, type ToolCallInput, type ToolHandler } from "@toolspan/core";
import {
  argsKey,
  type IdempotencyStore,
  lruIdempotencyStore,
  type StoredResult,
  withIdempotency,
} from "@toolspan/middleware/with-idempotency";
import { withRateLimit } from "@toolspan/middleware/with-rate-limit";
import { withTimeout } from "@toolspan/middleware/with-timeout";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { dispatchOnce, layerContract, optionContract, outcomeRecorder } from "../support/layer-contract.ts";

beforeEach(() => {
  diagnostics.reset();
  diagnostics.listen(() => {});
});
afterEach(() => {
  vi.useRealTimers();
});

const fresh = (): { readonly store: IdempotencyStore } => ({ store: lruIdempotencyStore() });
const brokenStore: IdempotencyStore = {
  get: () => Promise.reject(new Error("down")),
  set: () => Promise.reject(new Error("down")),
};
const oneKey = (): string => "k";

layerContract("with_idempotency", {
  pass: () => withIdempotency(() => undefined),
  stop: {
    make: () => withIdempotency(oneKey, { store: brokenStore }),
    status: "tool_middleware_exception",
    layerStatus: "refused",
  },
  audits: true,
});

optionContract("withIdempotency", [
  ["keyFn", () => withIdempotency("k" as never)],
  ["options", () => withIdempotency(oneKey, 5 as never)],
  ["ttlMs", () => withIdempotency(oneKey, { ttlMs: 0 })],
  ["ttlMs", () => withIdempotency(oneKey, { ttlMs: 2 ** 31 })],
  ["store.get", () => withIdempotency(oneKey, { store: {} as never })],
  ["store.set", () => withIdempotency(oneKey, { store: { get: () => undefined } as never })],
  ["namespace", () => withIdempotency(oneKey, { namespace: "" })],
  ["onStoreFailure", () => withIdempotency(oneKey, { onStoreFailure: "ignore" as never })],
  ["ttl", () => withIdempotency(oneKey, { ttl: 1 } as never)],
]);
optionContract("lruIdempotencyStore", [
  ["maxEntries", () => lruIdempotencyStore({ maxEntries: 0 })],
  ["max", () => lruIdempotencyStore({ max: 1 } as never)],
]);
optionContract("argsKey", [["scope", () => argsKey({ scope: "turn" as never })]]);

const call: ToolCallInput = {
  toolName: "charge",
  toolArgs: { amount: 5 },
  callId: "c1",
  turn: { iteration: 1, sessionId: "s1", runId: "r1" },
};

describe("a call that comes again", () => {
  it("gets the first one's result without running, says so, and names the dispatch that it repeats", async () => {
    const layers = [withIdempotency(oneKey, fresh())];
    const handler = vi.fn(() => ({ receipt: 7 }));
    const recorder = outcomeRecorder();
    const dispatch = createDispatcher([recorder, ...layers]);
    const first = await dispatch(call, handler);
    const second = await dispatch({ ...call, callId: "c2" }, handler);
    expect(handler).toHaveBeenCalledTimes(1);
    expect([first.replayed, second.replayed]).toEqual([undefined, true]);
    expect(second).toMatchObject({
      ok: true,
      status: "ok",
      result: { receipt: 7 },
      toolCallId: "c2",
      executed: false,
      executionDurationMs: 0,
    });
    const [one, two] = recorder.outcomes;
    expect(second.audit?.metadata).toEqual({ replayed_from: one?.dispatch.id });
    expect([one?.runs[0]?.status, two?.runs[0]?.status]).toEqual(["miss", "hit"]);
    expect(two?.runs[0]).toMatchObject({ shortCircuited: true, attributes: { replayed_from: one?.dispatch.id } });
    expect([one?.attempts, two?.attempts]).toEqual([1, 0]);
  });

  it("outlives the layer, in the store that all layers share by default", async () => {
    const key = (): string => "outlives";
    const handler = vi.fn(() => 1);
    await createDispatcher([withIdempotency(key)])(call, handler);
    const again = await createDispatcher([withIdempotency(key)])(call, handler);
    expect([again.replayed, handler.mock.calls.length]).toEqual([true, 1]);
  });

  it("runs again once its time is over", async () => {
    vi.useFakeTimers();
    await vi.advanceTimersByTimeAsync(1); // lru-cache takes an entry made at 0 for one without end
    const handler = vi.fn(() => 1);
    const dispatch = createDispatcher([withIdempotency(oneKey, { ...fresh(), ttlMs: 1000 })]);
    await dispatch(call, handler);
    await vi.advanceTimersByTimeAsync(900);
    expect((await dispatch(call, handler)).replayed).toBe(true);
    await vi.advanceTimersByTimeAsync(200);
    expect((await dispatch(call, handler)).replayed).toBeUndefined();
    expect(handler).toHaveBeenCalledTimes(2);
  });

  it("of another tool, key or namespace is another call", async () => {
    const { store } = fresh();
    const handler = vi.fn(() => 1);
    const byAmount = ({ toolArgs }: { readonly toolArgs: unknown }): string => JSON.stringify(toolArgs);
    const dispatch = createDispatcher([withIdempotency(byAmount, { store })]);
    await dispatch(call, handler);
    await dispatch({ ...call, toolName: "refund" }, handler);
    await dispatch({ ...call, toolArgs: { amount: 6 } }, handler);
    await createDispatcher([withIdempotency(byAmount, { store, namespace: "eu" })])(call, handler);
    expect(handler).toHaveBeenCalledTimes(4);
    await dispatch(call, handler);
    expect(handler).toHaveBeenCalledTimes(4);
  });

  it("goes through as if the layer were not there where it has no key", async () => {
    const handler = vi.fn(() => 1);
    for (const none of [undefined, null, ""]) {
      const { runs } = await dispatchOnce([withIdempotency(() => none as never, fresh())], call, handler);
      expect(runs[0]).toMatchObject({ status: "bypassed", attributes: undefined });
    }
    expect(handler).toHaveBeenCalledTimes(3);
  });

  it("is kept from running by a key function that fails: it might have run before", async () => {
    const handler = vi.fn();
    for (const keyFn of [
      () => 7,
      () => {
        throw new Error("no");
      },
    ]) {
      const { result } = await dispatchOnce([withIdempotency(keyFn as never, fresh())], call, handler);
      expect(result.status).toBe("tool_middleware_exception");
    }
    expect(handler).not.toHaveBeenCalled();
  });
});

describe("what is kept", () => {
  it.each<[string, ToolHandler]>([
    ["a throw", () => Promise.reject(new Error("no"))],
    ["a soft error", () => ({ isError: true })],
    ["a stream", async function* () { yield 1; }], // biome-ignore format: one line a case
    ["a function", () => () => 1],
    ["an instance of a class", () => new (class Account { id = 1; })()], // biome-ignore format: one line a case
  ])("is not %s", async (_, make) => {
    const handler = vi.fn(make);
    const dispatch = createDispatcher([withIdempotency(oneKey, fresh())]);
    for (let i = 0; i < 2; i += 1) {
      const result = await dispatch(call, handler);
      expect(result.replayed).toBeUndefined();
      if (result.settled !== undefined) for await (const _ of result.result as AsyncIterable<unknown>);
    }
    expect(handler).toHaveBeenCalledTimes(2);
  });

  it("is not a rehearsal, which succeeds without having done anything", async () => {
    const { withDryRun } = await import("@toolspan/middleware/with-dry-run");
    const { store } = fresh();
    const rehearsed = await createDispatcher([withIdempotency(oneKey, { store }), withDryRun()])(call, () => 1);
    const real = await createDispatcher([withIdempotency(oneKey, { store })])(call, () => "done");
    expect([rehearsed.status, real.status, real.result, real.replayed]).toEqual(["dry_run", "ok", "done", undefined]);
  });

  it.each([
    ["undefined", undefined],
    ["null", null],
    ["a date", new Date(0)],
    ["bytes", new Uint8Array([1])],
    ["a map", new Map([["a", 1]])],
  ])("may be %s, and comes back alike", async (_, value) => {
    const dispatch = createDispatcher([withIdempotency(oneKey, fresh())]);
    const first = await dispatch(call, () => value);
    const again = await dispatch(call, () => "other");
    expect([again.replayed, again.result, "result" in again]).toEqual([true, first.result, true]);
  });

  it("is a copy: nobody who got the result can change what others get", async () => {
    const dispatch = createDispatcher([withIdempotency(oneKey, fresh())]);
    const value = { items: [1] };
    const results = [await dispatch(call, () => value), await dispatch(call, () => 0)];
    for (const { result } of results) (result as typeof value).items.push(2);
    expect((await dispatch(call, () => 0)).result).toEqual({ items: [1] });
  });

  it("is bounded: what was used least recently goes first", async () => {
    const store = lruIdempotencyStore({ maxEntries: 2 });
    const byArgs = ({ toolArgs }: { readonly toolArgs: unknown }): string => String(toolArgs);
    const dispatch = createDispatcher([withIdempotency(byArgs, { store })]);
    const replayed: unknown[] = [];
    for (const toolArgs of ["a", "b", "a", "c", "a", "b"]) {
      replayed.push((await dispatch({ ...call, toolArgs }, () => 1)).replayed === true);
    }
    expect(replayed).toEqual([false, false, true, false, true, false]);
  });

  it("reaches a store under a hash, and a key is recorded as its hash alone", async () => {
    const keys: string[] = [];
    const entries: StoredResult[] = [];
    const store: IdempotencyStore = {
      get: async (key) => void keys.push(key) as undefined,
      set: async (_, entry) => void entries.push(entry),
    };
    const { runs, result } = await dispatchOnce([withIdempotency(() => "4111-secret", { store })], call, () => 1);
    const { key_hash } = runs[0]?.attributes ?? {};
    expect(key_hash).toBe(plainHasher().text("4111-secret").hash);
    expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
    expect(JSON.stringify([keys, entries, runs, result.audit ?? null])).not.toContain("4111-secret");
  });
});

describe("calls that come at once", () => {
  const slow = (): { readonly handler: ToolHandler; release(value: unknown): void; runs(): number } => {
    const waiting: ((value: unknown) => void)[] = [];
    let runs = 0;
    return {
      handler: () => {
        runs += 1;
        return new Promise((resolve, reject) =>
          waiting.push((value) => (value instanceof Error ? reject(value) : resolve(value))),
        );
      },
      release: (value) => waiting.shift()?.(value),
      runs: () => runs,
    };
  };

  it("run the tool once, a hundred of them, and all get its result", async () => {
    const recorder = outcomeRecorder();
    const dispatch = createDispatcher([recorder, withIdempotency(oneKey, fresh())]);
    const tool = slow();
    const calls = Array.from({ length: 100 }, (_, i) => dispatch({ ...call, callId: `c${i}` }, tool.handler));
    await vi.waitUntil(() => tool.runs() === 1);
    tool.release({ paid: true });
    const results = await Promise.all(calls);
    expect(tool.runs()).toBe(1);
    expect(results.filter(({ replayed }) => replayed === true)).toHaveLength(99);
    expect(new Set(results.map(({ result }) => result)).size).toBe(100);
    expect(results.map(({ toolCallId }) => toolCallId)).toEqual(results.map((_, i) => `c${i}`));
    const statuses = recorder.outcomes.map(({ runs }) => runs[0]?.status);
    expect([statuses.filter((word) => word === "miss"), statuses.filter((word) => word === "joined")]).toMatchObject([
      { length: 1 },
      { length: 99 },
    ]);
    expect(new Set(recorder.outcomes.map(({ result }) => result.audit?.metadata?.replayed_from)).size).toBe(2);
  });

  it("take turns where the first one fails, and stop at the first success", async () => {
    const dispatch = createDispatcher([withIdempotency(oneKey, fresh())]);
    const tool = slow();
    const calls = Array.from({ length: 5 }, () => dispatch(call, tool.handler));
    await vi.waitUntil(() => tool.runs() === 1);
    tool.release(new Error("no"));
    await vi.waitUntil(() => tool.runs() === 2);
    tool.release("yes");
    const results = await Promise.all(calls);
    expect(tool.runs()).toBe(2);
    expect(results.map(({ status, replayed = false }) => [status, replayed])).toEqual([
      ["exception", false],
      ["ok", false],
      ["ok", true],
      ["ok", true],
      ["ok", true],
    ]);
  });

  it("run the tool once through layers and dispatchers that share a store", async () => {
    const { store } = fresh();
    const tool = slow();
    const calls = [1, 2, 3].map(() => createDispatcher([withIdempotency(oneKey, { store })])(call, tool.handler));
    await vi.waitUntil(() => tool.runs() === 1);
    tool.release(1);
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(["ok", "ok", "ok"]);
    expect(tool.runs()).toBe(1);
  });

  it("leave the wait, one by one, when their own signal fires", async () => {
    const dispatch = createDispatcher([withIdempotency(oneKey, fresh())]);
    const tool = slow();
    const controller = new AbortController();
    const first = dispatch(call, tool.handler);
    const leaving = dispatch({ ...call, signal: controller.signal }, tool.handler);
    const staying = dispatch(call, tool.handler);
    await vi.waitUntil(() => tool.runs() === 1);
    controller.abort();
    expect(await leaving).toMatchObject({ status: "aborted", executed: false });
    tool.release(1);
    expect([(await first).status, (await staying).replayed]).toEqual(["ok", true]);
  });

  it("wait for a first one that its own caller has given up: its effect may still come", async () => {
    vi.useFakeTimers();
    const { store } = fresh();
    const tool = slow();
    const impatient = createDispatcher([
      withTimeout({ maxMs: 10, onBreach: "abort" }),
      withIdempotency(oneKey, { store }),
    ]);
    const patient = createDispatcher([withIdempotency(oneKey, { store })]);
    const first = impatient(call, tool.handler);
    await vi.advanceTimersByTimeAsync(10);
    expect((await first).status).toBe("timeout");
    const second = patient(call, tool.handler);
    await vi.advanceTimersByTimeAsync(10);
    expect(tool.runs()).toBe(1);
    tool.release("late");
    expect(await second).toMatchObject({ status: "ok", result: "late", replayed: true });
  });
});

describe("a call that ends while its tool may still be running", () => {
  const never: ToolHandler = () => new Promise(() => {});

  it("gives those that wait its timeout, and starts the tool for none of them; a later call may run", async () => {
    vi.useFakeTimers();
    const recorder = outcomeRecorder();
    const layers = [withIdempotency(argsKey(), fresh()), withTimeout({ maxMs: 30, onBreach: "abort" })];
    const dispatch = createDispatcher([recorder, ...layers]);
    const handler = vi.fn(never);
    const calls = [1, 2, 3].map((i) => dispatch({ ...call, callId: `c${i}` }, handler));
    await vi.advanceTimersByTimeAsync(30);
    const results = await Promise.all(calls);
    expect(handler).toHaveBeenCalledTimes(1);
    expect(results.map(({ status, replayed = false, executed }) => [status, replayed, executed])).toEqual([
      ["timeout", false, true],
      ["timeout", false, false],
      ["timeout", false, false],
    ]);
    expect(results.map(({ toolCallId }) => toolCallId)).toEqual(["c1", "c2", "c3"]);
    expect(new Set(results.map(({ observation, errorCategory }) => `${observation} ${errorCategory}`)).size).toBe(1);
    const leader = recorder.outcomes.find(({ result }) => result.executed)?.dispatch.id;
    expect(results[1]?.audit?.metadata).toEqual({ shared_from: leader });
    expect(recorder.outcomes.map(({ runs }) => runs[0]?.status).sort()).toEqual([
      "joined_failure",
      "joined_failure",
      "unstored",
    ]);
    const later = await dispatch(call, () => "ran");
    expect([later.status, later.executed]).toEqual(["ok", true]);
  });

  it("gives them the failure of a layer that breaks after the tool has run", async () => {
    const breaking = defineLayer({
      name: "breaking",
      async call(given, next) {
        await next(given);
        throw new Error("broke");
      },
    });
    const dispatch = createDispatcher([withIdempotency(oneKey, fresh()), breaking]);
    const handler = vi.fn(async () => "paid");
    const results = await Promise.all([1, 2, 3].map(() => dispatch(call, handler)));
    expect(handler).toHaveBeenCalledTimes(1);
    expect(results.map(({ status }) => status)).toEqual(new Array(3).fill("tool_middleware_exception"));
  });
});

describe("a store that fails", () => {
  it("to say whether a call has run keeps it from running, unless told to run it", async () => {
    const handler = vi.fn(() => "ran");
    const refused = await dispatchOnce([withIdempotency(oneKey, { store: brokenStore })], call, handler);
    expect(refused.result).toMatchObject({ errorCategory: "idempotency_store_failed", executed: false });
    const blind = withIdempotency(oneKey, { store: brokenStore, onStoreFailure: "run" });
    const ran = await dispatchOnce([blind], call, handler);
    expect([ran.result.status, ran.result.result, ran.runs[0]?.status]).toEqual(["ok", "ran", "unstored"]);
    expect(handler).toHaveBeenCalledTimes(1);
  });

  it("to keep a result costs the result nothing", async () => {
    const store: IdempotencyStore = { get: () => undefined, set: brokenStore.set };
    const { result, runs } = await dispatchOnce([withIdempotency(oneKey, { store })], call, () => "ran");
    expect([result.result, runs[0]?.status]).toEqual(["ran", "unstored"]);
    expect(diagnostics.counts().has("middleware.with_idempotency set")).toBe(true);
  });

  it("by answering with something else than it was given fails as well", async () => {
    const store: IdempotencyStore = { get: () => ({ status: "exception" }) as never, set: () => {} };
    const { result } = await dispatchOnce([withIdempotency(oneKey, { store })], call, () => "ran");
    expect(result.errorCategory).toBe("idempotency_store_failed");
  });
});

describe("argsKey", () => {
  const keyed = (input: Partial<ToolCallInput>, options?: Parameters<typeof argsKey>[0]): string | undefined =>
    argsKey(options)({ ...call, known: true, attempt: 1, callId: null, toolArgs: { a: 1, b: 2 }, ...input } as never);

  it("is the same for the same arguments whatever the call id and the order of keys", () => {
    expect(keyed({ callId: "x" })).toBe(keyed({ callId: "y", toolArgs: { b: 2, a: 1 } }));
    expect(keyed({})).not.toBe(keyed({ toolArgs: { a: 1, b: 3 } }));
  });

  it("is one per session, run, or process", () => {
    const other = { turn: { iteration: 9, sessionId: "s2", runId: "r1" } };
    expect(keyed({})).not.toBe(keyed(other));
    expect(keyed({}, { scope: "run" })).toBe(keyed(other, { scope: "run" }));
    expect(keyed({}, { scope: "process" })).toBe(keyed({ turn: { iteration: 0 } }, { scope: "process" }));
  });

  it("is none outside its scope, or for arguments without a canonical form", () => {
    expect(keyed({ turn: { iteration: 0 } })).toBeUndefined();
    expect(keyed({ turn: { iteration: 0 } }, { scope: "run" })).toBeUndefined();
    expect(keyed({ toolArgs: { f: () => 1 } })).toBeUndefined();
  });

  it("lets the same call run once under another call id", async () => {
    const handler = vi.fn(() => 1);
    const dispatch = createDispatcher([withIdempotency(argsKey(), fresh())]);
    await dispatch(call, handler);
    await dispatch({ ...call, callId: "provider-made-another" }, handler);
    expect(handler).toHaveBeenCalledTimes(1);
  });
});

it("spares a limiter further in the calls that it answers itself", async () => {
  const dispatch = createDispatcher([withIdempotency(oneKey, fresh()), withRateLimit({ maxCalls: 1 })]);
  const statuses = await Promise.all([1, 2, 3].map(async () => (await dispatch(call, () => 1)).status));
  expect(statuses).toEqual(["ok", "ok", "ok"]);
});
