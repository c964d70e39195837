// Laws of composition: what may stand in a list, how compositions run by hand, and how a layer may answer.
import {
  CAUSE,
  composeToolCallers,
  createDispatcher,
  defaultToolCaller,
  defineLayer,
  diagnostics,
  type LayerScope,
  type ToolCall,
  type ToolCaller,
  ToolspanError,
} from "@toolspan/core";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { answer, echo, gate, named, pass, saying, statusLine, turn } from "../support/kernel-parts.ts";
import { recordingObserver } from "../support/recording-observer.ts";
import { recordingRecorder } from "../support/recording-recorder.ts";

beforeEach(() => diagnostics.listen(() => {}));

const makers = { composeToolCallers, createDispatcher } as const;

describe.each(Object.keys(makers) as (keyof typeof makers)[])("%s", (maker) => {
  const make = (layers: unknown): unknown => makers[maker](layers as ToolCaller[]);

  it.each([
    [[pass, null], "layer at position 1: expected a function, received null; pass (call, next, scope) => result"],
    [
      ["with_consent"],
      "layer at position 0: expected a function, received a string; pass (call, next, scope) => result",
    ],
    [[{ name: "mine" }], 'layer at position 0: expected a function, received an object named "mine"; pass (call, next, scope) => result'], // biome-ignore format: one case
    [[pass, pass, { schemaTransform() {}, caller: pass }], "layer at position 2: expected a function, received an object; pass .caller"], // biome-ignore format: one case
    [[pass, [pass]], "layer at position 1: expected a function, received an array; pass (call, next, scope) => result"],
    // biome-ignore lint/suspicious/noSparseArray: a hole is what is meant
    [[, pass], "layer at position 0: expected a function, received undefined; pass (call, next, scope) => result"],
  ])("refuses what is no function by position and name: case %#", (layers, message) => {
    expect(() => make(layers)).toThrow(expect.objectContaining({ code: "TOOLSPAN_INVALID_LAYER", message }));
  });

  it.each([undefined, null, {}, "layers", 1])("refuses %o in place of a list", (layers) => {
    expect(() => make(layers)).toThrow(expect.objectContaining({ code: "TOOLSPAN_INVALID_OPTION" }));
  });
});

describe("createDispatcher", () => {
  it("takes one composition in place of a list", async () => {
    const said: string[] = [];
    const composed = composeToolCallers([saying("a", said), saying("b", said)]);
    expect((await createDispatcher(composed)({ toolName: "t", toolArgs: 7 }, echo)).result).toBe(7);
    expect(said).toEqual([">a", ">b", "<b", "<a"]);
  });

  it("names a plain function after itself in snake_case, and one without a usable name after its index", () => {
    const odd = Object.defineProperty(() => undefined as never, "name", { value: 42 });
    const layers = [
      named("withOwnName", pass),
      named("", pass),
      named("HTTPGuard2x", pass),
      named("9lives", pass),
      odd,
    ];
    const names = createDispatcher(layers as ToolCaller[])
      .describe()
      .layers.map(({ name }) => name);
    expect(names).toEqual(["with_own_name", "layer_1", "httpguard2x", "layer_3", "layer_4"]);
  });

  it("runs the same function listed twice as two layers", async () => {
    const observer = recordingObserver();
    const twice = named("twice", pass);
    await createDispatcher([twice, observer.caller, twice])({ toolName: "t" }, echo);
    expect(observer.tree()).toBe("twice ok\n  twice ok\n    leaf#1 ok");
  });
});

describe("a defined layer", () => {
  it.each(["withConsent", "", "_x", "1x", "a".repeat(65), "with consent"])("refuses the name %o", (name) => {
    expect(() => defineLayer({ name, call: pass })).toThrow(
      expect.objectContaining({ code: "TOOLSPAN_INVALID_OPTION" }),
    );
  });

  it("is not changed by changing its definition afterwards", async () => {
    const definition = { name: "mine", call: pass as ToolCaller };
    const layer = defineLayer(definition);
    const dispatch = createDispatcher([layer]);
    definition.name = "other";
    definition.call = () => undefined as never;
    expect(createDispatcher([layer]).describe().layers[0]?.name).toBe("mine");
    expect((await dispatch({ toolName: "t", toolArgs: 1 }, echo)).result).toBe(1);
  });
});

describe("a composition called by hand", () => {
  const call = {
    toolName: "t",
    toolArgs: 1,
    callId: null,
    known: true,
    turn: { iteration: 0 },
    attempt: 1,
  } as ToolCall;
  const tool = async (given: ToolCall) => answer(given, { result: given.toolArgs });

  it("runs its layers as plain functions, with a scope that records nothing", async () => {
    const scopes: LayerScope[] = [];
    const layer = defineLayer({
      name: "mine",
      call(given, next, scope) {
        scopes.push(scope);
        scope.report({ status: "hit", attributes: { a: 1 } });
        scope.event("e");
        scope.bindArgs(() => "digest");
        return next({ ...given, toolArgs: 2 });
      },
    });
    const plain: ToolCaller = (given, next, scope) => {
      scopes.push(scope);
      return next(given);
    };
    const result = await composeToolCallers([layer, composeToolCallers([plain])])(call, tool);
    expect(result.result).toBe(2);
    expect(scopes.map(({ dispatch }) => dispatch.id)).toEqual(["", ""]);
    expect((await layer(call, tool, undefined as never)).result).toBe(2);
  });

  it("lets next be called twice, and passes on what is thrown", async () => {
    let ran = 0;
    const twice: ToolCaller = async (given, next) => {
      await next(given);
      return next(given);
    };
    await composeToolCallers([twice])(call, async (given) => {
      ran += 1;
      return answer(given);
    });
    expect(ran).toBe(2);
    const thrown = new Error("tool");
    const fails = composeToolCallers([twice])(call, () => {
      throw thrown;
    });
    await expect(fails).rejects.toBe(thrown);
  });

  it("is the identity when it is empty", async () => {
    const result = answer(call);
    expect(await defaultToolCaller()(call, async () => result, undefined as never)).toBe(result);
    expect(await composeToolCallers([])(call, async () => result)).toBe(result);
  });

  it("throws TOOLSPAN_NOT_IN_DISPATCHER where it comes to a recorder or an observer", async () => {
    for (const { caller } of [recordingObserver(), recordingRecorder()]) {
      const refusal = expect.objectContaining({ code: "TOOLSPAN_NOT_IN_DISPATCHER" });
      expect(() => caller(call, tool, undefined as never)).toThrow(refusal);
      await expect(async () => composeToolCallers([pass, caller])(call, tool)).rejects.toThrow(refusal);
    }
  });

  it("runs as part of the layer that calls it when that layer stands in a dispatcher", async () => {
    const observer = recordingObserver();
    const inner = composeToolCallers([named("b", pass), named("c", pass)]);
    const dispatch = createDispatcher([observer.caller, named("a", (given, next, scope) => inner(given, next, scope))]);
    expect((await dispatch({ toolName: "t", toolArgs: 3 }, echo)).result).toBe(3);
    expect(observer.tree()).toBe("a ok\n  leaf#1 ok");
  });
});

describe("a layer", () => {
  it("may be synchronous, asynchronous or answer with a thenable, mixed in any order", async () => {
    const value = { v: 1 };
    const forms: readonly ToolCaller[] = [
      (call, next) => next(call),
      async (call, next) => next(call),
      // biome-ignore lint/suspicious/noThenProperty: a thenable is what is meant
      (call, next) => ({ then: (ok: never, fail: never) => next(call).then(ok, fail) }) as never,
      (call, next) => new (class extends Promise<never> {})((ok, fail) => void next(call).then(ok as never, fail)),
    ];
    for (const a of forms) {
      for (const b of forms) {
        for (const c of forms) {
          expect((await createDispatcher([a, b, c])({ toolName: "t" }, () => value)).result).toBe(value);
        }
      }
    }
  });

  it("gets a rejection, not a throw, when it passes on something that is no call, and none goes unhandled", async () => {
    const throwing = new Proxy({}, { get: () => { throw new Error("trap"); } }); // biome-ignore format: one trap
    const halfway = { toolName: "t", get toolArgs() { throw new Error("trap"); } }; // biome-ignore format: one getter
    for (const bad of [undefined, null, 1, "t", {}, { toolName: 1 }, throwing, halfway]) {
      let ran = 0;
      const ignores: ToolCaller = (call, next) => {
        void next(bad as ToolCall);
        return answer(call, { result: "went on" });
      };
      const asks: ToolCaller = async (call, next) => {
        const refused = next(bad as ToolCall);
        const error = await refused.catch((thrown: unknown) => thrown);
        expect(ToolspanError.is(error, "TOOLSPAN_INVALID_CALL")).toBe(true);
        return next(call);
      };
      const tool = (): void => void (ran += 1);
      expect((await createDispatcher([ignores])({ toolName: "t" }, tool)).result).toBe("went on");
      expect((await createDispatcher([asks])({ toolName: "t" }, tool)).ok).toBe(true);
      const passes: ToolCaller = (_call, next) => next(bad as ToolCall);
      const blamed = await createDispatcher([named("passes", passes)])({ toolName: "t" }, tool);
      expect(statusLine(blamed)).toBe("tool_middleware_exception/middleware_exception");
      expect(ToolspanError.is(blamed[CAUSE], "TOOLSPAN_INVALID_CALL")).toBe(true);
      expect(ran).toBe(1);
    }
  });

  it("may ignore a late next without an unhandled rejection", async () => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    const done = gate();
    const late: ToolCaller = (call, next) => {
      void done.opened.then(() => void next(call));
      return next(call);
    };
    let ran = 0;
    await createDispatcher([late])({ toolName: "t" }, () => void (ran += 1));
    done.open();
    await turn();
    await turn();
    process.off("unhandledRejection", unhandled);
    expect([ran, unhandled.mock.calls.length]).toEqual([1, 0]);
  });

  it("may call next several times at once, and each is an attempt of its own", async () => {
    const attempts: number[] = [];
    const hedge: ToolCaller = (call, next) => Promise.race([next(call), next(call), next(call)]);
    const result = await createDispatcher([hedge, pass])({ toolName: "t" }, ({ attempt }) => {
      attempts.push(attempt);
      return attempt;
    });
    expect([attempts, result.result]).toEqual([[1, 2, 3], 1]);
  });

  it("changes nothing by standing there and passing on: the same result, the same thrown object", async () => {
    const error = Object.freeze(new Error("tool"));
    for (const [tool, read] of [
      [() => error, "result"],
      [() => { throw error; }, CAUSE], // biome-ignore format: one case
    ] as const) {
      for (const layers of [[], [pass], [pass, pass, pass]]) {
        const result = await createDispatcher(layers)({ toolName: "t" }, tool);
        expect(result[read]).toBe(error);
        expect(result.errorCategory).toBe(read === CAUSE ? "exception" : null);
      }
    }
  });

  it("keeps the thrown object of the tool through layers that spread the result", async () => {
    const thrown = new TypeError("deep");
    const spreads: ToolCaller = async (call, next) => ({ ...(await next(call)), audit: { summary: "s" } });
    const result = await createDispatcher([spreads, spreads, spreads])({ toolName: "t" }, () => {
      throw thrown;
    });
    expect(result[CAUSE]).toBe(thrown);
    expect(statusLine(result)).toBe("exception/exception");
  });

  it("names itself, not the error, when its answer cannot be read", async () => {
    const good = { ok: true, status: "ok", toolName: "t", result: 1 };
    for (const poisoned of ["audit", "settled", "ok", "toolCallId", "executor"]) {
      const hostile = new Proxy(good, {
        get(target, key) {
          if (key === poisoned) throw new Error("trap");
          return Reflect.get(target, key) as unknown;
        },
      });
      for (const extra of [[], [recordingRecorder().caller], [recordingObserver().caller]]) {
        const vague: ToolCaller = async () => hostile as never;
        const result = await createDispatcher([...extra, named("vague", vague)])({ toolName: "t" }, echo);
        expect([poisoned, result.ok || result.error?.includes("vague")]).toEqual([poisoned, true]);
      }
    }
    const unspreadable = new Proxy(good, { ownKeys: () => { throw new Error("trap"); } }); // biome-ignore format: one trap
    for (const extra of [[], [recordingRecorder().caller], [recordingObserver().caller]]) {
      const vague: ToolCaller = async (call, next) => {
        await next(call);
        return unspreadable as never;
      };
      const result = await createDispatcher([...extra, named("vague", vague)])({ toolName: "t" }, echo);
      expect([typeof result.ok, result.executed]).toEqual(["boolean", true]);
    }
  });
});
