// Laws of the policy scope: it only tightens, follows asynchronous work, and what is unknown counts as the worst.
import { createDispatcher, type ExecutionPolicy, type ToolCallInput, withExecutionPolicy } from "@toolspan/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkPolicy } from "../../packages/core/src/policy/policy.ts";
import { toToolCall } from "../../packages/core/src/vocabulary/tool-call.ts";

const LEVELS = ["none", "read_only", "workspace_write", "process_exec", "network"] as const;

function ruleFor(policy: ExecutionPolicy, call: ToolCallInput): string | null {
  return withExecutionPolicy(policy, () => checkPolicy(toToolCall(call))?.rule ?? null);
}

describe("an execution policy", () => {
  it("is absent outside of any scope", () => {
    expect(checkPolicy(toToolCall({ toolName: "shell" }))).toBeNull();
  });

  it("restricts nothing that it leaves out", () => {
    expect(ruleFor({}, { toolName: "shell" })).toBeNull();
  });

  it("lets only named tools pass an allow list, and none an empty one", () => {
    expect(ruleFor({ allowedTools: ["search"] }, { toolName: "search" })).toBeNull();
    expect(ruleFor({ allowedTools: ["search"] }, { toolName: "shell" })).toBe("allowed_tools");
    expect(ruleFor({ allowedTools: [] }, { toolName: "search" })).toBe("allowed_tools");
  });

  it("denies a tool that is both allowed and denied", () => {
    expect(ruleFor({ allowedTools: ["shell"], deniedTools: ["shell"] }, { toolName: "shell" })).toBe("denied_tools");
  });

  it("orders side-effect levels none < read_only < workspace_write < process_exec < network", () => {
    for (const [ceiling, sideEffectLevel] of LEVELS.entries()) {
      const passed = LEVELS.filter(
        (level) => ruleFor({ sideEffectLevel }, { toolName: "t", sideEffectLevel: level }) === null,
      );
      expect(passed).toEqual(LEVELS.slice(0, ceiling + 1));
    }
  });

  it("counts an unknown side-effect level as network", () => {
    expect(ruleFor({ sideEffectLevel: "process_exec" }, { toolName: "t" })).toBe("side_effect_level");
    expect(ruleFor({ sideEffectLevel: "network" }, { toolName: "t" })).toBeNull();
  });

  it("refuses a level that it has never heard of, whatever the ceiling", () => {
    const call = { toolName: "t", sideEffectLevel: "teleport" } as unknown as ToolCallInput;
    expect(ruleFor({ sideEffectLevel: "network" }, call)).toBe("side_effect_level");
  });

  it("asks for every operation that a tool needs, and takes undeclared needs for too many", () => {
    const policy = { capabilities: { files: ["read"] } };
    expect(ruleFor(policy, { toolName: "t", capabilities: { files: ["read"] } })).toBeNull();
    expect(ruleFor(policy, { toolName: "t", capabilities: {} })).toBeNull();
    expect(ruleFor(policy, { toolName: "t", capabilities: { files: ["read", "write"] } })).toBe("capabilities");
    expect(ruleFor(policy, { toolName: "t", capabilities: { net: [] } })).toBe("capabilities");
    expect(ruleFor(policy, { toolName: "t", capabilities: { constructor: ["read"] } })).toBe("capabilities");
    expect(ruleFor(policy, { toolName: "t" })).toBe("capabilities");
  });

  it("constrains arguments of the named tool alone, from start to end, and takes a missing one for a wrong one", () => {
    const policy: ExecutionPolicy = {
      toolArgs: { write: { path: { pattern: "src/[a-z]+|docs/.*" }, mode: { oneOf: ["append", 1, null] } } },
    };
    const rule = (toolArgs: unknown): string | null => ruleFor(policy, { toolName: "write", toolArgs });
    expect(rule({ path: "src/a", mode: "append" })).toBeNull();
    expect(rule({ path: "docs/x", mode: null })).toBeNull();
    expect(rule({ path: "xsrc/a", mode: 1 })).toBe("tool_args");
    expect(rule({ path: "src/a/../..", mode: 1 })).toBe("tool_args");
    expect(rule({ path: "src/a\n", mode: 1 })).toBe("tool_args");
    expect(rule({ path: ["src/a"], mode: 1 })).toBe("tool_args");
    expect(rule({ path: "src/a", mode: "1" })).toBe("tool_args");
    expect(rule({ path: "src/a" })).toBe("tool_args");
    expect(rule(Object.create({ path: "src/a", mode: 1 }))).toBe("tool_args");
    expect(rule("src/a")).toBe("tool_args");
    expect(rule(undefined)).toBe("tool_args");
    expect(rule({ get path() { throw new Error("no"); }, mode: 1 })).toBe("tool_args"); // biome-ignore format: one line a case
    expect(ruleFor(policy, { toolName: "other", toolArgs: {} })).toBeNull();
  });

  it("names stage and tool in a violation, never an argument's value", () => {
    const policy: ExecutionPolicy = { stage: "research", toolArgs: { read: { path: { oneOf: ["a"] } } } };
    const violation = withExecutionPolicy(policy, () =>
      checkPolicy(toToolCall({ toolName: "read", toolArgs: { path: "canary-4711" } })),
    );
    expect(violation).toEqual({
      rule: "tool_args",
      stage: "research",
      message: 'argument "path" of tool "read" does not fit the policy of stage "research"',
    });
  });

  it("can only be tightened by nesting", () => {
    const names = fc.subarray(["a", "b", "c"]);
    const policies = fc.record(
      { allowedTools: names, deniedTools: names, sideEffectLevel: fc.constantFrom(...LEVELS) },
      { requiredKeys: [] },
    );
    const calls = fc.record({
      toolName: fc.constantFrom("a", "b", "c", "d"),
      sideEffectLevel: fc.constantFrom(...LEVELS),
    });
    fc.assert(
      fc.property(policies, policies, calls, (outer, inner, call) => {
        const both = withExecutionPolicy(outer, () => ruleFor(inner, call));
        expect(both === null).toBe(ruleFor(outer, call) === null && ruleFor(inner, call) === null);
      }),
    );
  });

  it("reports the outermost offence first", () => {
    const violation = withExecutionPolicy({ stage: "outer", deniedTools: ["t"] }, () =>
      withExecutionPolicy({ stage: "inner", deniedTools: ["t"] }, () => checkPolicy(toToolCall({ toolName: "t" }))),
    );
    expect(violation?.stage).toBe("outer");
  });

  it("is read once, so that changing the object inside its scope widens nothing", () => {
    const allowedTools = ["a"];
    const policy = { allowedTools };
    const after = withExecutionPolicy(policy, () => {
      allowedTools.push("b");
      policy.allowedTools = ["b"];
      return checkPolicy(toToolCall({ toolName: "b" }));
    });
    expect(after?.rule).toBe("allowed_tools");
  });

  it("follows awaits and timers, does not leak to siblings, and ends with its function", async () => {
    const call = toToolCall({ toolName: "t" });
    const denied = withExecutionPolicy({ deniedTools: ["t"] }, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return checkPolicy(call)?.rule;
    });
    const sibling = withExecutionPolicy({ deniedTools: ["u"] }, async () => {
      await Promise.resolve();
      return checkPolicy(call)?.rule;
    });
    expect(checkPolicy(call)).toBeNull();
    expect(await Promise.all([denied, sibling])).toEqual(["denied_tools", undefined]);
  });

  it("keeps the handler of an offending call from running and lets the others run", async () => {
    const dispatch = createDispatcher([]);
    const ran: string[] = [];
    const run = (toolName: string) => dispatch({ toolName }, () => ran.push(toolName));
    const [blocked, passed] = await withExecutionPolicy({ deniedTools: ["shell"] }, () =>
      Promise.all([run("shell"), run("search")]),
    );
    expect([blocked?.status, blocked?.executed, passed?.status]).toEqual(["policy_blocked", false, "ok"]);
    expect(ran).toEqual(["search"]);
  });

  it.each([
    [{ sideEffectLevel: "all" }, "sideEffectLevel"],
    [{ allowedTools: "search" }, "allowedTools"],
    [{ deniedTools: [1] }, "deniedTools"],
    [{ capabilities: [] }, "capabilities"],
    [{ capabilities: { files: "read" } }, "capabilities.files"],
    [{ toolArgs: { t: { a: { pattern: "(" } } } }, "toolArgs.t.a.pattern"],
    [{ toolArgs: { t: { a: { pattern: "a)|(b" } } } }, "toolArgs.t.a.pattern"],
    [{ toolArgs: { t: { a: { oneOf: "x" } } } }, "toolArgs.t.a.oneOf"],
    [{ toolArgs: { t: { a: null } } }, "toolArgs.t.a"],
    [{ toolArgs: { t: { a: /src/ } } }, "toolArgs.t.a"],
    [{ toolArgs: { t: { a: { patern: "src" } } } }, "toolArgs.t.a"],
    [{ stage: 1 }, "stage"],
  ])("refuses %j when entered, naming the option", (policy, option) => {
    expect(() => withExecutionPolicy(policy as ExecutionPolicy, () => {})).toThrowError(
      expect.objectContaining({ code: "TOOLSPAN_INVALID_OPTION", details: expect.objectContaining({ option }) }),
    );
  });
});
