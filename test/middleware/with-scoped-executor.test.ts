// Laws of withScopedExecutor: a scope only tightens, binds everything inside, and says under which stage a call was refused.
import {
  CAUSE,
  createDispatcher,
  defineLayer,
  type ToolCallInput,
  ToolspanError,
  withExecutionPolicy,
} from "@toolspan/core";
import { withConsent } from "@toolspan/middleware/with-consent";
import { type ScopedExecutorOptions, withScopedExecutor } from "@toolspan/middleware/with-scoped-executor";
import { describe, expect, it, vi } from "vitest";
import { dispatchOnce, layerContract, optionContract } from "../support/layer-contract.ts";

layerContract("with_scoped_executor", {
  pass: () => withScopedExecutor({ allowedTools: ["tool"] }),
  stop: {
    make: () => withScopedExecutor({ allowedTools: ["other"] }),
    status: "scope_violation",
    layerStatus: "violation",
  },
  audits: true,
});

optionContract("withScopedExecutor", [
  ["options", () => withScopedExecutor(5 as never)],
  ["stage", () => withScopedExecutor({ stage: "" })],
  ["stage", () => withScopedExecutor({ stage: 1 as never })],
  ["allowedTools", () => withScopedExecutor({ allowedTools: "read" as never })],
  ["allowedTools", () => withScopedExecutor({ allowedTools: [1 as never] })],
  ["deniedTools", () => withScopedExecutor({ deniedTools: {} as never })],
  ["sideEffectLevel", () => withScopedExecutor({ sideEffectLevel: "disk" as never })],
  ["capabilities", () => withScopedExecutor({ capabilities: [] as never })],
  ["capabilities.fs", () => withScopedExecutor({ capabilities: { fs: "read" } as never })],
  ["toolArgs.t.path.pattern", () => withScopedExecutor({ toolArgs: { t: { path: { pattern: "(" } } } })],
  ["onViolation", () => withScopedExecutor({ onViolation: "throw" as never })],
  ["allowed_tools", () => withScopedExecutor({ allowed_tools: [] } as never)],
]);

const read: ToolCallInput = {
  toolName: "read_file",
  toolArgs: { path: "/srv/a" },
  callId: "c1",
  sideEffectLevel: "read_only",
  capabilities: { fs: ["read"] },
};

describe("a call", () => {
  it.each<[string, ScopedExecutorOptions, string | null]>([
    ["with no restriction", {}, null],
    ["with an empty list of tools, which restricts none", { allowedTools: [] }, null],
    ["of an allowed tool", { allowedTools: ["read_file"] }, null],
    ["of another tool", { allowedTools: ["search"] }, "allowed_tools"],
    ["of a denied tool", { deniedTools: ["read_file"] }, "denied_tools"],
    ["below its level", { sideEffectLevel: "none" }, "side_effect_level"],
    ["at its level", { sideEffectLevel: "read_only" }, null],
    ["above its level", { sideEffectLevel: "process_exec" }, null],
    ["with its capability", { capabilities: { fs: ["read", "list"] } }, null],
    ["without its operation", { capabilities: { fs: ["list"] } }, "capabilities"],
    ["with an argument that fits", { toolArgs: { read_file: { path: { pattern: "/srv/.*" } } } }, null],
    ["with an argument that does not", { toolArgs: { read_file: { path: { oneOf: ["/srv/b"] } } } }, "tool_args"],
    ["with constraints of another tool", { toolArgs: { write: { path: { oneOf: [] } } } }, null],
  ])("%s", async (_, options, rule) => {
    const handler = vi.fn(() => "ran");
    const { result, runs } = await dispatchOnce([withScopedExecutor({ stage: "research", ...options })], read, handler);
    expect(result.status).toBe(rule === null ? "ok" : "scope_violation");
    expect(handler).toHaveBeenCalledTimes(rule === null ? 1 : 0);
    const attributes = rule === null ? { stage: "research" } : { stage: "research", rule };
    expect(runs[0]).toMatchObject({ status: rule === null ? "ok" : "violation", attributes });
    expect(result.audit?.scope?.stage).toBe("research");
  });

  it("that declares no level and no capability counts as the worst", async () => {
    const bare = { toolName: "t" };
    for (const options of [{ sideEffectLevel: "process_exec" as const }, { capabilities: { fs: ["read"] } }]) {
      expect((await dispatchOnce([withScopedExecutor(options)], bare, () => 1)).result.status).toBe("scope_violation");
    }
    const { result } = await dispatchOnce([withScopedExecutor({ sideEffectLevel: "network" })], bare, () => 1);
    expect(result.status).toBe("ok");
  });

  it("that is refused is told in one sentence, without its arguments", async () => {
    const options = { stage: "research", toolArgs: { read_file: { path: { oneOf: ["/srv/b"] } } } };
    const { result } = await dispatchOnce([withScopedExecutor(options)], read, () => 1);
    expect(result.error).toBe(
      'argument "path" of tool "read_file" does not fit the policy of stage "research"; not run',
    );
    expect(result.errorCategory).toBe("scope_violation");
  });

  it("that is refused asks nobody", async () => {
    const prompt = vi.fn(() => true);
    await dispatchOnce([withScopedExecutor({ allowedTools: ["search"] }), withConsent(prompt)], read, () => 1);
    expect(prompt).not.toHaveBeenCalled();
  });
});

describe("audit.scope", () => {
  it("holds stage, tools and level, and nothing that was not said", async () => {
    const seen = [];
    for (const options of [{}, { stage: "s", allowedTools: ["read_file"], sideEffectLevel: "network" as const }]) {
      seen.push((await dispatchOnce([withScopedExecutor(options)], read, () => 1)).result.audit?.scope);
    }
    expect(seen).toEqual([
      { stage: "scoped" },
      { stage: "s", allowed_tools: ["read_file"], side_effect_level: "network" },
    ]);
  });

  it("of scopes inside scopes is what they leave together, under the inner stage", async () => {
    const outer = withScopedExecutor({
      stage: "outer",
      allowedTools: ["a", "read_file"],
      sideEffectLevel: "read_only",
    });
    const inner = withScopedExecutor({ stage: "inner", allowedTools: ["read_file", "b"], sideEffectLevel: "network" });
    for (const layers of [[outer, inner]]) {
      const { result } = await dispatchOnce(layers, read, () => 1);
      expect(result.audit?.scope).toEqual({
        stage: "inner",
        allowed_tools: ["read_file"],
        side_effect_level: "read_only",
      });
    }
    const { result } = await dispatchOnce([outer, withScopedExecutor({ stage: "inner" })], read, () => 1);
    expect(result.audit?.scope).toMatchObject({ stage: "inner", allowed_tools: ["a", "read_file"] });
  });
});

describe("a scope", () => {
  it("binds what layers further in make of the call", async () => {
    const rename = defineLayer({
      name: "with_rename",
      traits: { rewritesArgs: "any" },
      call: (call, next) => next({ ...call, toolName: "delete_file" }),
    });
    const handler = vi.fn();
    const { result } = await dispatchOnce([withScopedExecutor({ allowedTools: ["read_file"] }), rename], read, handler);
    expect([result.status, handler.mock.calls.length]).toEqual(["policy_blocked", 0]);
  });

  it("binds the tools that a tool calls in turn, and ends with the dispatch", async () => {
    const inner = createDispatcher([]);
    const outer = createDispatcher([withScopedExecutor({ sideEffectLevel: "read_only" })]);
    const write: ToolCallInput = { toolName: "write_file", sideEffectLevel: "workspace_write" };
    const nested = await outer(read, async () => (await inner(write, () => 1)).status);
    expect(nested.result).toBe("policy_blocked");
    expect((await inner(write, () => 1)).status).toBe("ok");
  });

  it("binds what a tool does while its stream is read", async () => {
    const inner = createDispatcher([]);
    const outer = createDispatcher([withScopedExecutor({ allowedTools: ["read_file"] })]);
    const call = async (): Promise<string> => (await inner({ toolName: "write_file" }, () => 1)).status;
    const result = await outer(read, async function* () {
      try {
        yield await call();
        yield await call();
      } finally {
        closing.push(await call());
      }
    });
    const closing: string[] = [];
    const stream = result.result as AsyncGenerator<string>;
    const items = [(await stream.next()).value, (await stream.next()).value];
    await stream.return(undefined);
    expect([...items, ...closing]).toEqual(["policy_blocked", "policy_blocked", "policy_blocked"]);
    expect(await call()).toBe("ok");
    expect(await result.settled).toMatchObject({ status: "ok", audit: { scope: { stage: "scoped" } } });
  });

  it("tightens the policy around it and never widens it", async () => {
    const dispatch = createDispatcher([
      withScopedExecutor({ allowedTools: ["read_file"], sideEffectLevel: "network" }),
    ]);
    const result = await withExecutionPolicy({ deniedTools: ["read_file"] }, () => dispatch(read, () => 1));
    expect(result.status).toBe("policy_blocked");
  });

  it("of one call is not that of another that runs at once", async () => {
    const narrow = createDispatcher([withScopedExecutor({ allowedTools: ["read_file"] })]);
    const wide = createDispatcher([withScopedExecutor()]);
    const plain = createDispatcher([]);
    const delay = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    const callOther = async (): Promise<string> => {
      await delay();
      return (await plain({ toolName: "other" }, () => 1)).status;
    };
    const attempt = async (dispatch: typeof narrow): Promise<unknown> => (await dispatch(read, callOther)).result;
    const statuses = await Promise.all(Array.from({ length: 100 }, (_, i) => attempt(i % 2 === 0 ? narrow : wide)));
    expect(statuses).toEqual(Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? "policy_blocked" : "ok")));
  });

  it("reads its options once", async () => {
    const allowedTools = ["read_file"];
    const layer = withScopedExecutor({ allowedTools });
    allowedTools.push("delete_file");
    const { result } = await dispatchOnce([layer], { toolName: "delete_file" }, () => 1);
    expect(result.status).toBe("scope_violation");
  });
});

describe("onViolation", () => {
  it('"reject" asks nobody to throw', async () => {
    const { result } = await dispatchOnce([withScopedExecutor({ allowedTools: ["x"] })], read, () => 1);
    expect([result.rethrow, CAUSE in result]).toEqual([undefined, false]);
  });

  it('"raise" gives loop and adapter the error to throw once all is recorded', async () => {
    const layer = withScopedExecutor({ stage: "research", allowedTools: ["x"], onViolation: "raise" });
    const { result } = await dispatchOnce([layer], read, () => 1);
    expect(result).toMatchObject({ status: "scope_violation", rethrow: true, executed: false });
    const cause = result[CAUSE];
    expect(ToolspanError.is(cause, "TOOLSPAN_SCOPE_VIOLATION") && cause.details).toEqual({
      tool: "read_file",
      stage: "research",
      rule: "allowed_tools",
    });
  });
});
