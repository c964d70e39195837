// Laws of the terminal: one place runs the handler, catches once and classifies once.
import {
  type ArgsValidator,
  CAUSE,
  type Classify,
  createDispatcher,
  diagnostics,
  type Settled,
  type ToolCall,
  type ToolCaller,
  type ToolHandler,
  withExecutionPolicy,
} from "@toolspan/core";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { echo, gate, pass, statusLine, turn, withThen } from "../support/kernel-parts.ts";
import { recordingObserver } from "../support/recording-observer.ts";
import { recordingRecorder } from "../support/recording-recorder.ts";

let quiet: () => void;
beforeEach(() => {
  diagnostics.reset();
  quiet = diagnostics.listen(() => {});
});
afterEach(() => quiet());

const trap = (): never => {
  throw new Error("trap");
};
const abortError = (): Error => new DOMException("stop", "AbortError");

describe("the default classification", () => {
  it.each([
    [{ isError: true, content: [] }, "error/tool_error"],
    [{ is_error: true }, "error/tool_error"],
    [{ isError: false }, "ok/-"],
    [{ isError: undefined }, "ok/-"],
    [{ isError: "true" }, "ok/-"],
    [{ isError: 1 }, "ok/-"],
    [{ error: undefined, ok: 1 }, "ok/-"],
    [{ error: "text" }, "ok/-"],
    [Object.create({ isError: true }), "error/tool_error"],
    [undefined, "ok/-"],
    [null, "ok/-"],
    ["isError", "ok/-"],
    [new Error("returned, not thrown"), "ok/-"],
  ])("reads the value of isError, not the key: %o is %s", async (value, line) => {
    const observer = recordingObserver();
    const result = await createDispatcher([observer.caller, pass])({ toolName: "t" }, async () => value);
    expect(statusLine(result)).toBe(line);
    expect([result.result, CAUSE in result]).toEqual([value, false]);
    expect(observer.only().spans.at(-1)?.leaf?.errorType).toBe(line === "ok/-" ? undefined : "tool_error");
  });

  it("takes a value that cannot be read for a success, hands it out, and reports the trouble", async () => {
    const value = new Proxy({}, { get: (_, key) => (key === "then" ? undefined : trap()) });
    const result = await createDispatcher([pass])({ toolName: "t" }, () => value);
    expect([result.status, Object.is(result.result, value)]).toEqual(["ok", true]);
    expect(diagnostics.counts().get("kernel.classify threw")).toBe(1);
  });

  it("is aborted for an AbortError once the signal has fired, and an exception before", async () => {
    for (const fired of [true, false]) {
      const controller = new AbortController();
      const result = await createDispatcher([pass])({ toolName: "t", signal: controller.signal }, async () => {
        if (fired) controller.abort();
        throw abortError();
      });
      expect(statusLine(result)).toBe(fired ? "aborted/aborted" : "exception/exception");
      expect(result.executed).toBe(true);
    }
    const unsignalled = await createDispatcher([])({ toolName: "t" }, () => Promise.reject(abortError()));
    expect(statusLine(unsignalled)).toBe("exception/exception");
  });

  it("is an exception for any other throw though the signal has fired", async () => {
    const controller = new AbortController();
    const result = await createDispatcher([])({ toolName: "t", signal: controller.signal }, () => {
      controller.abort();
      throw new TypeError("bug");
    });
    expect(statusLine(result)).toBe("exception/exception");
  });

  it("follows the signal that the layers passed on", async () => {
    const controller = new AbortController();
    const brings: ToolCaller = (call, next) => next({ ...call, signal: controller.signal });
    const result = await createDispatcher([brings])({ toolName: "t" }, ({ signal }) => {
      controller.abort();
      throw signal?.reason;
    });
    expect(statusLine(result)).toBe("aborted/aborted");
  });
});

describe("classify", () => {
  it("sees what was returned or thrown, once per handler run, and decides alone", async () => {
    const seen: Settled[] = [];
    const classify: Classify = (settled) => {
      seen.push(settled);
      return { status: "error", errorCategory: "quota", error: "too much" };
    };
    const observer = recordingObserver();
    const recorder = recordingRecorder();
    const dispatch = createDispatcher([observer.caller, recorder.caller, pass], { classify });
    const result = await dispatch({ toolName: "t" }, () => ({ status: "failure" }));
    expect([statusLine(result), result.error, result.result]).toEqual([
      "error/quota",
      "too much",
      { status: "failure" },
    ]);
    expect(seen).toEqual([{ threw: false, value: { status: "failure" } }]);
    const { spans, ends } = observer.only();
    const types = [
      recorder.only().errorType,
      ends[0]?.errorType,
      ends[0]?.finalErrorType,
      spans.at(-1)?.leaf?.errorType,
    ];
    expect(types).toEqual(["quota", "quota", "quota", "quota"]);
    const thrown = new RangeError("x");
    const failed = await dispatch({ toolName: "t" }, () => {
      throw thrown;
    });
    expect([failed[CAUSE] === thrown, statusLine(failed), recorder.outcomes[1]?.errorType]).toEqual([true, "error/quota", "RangeError"]); // biome-ignore format: one row
  });

  it("that answers nothing, or no status of the table, leaves it to the default", async () => {
    for (const word of [undefined, null, {}, { status: "splendid" }, { status: "toString" }, "ok"]) {
      const dispatch = createDispatcher([], { classify: () => word as never });
      expect(statusLine(await dispatch({ toolName: "t" }, () => ({ isError: true })))).toBe("error/tool_error");
      expect(statusLine(await dispatch({ toolName: "t" }, trap))).toBe("exception/exception");
    }
  });

  it("that throws counts as ok where the tool returned, and is reported", async () => {
    const dispatch = createDispatcher([], { classify: trap });
    expect(statusLine(await dispatch({ toolName: "t" }, () => ({ isError: true })))).toBe("ok/-");
    expect(statusLine(await dispatch({ toolName: "t" }, trap))).toBe("exception/exception");
    expect(diagnostics.counts().get("kernel.classify threw")).toBe(2);
  });

  it("may name any status, and ok follows from it", async () => {
    for (const [status, ok] of [
      ["redacted", true],
      ["suspended", false],
      ["rate_limited", false],
    ] as const) {
      const result = await createDispatcher([], { classify: () => ({ status }) })({ toolName: "t" }, echo);
      expect([result.status, result.ok, result.errorCategory]).toEqual([status, ok, ok ? null : status]);
    }
  });
});

describe("the error type", () => {
  it.each([
    [new TypeError("x"), "TypeError"],
    [Object.assign(new Error("x"), { name: "My.Error_1$" }), "My.Error_1$"],
    [Object.assign(new Error("x"), { name: "secret token 123" }), "exception"],
    [Object.assign(new Error("x"), { name: `A${"a".repeat(64)}` }), "exception"],
    ["a string", "exception"],
    [undefined, "exception"],
    [new Proxy({}, {}), "exception"],
  ])("of a thrown %o is %s, the same for span, record and receipt", async (thrown, type) => {
    const observer = recordingObserver();
    const recorder = recordingRecorder();
    await createDispatcher([observer.caller, recorder.caller])({ toolName: "t" }, () => {
      throw thrown;
    });
    const [end] = observer.only().ends;
    expect([observer.only().spans[0]?.leaf?.errorType, end?.errorType, recorder.only().errorType]).toEqual([type, type, type]); // biome-ignore format: one row
  });
});

describe("something thrown that cannot be read", () => {
  it("is kept as it is, and has the category for a type", async () => {
    const thrown = new Proxy(new Error("x"), { get: trap, has: trap });
    const result = await createDispatcher([pass])({ toolName: "t" }, () => {
      throw thrown;
    });
    expect([Object.is(result[CAUSE], thrown), statusLine(result)]).toEqual([true, "exception/exception"]);
    expect(result.error).toBe("a value that has no text was thrown");
  });
});

describe("the handler", () => {
  it("is called once, with the call as the layers left it, and with no this", async () => {
    const seen: unknown[] = [];
    const rewrite: ToolCaller = (call, next) => next({ ...call, toolArgs: 2 });
    async function tool(this: unknown, ...given: unknown[]): Promise<void> {
      seen.push(this, ...given);
    }
    const native = Symbol("native");
    await createDispatcher([rewrite])(
      { toolName: "t", toolArgs: 1, native, meta: { tenant: "a" } },
      tool as ToolHandler,
    );
    expect(seen).toEqual([undefined, expect.objectContaining({ toolName: "t", toolArgs: 2, attempt: 1, native, meta: { tenant: "a" } })]); // biome-ignore format: one row
  });

  it("does not run under another name than the one that is recorded", async () => {
    const rename: ToolCaller = (call, next) => next({ ...call, toolName: "wipe" });
    const ran: unknown[] = [];
    const result = await createDispatcher([rename])({ toolName: "read", toolArgs: {} }, (call) => ran.push(call));
    expect([statusLine(result), ran, result.executed]).toEqual(["policy_blocked/tool_renamed", [], false]);
  });

  it("is out of reach of the layers", async () => {
    const reached: unknown[] = [];
    const layer: ToolCaller = (call, next, scope) => {
      reached.push((scope.dispatch as { readonly handler?: unknown }).handler);
      return next(call);
    };
    await createDispatcher([layer])({ toolName: "t" }, () => 1);
    expect(reached).toEqual([undefined]);
  });

  it("that is missing or no function is no executor", async () => {
    for (const tool of [undefined, null, {}, "tool"]) {
      const result = await createDispatcher([pass])({ toolName: "t" }, tool as never);
      expect([statusLine(result), result.executed]).toEqual(["executor_error/no_executor", false]);
    }
  });

  it("may answer with a promise whose then is of its own making, and settles once", async () => {
    const twice = (ok: (value: string) => void): unknown => [ok("once"), ok("twice")];
    const calledTwice = withThen(Promise.resolve("value"), { value: twice });
    const throwsInThen = withThen(Promise.resolve("value"), { value: trap });
    const oddConstructor = Object.defineProperty(Promise.resolve("value"), "constructor", { get: trap });
    const recorder = recordingRecorder();
    const dispatch = createDispatcher([recorder.caller, pass]);
    const results = [];
    for (const given of [calledTwice, throwsInThen, oddConstructor])
      results.push(await dispatch({ toolName: "t" }, () => given));
    expect(results.map(({ status }) => status)).toEqual(["ok", "ok", "exception"]);
    expect([recorder.outcomes.length, recorder.late.length]).toEqual([3, 0]);
    const layered = createDispatcher([() => throwsInThen as never]);
    expect((await layered({ toolName: "t" }, echo)).errorCategory).toBe("middleware_incomplete");
  });

  it("may answer with a thenable; one that throws is an exception with that very object", async () => {
    const thrown = new Error("then");
    const thenable = withThen({}, { get: () => { throw thrown; } }); // biome-ignore format: one getter
    const result = await createDispatcher([pass])({ toolName: "t" }, () => thenable);
    expect([result.status, result[CAUSE] === thrown]).toEqual(["exception", true]);
  });

  it("has its time measured over all attempts, and nobody else's", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const waits: ToolCaller = async (call, next) => {
      vi.advanceTimersByTime(20);
      await next(call);
      vi.advanceTimersByTime(20);
      return next(call);
    };
    const result = await createDispatcher([waits])({ toolName: "t" }, async () => {
      vi.advanceTimersByTime(5);
      await Promise.resolve();
      vi.advanceTimersByTime(2);
    });
    vi.useRealTimers();
    expect(result.executionDurationMs).toBe(14);
  });

  it("is kept from an aborted call, also one that is aborted while its arguments are checked", async () => {
    const controller = new AbortController();
    let ran = 0;
    const dispatch = createDispatcher([pass], {
      validator: async () => {
        controller.abort();
        return [];
      },
    });
    const result = await dispatch({ toolName: "t", signal: controller.signal }, () => void (ran += 1));
    expect([statusLine(result), result.executed, ran]).toEqual(["aborted/aborted", false, 0]);
  });
});

describe("the validator of arguments", () => {
  const dispatchWith = (validator: ArgsValidator, ...layers: ToolCaller[]) => createDispatcher(layers, { validator });

  it("refuses with the places that do not fit, and sees the call as the layers left it", async () => {
    const seen: unknown[] = [];
    const validator = async ({ toolArgs }: ToolCall) => {
      seen.push(toolArgs);
      return [
        { path: "", message: "must have n" },
        { path: "/n", message: "must be a number" },
      ];
    };
    const rewrite: ToolCaller = (call, next) => next({ ...call, toolArgs: { n: "x" } });
    const result = await dispatchWith(validator, rewrite)({ toolName: "t", toolArgs: 1 }, echo);
    expect(statusLine(result)).toBe("schema_violation/schema_violation");
    expect(result.error).toBe("arguments: must have n; /n: must be a number");
    expect(seen).toEqual([{ n: "x" }]);
  });

  it("that throws or rejects fails closed, and is reported", async () => {
    let ran = 0;
    for (const validator of [trap, async () => trap()]) {
      const result = await dispatchWith(validator)({ toolName: "t" }, () => void (ran += 1));
      expect(statusLine(result)).toBe("schema_violation/validator_failed");
    }
    expect([ran, diagnostics.counts().get("kernel.validator threw")]).toEqual([0, 2]);
  });

  it("runs at every attempt, and not for a call that is refused before", async () => {
    let checks = 0;
    const validator: ArgsValidator = () => {
      checks += 1;
      return [];
    };
    const twice: ToolCaller = async (call, next) => {
      await next(call);
      return next(call);
    };
    await dispatchWith(validator, twice)({ toolName: "t" }, echo);
    await dispatchWith(validator)({ toolName: "t" }, undefined);
    expect(checks).toBe(2);
  });
});

describe("the policy scope", () => {
  it("reaches the terminal through awaits of the layers, and not beyond its function", async () => {
    const slow: ToolCaller = async (call, next) => {
      await turn();
      return next(call);
    };
    const dispatch = createDispatcher([slow]);
    const run = () => dispatch({ toolName: "shell" }, echo);
    const inside = withExecutionPolicy({ deniedTools: ["shell"] }, run);
    const outside = run();
    expect([(await inside).status, (await outside).status]).toEqual(["policy_blocked", "ok"]);
  });

  it("goes before everything else: an offending call is not even validated", async () => {
    let checks = 0;
    const validator: ArgsValidator = () => {
      checks += 1;
      return [];
    };
    const result = await withExecutionPolicy({ allowedTools: [] }, () =>
      createDispatcher([], { validator })({ toolName: "t", rawArgs: "{" }, undefined),
    );
    expect([result.status, checks]).toEqual(["policy_blocked", 0]);
  });
});

describe("an intent", () => {
  it("is awaited before each attempt, and one that fails keeps the handler from running", async () => {
    const order: string[] = [];
    const fails = new Error("disk full");
    const recorder = recordingRecorder({
      async intent({ attempt }) {
        await turn();
        order.push(`intent ${attempt}`);
        if (attempt === 2) throw fails;
      },
    });
    const retry: ToolCaller = async (call, next) => {
      await next(call);
      return next(call);
    };
    const result = await createDispatcher([recorder.caller, retry])(
      { toolName: "t", toolArgs: { a: 1 } },
      ({ attempt }) => {
        order.push(`tool ${attempt}`);
      },
    );
    expect(order).toEqual(["intent 1", "tool 1", "intent 2"]);
    expect([statusLine(result), result[CAUSE] === fails]).toEqual(["tool_middleware_exception/receipt_failed", true]);
    expect(recorder.only().attempts).toBe(1);
    expect(recorder.intents[0]?.executedArgs).toEqual(recorder.only().dispatch.argsDigest);
  });

  it("whose call is given up meanwhile leads to no handler run and to no late settlement", async () => {
    const written = gate();
    const recorder = recordingRecorder({ intent: () => written.opened });
    const giveUp: ToolCaller = (call, next) => {
      void next(call);
      return { ok: false, status: "timeout", toolName: call.toolName, observation: "late" };
    };
    let ran = 0;
    const result = await createDispatcher([recorder.caller, giveUp])({ toolName: "t" }, () => void (ran += 1));
    written.open();
    await turn();
    expect([result.executed, ran, recorder.late]).toEqual([false, 0, []]);
  });
});
