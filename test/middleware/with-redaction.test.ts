// Laws of withRedaction: what was masked inside is seen by nobody outside, and what cannot be masked goes nowhere.
import {
  CAUSE,
  createDispatcher,
  type DispatchResult,
  defineLayer,
  diagnostics,
  type LayerScope,
  type ToolCallAuditEvent,
  type ToolCallInput,
} from "@toolspan/core";
import { composeRedactors, type Redactor, withRedaction } from "@toolspan/middleware/with-redaction";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { dispatchOnce, layerContract, optionContract } from "../support/layer-contract.ts";
import { recordingObserver } from "../support/recording-observer.ts";

beforeEach(() => {
  diagnostics.reset();
  diagnostics.listen(() => {});
});

const SECRET = "canary-5ecret";
const MASK = "[masked]";

/** Masks the canary wherever a text holds it: values, keys, nested. */
const canary: Redactor = ({ phase, args, result }) => {
  let count = 0;
  const mask = (value: unknown): unknown => {
    if (typeof value === "string" && value.includes(SECRET)) {
      count += 1;
      return value.replaceAll(SECRET, MASK);
    }
    if (typeof value !== "object" || value === null) return value;
    const before = count;
    const copy = Array.isArray(value)
      ? value.map(mask)
      : Object.fromEntries(Object.entries(value).map(([key, inner]) => [mask(key), mask(inner)]));
    return count === before ? value : copy;
  };
  const masked = mask(phase === "in" ? args : result);
  const found = count === 0 ? {} : { redactedFields: ["secret"], redactionRules: { canary: count } };
  return phase === "in" ? { args: masked, ...found } : { result: masked, ...found };
};

layerContract("with_redaction", { pass: () => withRedaction(() => ({})), audits: true });

optionContract("withRedaction", [
  ["redactor", () => withRedaction(undefined as never)],
  ["redactor", () => withRedaction({} as never)],
  ["options", () => withRedaction(canary, null as never)],
  ["streams", () => withRedaction(canary, { streams: "no" as never })],
  ["fields", () => withRedaction(canary, { fields: [] } as never)],
]);

const call: ToolCallInput = { toolName: "login", toolArgs: { user: "u", token: SECRET }, callId: "c1" };

function holdsSecret(value: unknown): boolean {
  const seen = new Set<unknown>();
  const look = (inner: unknown): boolean => {
    if (typeof inner === "string") return inner.includes(SECRET);
    if (typeof inner !== "object" || inner === null || seen.has(inner)) return false;
    seen.add(inner);
    return Reflect.ownKeys(inner).some((key) => String(key).includes(SECRET) || look(Reflect.get(inner, key)));
  };
  return look(value);
}

describe("on the way in", () => {
  it("the tool gets the masked arguments, and the record says that they were changed", async () => {
    const handler = vi.fn(() => "done");
    const { result, runs } = await dispatchOnce([withRedaction(canary)], call, handler);
    expect(handler).toHaveBeenCalledWith(expect.objectContaining({ toolArgs: { user: "u", token: MASK } }));
    expect(runs[0]).toMatchObject({ status: "redacted", argsChanged: true });
    expect(result.arguments).toEqual({ user: "u", token: MASK });
    expect(result.audit?.metadata).toEqual({ redacted_fields: ["secret"], redaction_rules: { canary: 1 } });
  });

  it("the raw text of arguments does not slip past: masked where it is all there is, else left out", async () => {
    const seen: unknown[] = [];
    const look = defineLayer({
      name: "with_look",
      call: (passed, next) => {
        seen.push(passed.rawArgs);
        return next(passed);
      },
    });
    const rawArgs = `{"token":"${SECRET}"}`;
    const dispatch = createDispatcher([withRedaction(canary), look]);
    await dispatch({ toolName: "t", toolArgs: { token: SECRET }, rawArgs }, () => 1);
    await dispatch({ toolName: "t", rawArgs }, () => 1);
    await dispatch({ toolName: "t", toolArgs: { a: 1 }, rawArgs: '{"a":1}' }, () => 1);
    expect(seen).toEqual([undefined, `{"token":"${MASK}"}`, '{"a":1}']);
  });

  it("where nothing is masked everything stays the same object, and the audit is silent", async () => {
    const toolArgs = { user: "u" };
    const value = { fine: true };
    const handler = vi.fn(() => value);
    const { result, runs } = await dispatchOnce([withRedaction(canary)], { ...call, toolArgs }, handler);
    expect(handler.mock.calls[0]).toEqual([expect.objectContaining({ toolArgs })]);
    expect((handler.mock.calls as unknown as { toolArgs: unknown }[][])[0]?.[0]?.toolArgs).toBe(toolArgs);
    expect([result.result, runs[0]?.status, result.audit]).toEqual([value, "ok", undefined]);
    expect(result.result).toBe(value);
  });
});

describe("on the way out", () => {
  it.each<[string, () => unknown]>([
    ["a text", () => `token ${SECRET}`],
    ["a value deep inside", () => ({ a: [{ b: { c: SECRET } }] })],
    ["a key", () => ({ [SECRET]: 1 })],
    ["a soft error", () => ({ isError: true, content: [{ type: "text", text: SECRET }] })],
  ])("masks %s of a result", async (_, handler) => {
    const { result } = await dispatchOnce([withRedaction(canary)], { toolName: "t" }, handler);
    expect(holdsSecret(result)).toBe(false);
    expect(JSON.stringify(result.result)).toContain(MASK);
  });

  it("masks what was thrown in a copy of its kind: message, stack, fields, causes, errors inside", async () => {
    class LoginError extends Error {
      override readonly name = "LoginError";
      readonly config = { headers: { authorization: SECRET } };
    }
    const thrown = new LoginError(`bad token ${SECRET}`, { cause: new AggregateError([new Error(SECRET)], SECRET) });
    const { result } = await dispatchOnce([withRedaction(canary)], { toolName: "t" }, () => {
      throw thrown;
    });
    expect(result).toMatchObject({ status: "exception", error: `bad token ${MASK}` });
    const cause = result[CAUSE] as LoginError;
    expect(cause).not.toBe(thrown);
    expect(cause).toBeInstanceOf(LoginError);
    expect([cause.name, cause.message, cause.config.headers.authorization]).toEqual([
      "LoginError",
      `bad token ${MASK}`,
      MASK,
    ]);
    expect(cause.cause).toBeInstanceOf(AggregateError);
    expect(holdsSecret(result)).toBe(false);
    expect(holdsSecret(thrown)).toBe(true);
  });

  it("leaves an error in which there is nothing to mask the same object", async () => {
    const thrown = new TypeError("plain", { cause: { code: 7 } });
    const { result } = await dispatchOnce([withRedaction(canary)], { toolName: "t" }, () => {
      throw thrown;
    });
    expect(result[CAUSE]).toBe(thrown);
  });

  it("does not follow causes without end", async () => {
    const thrown = new Error("a");
    thrown.cause = thrown;
    const { result } = await dispatchOnce([withRedaction(canary)], { toolName: "t" }, () => {
      throw thrown;
    });
    expect([result.status, result.error]).toEqual(["exception", "a"]);
  });

  it("masks every field of a result that can hold content, known or not", async () => {
    const careless = defineLayer({
      name: "with_careless",
      async call(passed, next) {
        const extra = { renderedResult: SECRET, approval: { reason: SECRET }, notes: [SECRET] };
        return { ...(await next(passed)), ...extra, arguments: { token: SECRET }, observation: SECRET };
      },
    });
    const { result } = await dispatchOnce([withRedaction(canary), careless], { toolName: "t" }, () => 1);
    expect(holdsSecret(result)).toBe(false);
    expect(result).toMatchObject({ renderedResult: MASK, observation: MASK, notes: [MASK], result: 1 });
  });
});

describe("the audit blob", () => {
  const says = (audit: Record<string, unknown>) =>
    defineLayer({
      name: "with_words",
      async call(passed, next, scope: LayerScope) {
        scope.report({ attributes: { note: SECRET } });
        return { ...(await next(passed)), audit };
      },
    });

  it.each(["outside", "inside"])(
    "is masked in all that listeners hear, with the layer %s of those that speak",
    async (where) => {
      const events: ToolCallAuditEvent[] = [];
      const loud = says({ summary: SECRET, metadata: { [SECRET]: SECRET }, free: [SECRET] });
      const layers = where === "outside" ? [withRedaction(canary), loud] : [loud, withRedaction(canary)];
      const result = await createDispatcher(layers, { onAudit: (event) => events.push(event) })(
        { toolName: "t" },
        () => 1,
      );
      expect(events).toHaveLength(1);
      expect(holdsSecret(events)).toBe(false);
      expect(holdsSecret(result)).toBe(false);
      expect(result.audit).toMatchObject({ summary: MASK, free: [MASK] });
      const record = result.audit?.layers?.find(({ name }) => name === "with_words");
      expect(record).toMatchObject({ attributes: { note: MASK }, status: "ok" });
    },
  );

  it("keeps metadata that others put there", async () => {
    const { result } = await dispatchOnce([withRedaction(canary), says({ metadata: { ticket: 7 } })], call, () => 1);
    expect(result.audit?.metadata).toMatchObject({ ticket: 7, redacted_fields: ["secret"] });
  });
});

describe("what comes past the layer", () => {
  it("words of a layer further out are masked in the result that leaves", async () => {
    const outer = defineLayer({
      name: "with_outer",
      async call(passed, next) {
        await next(passed);
        return {
          ok: false,
          status: "error",
          toolName: "t",
          error: SECRET,
          observation: SECRET,
          [CAUSE]: new Error(SECRET),
        };
      },
    });
    const { result } = await dispatchOnce([outer, withRedaction(canary)], { toolName: "t" }, () => 1);
    expect(result.status).toBe("error");
    expect(holdsSecret(result)).toBe(false);
  });

  it("observers are given arguments and messages masked, and what nobody records costs nothing", async () => {
    const watching = recordingObserver();
    const dispatch = createDispatcher([watching.caller, withRedaction(canary)]);
    await dispatch({ ...call, rawArgs: SECRET, native: { token: SECRET } }, () => 1);
    await dispatch.model({ model: "m", iteration: 1, inputMessages: [SECRET] }, async (report) =>
      report({ outputMessages: [SECRET] }),
    );
    const seen = watching.dispatches[0]?.ends[0]?.contentCall();
    expect(seen).toMatchObject({ toolArgs: { user: "u", token: MASK }, rawArgs: MASK, native: undefined });
    const [operation] = watching.operations;
    expect([operation?.info, operation?.reports]).toMatchObject([
      { inputMessages: [MASK] },
      [{ outputMessages: [MASK] }],
    ]);
    const redactor = vi.fn(canary);
    const unwatched = createDispatcher([withRedaction(redactor)]);
    await unwatched.model({ model: "m", iteration: 1, inputMessages: [SECRET] }, async () => 1);
    expect(redactor).not.toHaveBeenCalled();
  });

  it("is not masked twice: what left the layer is left alone", async () => {
    const redactor = vi.fn(canary);
    await createDispatcher([withRedaction(redactor)])({ toolName: "t", toolArgs: 1 }, () => "v");
    expect(redactor.mock.calls.filter(([{ part }]) => part === "result")).toHaveLength(1);
  });
});

describe("a redactor that fails", () => {
  const broken = (phase: "in" | "out"): Redactor[] => [
    (input) => {
      if (input.phase === phase) throw new Error(SECRET);
      return {};
    },
    (input) => (input.phase === phase ? (undefined as never) : {}),
    (input) => (input.phase === phase ? ("text" as never) : {}),
    (input) => (input.phase === phase ? ([] as never) : {}),
    (input) => (input.phase === phase ? (Promise.resolve({}) as never) : {}),
    (input) => (input.phase === phase ? ({ redactedFields: "all" } as never) : {}),
  ];

  it.each(broken("in").map((redactor, i) => [i, redactor] as const))(
    "on the way in keeps the tool from running (%i)",
    async (_, redactor) => {
      const handler = vi.fn();
      const { result, runs } = await dispatchOnce([withRedaction(redactor)], call, handler);
      expect(handler).not.toHaveBeenCalled();
      expect(result).toMatchObject({
        status: "tool_middleware_exception",
        errorCategory: "redaction_failed",
        executed: false,
      });
      expect(holdsSecret(result)).toBe(false);
      expect(runs[0]?.status).toBe("failed");
    },
  );

  it.each(broken("out").map((redactor, i) => [i, redactor] as const))(
    "on the way out keeps the result from leaving (%i)",
    async (_, redactor) => {
      const { result, runs } = await dispatchOnce([withRedaction(redactor)], { toolName: "t" }, () => SECRET);
      expect(result).toMatchObject({
        status: "tool_middleware_exception",
        errorCategory: "redaction_failed",
        executed: true,
      });
      expect(holdsSecret(result)).toBe(false);
      expect(runs[0]).toMatchObject({ status: "failed", attributes: { phase: "out" } });
    },
  );

  it("is said once, without what it threw", async () => {
    const heard: string[] = [];
    diagnostics.listen(({ message }) => heard.push(message));
    const redactor: Redactor = () => {
      throw new Error(SECRET);
    };
    await dispatchOnce([withRedaction(redactor)], call, () => 1);
    expect(heard.length).toBeGreaterThan(0);
    expect(holdsSecret(heard)).toBe(false);
  });

  it("on a text must answer with a text", async () => {
    const redactor: Redactor = ({ phase, result }) =>
      phase === "out" && typeof result === "string" ? { result: 7 } : {};
    const { result } = await dispatchOnce([withRedaction(redactor)], { toolName: "t" }, () => {
      throw new Error("words");
    });
    expect(result.errorCategory).toBe("redaction_failed");
  });
});

describe("a stream", () => {
  async function* spoken(...items: unknown[]): AsyncGenerator<unknown> {
    yield* items;
  }
  const read = async (result: DispatchResult): Promise<unknown[]> => {
    const items: unknown[] = [];
    for await (const item of result.result as AsyncIterable<unknown>) items.push(item);
    return items;
  };

  it("is masked as a whole, so that a secret spread over its texts is seen", async () => {
    const dispatch = createDispatcher([withRedaction(canary)]);
    const result = await dispatch({ toolName: "t" }, () => spoken("a canary-", "5ecret b", { k: SECRET }, "c", "d"));
    expect(await read(result)).toEqual([`a ${MASK} b`, { k: MASK }, "c", "d"]);
    expect(await result.settled).toMatchObject({ ok: true, status: "ok" });
  });

  it("is masked item by item where that is asked for, as it comes", async () => {
    const dispatch = createDispatcher([withRedaction(canary, { streams: "each_item" })]);
    let released = false;
    const result = await dispatch({ toolName: "t" }, async function* () {
      yield SECRET;
      released = true;
      yield "b";
    });
    const items = result.result as AsyncIterator<unknown>;
    expect(await items.next()).toEqual({ done: false, value: MASK });
    expect(released).toBe(false);
    expect(await items.next()).toEqual({ done: false, value: "b" });
    expect((await items.next()).done).toBe(true);
  });

  it.each(["whole", "each_item"] as const)(
    "that breaks off does so masked, for its reader and in the result (%s)",
    async (streams) => {
      const dispatch = createDispatcher([withRedaction(canary, { streams })]);
      const result = await dispatch({ toolName: "t" }, async function* () {
        yield "a";
        throw new Error(SECRET);
      });
      const items: unknown[] = [];
      const reading = (async () => {
        for await (const item of result.result as AsyncIterable<unknown>) items.push(item);
      })();
      await expect(reading).rejects.toThrow(MASK);
      expect(items).toEqual(["a"]);
      const settled = await result.settled;
      expect(settled).toMatchObject({ ok: false, status: "exception", error: MASK });
      expect(holdsSecret(settled)).toBe(false);
    },
  );

  it.each(["whole", "each_item"] as const)("ends early when its reader leaves (%s)", async (streams) => {
    const closed = vi.fn();
    const dispatch = createDispatcher([withRedaction(canary, { streams })]);
    const result = await dispatch({ toolName: "t" }, async function* () {
      try {
        yield "a";
        yield "b";
      } finally {
        closed();
      }
    });
    await (result.result as AsyncGenerator).return(undefined);
    expect((await result.settled)?.ok).toBe(true);
    expect(closed).toHaveBeenCalledTimes(0); // never started: nothing to close
    const other = await dispatch({ toolName: "t" }, () => spoken("a", "b"));
    const items = other.result as AsyncGenerator;
    expect((await items.next()).value).toBe("a");
    expect(await items.return(undefined)).toMatchObject({ done: true });
    expect((await other.settled)?.ok).toBe(true);
  });

  it("of which an item cannot be masked fails, and does not hand it out", async () => {
    const redactor: Redactor = ({ phase, result }) => {
      if (phase === "out" && result === "b") throw new Error("no");
      return {};
    };
    const dispatch = createDispatcher([withRedaction(redactor, { streams: "each_item" })]);
    const result = await dispatch({ toolName: "t" }, () => spoken("a", "b", "c"));
    const items: unknown[] = [];
    const reading = (async () => {
      for await (const item of result.result as AsyncIterable<unknown>) items.push(item);
    })();
    await expect(reading).rejects.toThrow("could not be redacted");
    expect(items).toEqual(["a"]);
    expect((await result.settled)?.ok).toBe(false);
  });
});

describe("composeRedactors", () => {
  it("applies first to last, each to what the one before left, and adds up what they found", async () => {
    const first: Redactor = ({ args }) => ({
      args: `${String(args)}1`,
      redactedFields: ["a"],
      redactionRules: { x: 1, y: 1 },
    });
    const second: Redactor = ({ args }) => ({
      args: `${String(args)}2`,
      redactedFields: ["b", "a"],
      redactionRules: { y: 2 },
    });
    const silent: Redactor = () => ({});
    const both = composeRedactors(first, silent, second);
    expect(both({ phase: "in", part: "args", toolName: "t", args: "0", result: undefined })).toEqual({
      args: "012",
      redactedFields: ["a", "b"],
      redactionRules: { x: 1, y: 3 },
    });
  });

  it("of nothing masks nothing, and fails where one of them fails", async () => {
    const input = { phase: "out", part: "result", toolName: "t", args: 1, result: 2 } as const;
    expect(composeRedactors()(input)).toEqual({});
    expect(() =>
      composeRedactors(
        () => ({}),
        () => undefined as never,
      )(input),
    ).toThrow(TypeError);
  });
});
