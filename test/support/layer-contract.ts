// The laws that every layer meets, run against a real dispatcher; a layer's own test says how it is made and what it adds.
import { plainHasher } from "@toolspan/canonical/hash";
import {
  CAUSE,
  composeToolCallers,
  createDispatcher,
  type DispatchOutcome,
  type DispatchResult,
  defaultToolCaller,
  isCompleteResult,
  type LayerRun,
  type RecorderCaller,
  recorderCaller,
  type ToolCaller,
  type ToolCallInput,
  type ToolHandler,
  type ToolResult,
  type ToolStatus,
} from "@toolspan/core";
import { describe, expect, it, vi } from "vitest";

export interface LayerContract {
  /** Makes the layer so that it lets `call` through. */
  readonly pass: () => ToolCaller;
  /** Makes it so that it stops `call`, and with which statuses of result and layer. Absent where it never stops one. */
  readonly stop?: { readonly make: () => ToolCaller; readonly status: ToolStatus; readonly layerStatus: string };
  /** Arguments of a call that `pass` lets through. Default `{ q: 1 }`. */
  readonly args?: Readonly<Record<string, unknown>>;
  /** What the handler gets of them. Default the same. */
  readonly handlerArgs?: Readonly<Record<string, unknown>>;
  /** Says that the layer attaches audit, so that its result is a copy of the inner one. */
  readonly audits?: boolean;
  /** Names of runs that the layer makes inside its own. Default none. */
  readonly innerRuns?: readonly string[];
}

/** A recorder that keeps outcomes, to read layer runs from. */
export function outcomeRecorder(): RecorderCaller & { readonly outcomes: readonly DispatchOutcome[] } {
  const outcomes: DispatchOutcome[] = [];
  const recorder = recorderCaller({
    name: "with_outcomes",
    defaultHasher: plainHasher(),
    record(outcome) {
      outcomes.push(outcome);
      return { receipt: { level: "written" } };
    },
    flush: async () => {},
    close: async () => {},
  });
  return Object.assign(recorder, { outcomes });
}

/** One dispatch through `layers`, with the runs it left behind. */
export async function dispatchOnce(
  layers: readonly ToolCaller[],
  call: ToolCallInput,
  handler: ToolHandler | undefined,
): Promise<{ readonly result: DispatchResult; readonly runs: readonly LayerRun[] }> {
  const recorder = outcomeRecorder();
  const result = await createDispatcher([recorder, ...layers])(call, handler);
  await result.settled;
  return { result, runs: recorder.outcomes.flatMap((outcome) => outcome.runs) };
}

/** The laws of a layer whose wire name is `name`. */
export function layerContract(name: string, contract: LayerContract): void {
  const { pass, stop, args = { q: 1 }, handlerArgs = args, audits = false, innerRuns = [] } = contract;
  const call: ToolCallInput = { toolName: "tool", toolArgs: args, callId: "c1" };

  describe(`${name} as a layer`, () => {
    it("carries its wire name and says what it does to arguments and audit", () => {
      const [row] = createDispatcher([pass()]).describe().layers;
      expect(row).toMatchObject({ role: "layer", index: 0, name });
      expect(row?.traits.rewritesArgs).toMatch(/^(no|own_field|mask)$/);
      expect(row?.traits.audits).toBe(audits);
    });

    it("hands on the tool's own object, and gives the tool what the model gave", async () => {
      const value = { answer: 42 };
      const handler = vi.fn(() => value);
      const { result, runs } = await dispatchOnce([pass()], call, handler);
      expect(result.result).toBe(value);
      expect(result).toMatchObject({ ok: true, status: "ok", toolCallId: "c1", executed: true });
      expect(handler).toHaveBeenCalledExactlyOnceWith(
        expect.objectContaining({ toolName: "tool", toolArgs: handlerArgs }),
      );
      expect(runs[0]).toMatchObject({ name, index: 0, attempt: 1, shortCircuited: false });
      expect(runs.slice(1).map((run) => run.name)).toEqual(innerRuns);
    });

    it("adds nothing to the result but its audit", async () => {
      const inner: ToolResult = Object.freeze({
        ok: true,
        status: "ok",
        toolName: "tool",
        result: 1,
        extra: Symbol("x"),
        audit: { kind: "read" as const },
      });
      const answer = await pass()(
        { ...call, callId: "c1", known: true, turn: { iteration: 0 }, attempt: 1, toolArgs: args },
        async () => inner,
        undefined as never,
      );
      if (audits) expect(answer).toMatchObject(inner);
      else expect(answer).toBe(inner);
    });

    it.each([
      ["an error", new TypeError("boom")],
      ["a string", "boom"],
      ["undefined", undefined],
      ["a frozen object", Object.freeze({ code: 7 })],
    ])("keeps %s that the tool throws under CAUSE, the same one", async (_, thrown) => {
      const { result } = await dispatchOnce([pass()], call, () => {
        throw thrown;
      });
      expect(result.status).toBe("exception");
      expect(CAUSE in result).toBe(true);
      expect(result[CAUSE]).toBe(thrown);
    });

    it("lets nothing run under a signal that has fired", async () => {
      const handler = vi.fn();
      const { result } = await dispatchOnce([pass()], { ...call, signal: AbortSignal.abort() }, handler);
      expect(result.status).toBe("aborted");
      expect(handler).not.toHaveBeenCalled();
    });

    it("passes the signal on", async () => {
      const controller = new AbortController();
      const { result } = await dispatchOnce([pass()], { ...call, signal: controller.signal }, ({ signal }) => {
        controller.abort();
        throw Object.assign(new Error("stopped"), { name: signal?.aborted ? "AbortError" : "Error" });
      });
      expect(result.status).toBe("aborted");
    });

    it("does not mix a hundred calls that run at once", async () => {
      const dispatch = createDispatcher([pass()]);
      const release: (() => void)[] = [];
      const handler: ToolHandler = ({ toolArgs }) =>
        new Promise((resolve) => release.push(() => resolve((toolArgs as { n: number }).n)));
      const numbers = Array.from({ length: 100 }, (_, n) => n);
      const calls = numbers.map((n) => dispatch({ ...call, callId: `c${n}`, toolArgs: { ...args, n } }, handler));
      await vi.waitUntil(() => release.length === 100);
      for (const open of release.toReversed()) open();
      const results = await Promise.all(calls);
      expect(results.map(({ toolCallId, result }) => [toolCallId, result])).toEqual(numbers.map((n) => [`c${n}`, n]));
    });

    it("is the same inside identities and compositions", async () => {
      const id = defaultToolCaller();
      const alone = await dispatchOnce([pass()], call, () => "v");
      const wrapped = await dispatchOnce(
        [id, composeToolCallers([id, composeToolCallers([pass()]), id])],
        call,
        () => "v",
      );
      expect(steady(wrapped.result)).toEqual(steady(alone.result));
      expect(wrapped.runs.map(essence)).toEqual(alone.runs.map(essence));
    });

    it("runs as a plain function, without a scope", async () => {
      const composed = composeToolCallers([pass()]);
      const plain = { known: true, turn: { iteration: 0 }, attempt: 1, toolName: "tool", toolArgs: args, callId: null };
      const result = await composed(plain, async ({ toolName }) => ({ ok: true, status: "ok", toolName, result: "v" }));
      expect(result).toMatchObject({ ok: true, status: "ok", result: "v" });
    });

    it("lets an outer layer call next again", async () => {
      const twice: ToolCaller = async (passed, next) => {
        await next(passed);
        return next(passed);
      };
      const handler = vi.fn(() => "v");
      const { result, runs } = await dispatchOnce([twice, pass()], call, handler);
      expect(result.status).toBe("ok");
      expect(handler).toHaveBeenCalledTimes(2);
      expect(runs.filter((run) => run.name === name).map(({ attempt }) => attempt)).toEqual([1, 2]);
    });

    it("lets a stream through, item by item", async () => {
      const dispatch = createDispatcher([pass()]);
      const result = await dispatch(call, async function* () {
        yield "a";
        yield "b";
      });
      const items: unknown[] = [];
      for await (const item of result.result as AsyncIterable<unknown>) items.push(item);
      expect(items).toEqual(["a", "b"]);
      expect(await result.settled).toMatchObject({ ok: true, status: "ok" });
    });

    it.each(hostileArgs(args))(
      "leaves a complete result for arguments that are %s, in every configuration",
      async (_, toolArgs) => {
        for (const make of stop === undefined ? [pass] : [pass, stop.make]) {
          const result = await createDispatcher([make()])({ ...call, toolArgs }, () => "v");
          expect(isCompleteResult(result)).toBe(true);
        }
      },
    );

    it.each(hostileResults())("leaves a complete result around a tool's answer that is %s", async (_, value) => {
      const result = await createDispatcher([pass()])(call, () => value);
      expect(isCompleteResult(result)).toBe(true);
      expect(result.result).toBe(value);
    });

    it("writes to nothing that it was given", async () => {
      const writes: PropertyKey[] = [];
      const watchedArgs = watched({ ...args }, writes);
      const watchedCall = watched(
        { ...call, toolArgs: watchedArgs, schema: deepFreeze({ type: "object", properties: {} }) },
        writes,
      );
      for (const make of stop === undefined ? [pass] : [pass, stop.make]) {
        await createDispatcher([make()])(watchedCall, () => deepFreeze({ answer: 1 }));
        const plain = { known: true, turn: { iteration: 0 }, attempt: 1, callId: null };
        await make()(
          watched({ ...plain, ...watchedCall }, writes),
          async () => deepFreeze({ ok: true, status: "ok", toolName: "tool", result: 1, audit: { summary: "s" } }),
          undefined as never,
        );
      }
      expect(writes).toEqual([]);
    });

    if (stop === undefined) return;

    it("stops a call with a complete result that says so, and the tool does not run", async () => {
      const handler = vi.fn();
      const { result, runs } = await dispatchOnce([stop.make()], call, handler);
      expect(handler).not.toHaveBeenCalled();
      expect(isCompleteResult(result)).toBe(true);
      expect(result).toMatchObject({ status: stop.status, executed: false, toolCallId: "c1", arguments: args });
      expect(result.observation).toContain("tool");
      expect(runs).toMatchObject([{ name, status: stop.layerStatus, shortCircuited: true }]);
    });
  });
}

/** Bad options, one a row: what to make, and which option the error names. */
export function optionContract(
  subject: string,
  rows: readonly (readonly [option: string, make: () => unknown])[],
): void {
  describe(`${subject}, made with a wrong option`, () => {
    it.each(rows.map(([option, make]) => [`${option}: ${String(make)}`, option, make] as const))(
      "refuses %s",
      (_, option, make) => {
        expect(make).toThrowError(
          expect.objectContaining({
            code: "TOOLSPAN_INVALID_OPTION",
            details: expect.objectContaining({ subject, option }),
          }),
        );
      },
    );
  });
}

function steady({ executionDurationMs: _, audit, approval: __, ...result }: DispatchResult): unknown {
  return { ...result, summary: audit?.summary, decision: audit?.consent?.decision };
}

function essence({ name, index, depth, attempt, status, shortCircuited, argsChanged, errorType }: LayerRun): unknown {
  return { name, index, depth, attempt, status, shortCircuited, argsChanged, errorType };
}

function hostileArgs(args: Readonly<Record<string, unknown>>): readonly (readonly [string, unknown])[] {
  const cyclic: Record<string, unknown> = { ...args };
  cyclic.self = cyclic;
  const throwing = Object.defineProperty({ ...args }, "secret", { enumerable: true, get: () => fail("getter") });
  const trapped = new Proxy({ ...args }, { get: () => fail("get"), has: () => fail("has"), ownKeys: () => fail("ownKeys"), getOwnPropertyDescriptor: () => fail("descriptor") }); // biome-ignore format: one line
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  return [
    ["frozen", Object.freeze({ ...args })],
    ["cyclic", cyclic],
    ["behind a throwing getter", throwing],
    ["a proxy that throws", trapped],
    ["a revoked proxy", revoked.proxy],
    ["without a prototype", Object.assign(Object.create(null), args)],
    ["full of BigInt and symbols", { ...args, big: 1n, symbol: Symbol("s") }],
    ["an array", [args]],
    ["a string", "text"],
    ["null", null],
    ["undefined", undefined],
  ];
}

function hostileResults(): readonly (readonly [string, unknown])[] {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  return [
    ["frozen", Object.freeze({ a: 1 })],
    ["cyclic", cyclic],
    ["behind throwing getters", Object.defineProperty({}, "secret", { enumerable: true, get: () => fail("getter") })],
    ["without a prototype", Object.create(null)],
    ["throwing in toJSON", { toJSON: () => fail("toJSON") }],
    ["undefined", undefined],
    ["a BigInt", 1n],
  ];
}

function fail(what: string): never {
  throw new Error(`hostile ${what}`);
}

/** Notes every attempt to write. */
function watched<T extends object>(target: T, writes: PropertyKey[]): T {
  const note = (_: T, key: PropertyKey): boolean => {
    writes.push(key);
    return true;
  };
  return new Proxy(target, { set: note, defineProperty: note, deleteProperty: note });
}

export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(Object.freeze(value))) deepFreeze(inner);
  return value;
}
