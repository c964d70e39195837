// Laws of async context: nothing is made before it is needed, and without it only the policy scope is missing.
import { ToolspanError, withExecutionPolicy } from "@toolspan/core";
import { afterEach, expect, it, vi } from "vitest";
import { checkPolicy } from "../../packages/core/src/policy/policy.ts";
import { toToolCall } from "../../packages/core/src/vocabulary/tool-call.ts";

afterEach(() => vi.restoreAllMocks());

const store = globalThis as { readonly [key: symbol]: unknown };
const POLICY = Symbol.for("toolspan.policy");

it("makes no async context while nobody sets a policy", () => {
  const asked = vi.spyOn(process, "getBuiltinModule");
  expect(checkPolicy(toToolCall({ toolName: "t" }))).toBeNull();
  expect(asked).not.toHaveBeenCalled();
  expect(store[POLICY]).toBeUndefined();
});

it.each([
  ["answers with no module", () => undefined],
  ["has a module without AsyncLocalStorage", () => ({})],
])("refuses a policy where the runtime %s, and runs nothing", (_, getBuiltinModule) => {
  vi.spyOn(process, "getBuiltinModule").mockImplementation(getBuiltinModule as never);
  const ran = vi.fn();
  expect(() => withExecutionPolicy({}, ran)).toThrow(ToolspanError);
  expect(() => withExecutionPolicy({}, ran)).toThrowError(
    expect.objectContaining({ code: "TOOLSPAN_NO_ASYNC_CONTEXT" }),
  );
  expect(ran).not.toHaveBeenCalled();
});

it("binds the terminal of another copy of this package", async () => {
  const copy: typeof import("../../packages/core/src/policy/policy.ts") = await import(
    "../../packages/core/src/policy/policy.ts?copy" as never
  );
  expect(copy.checkPolicy).not.toBe(checkPolicy);
  const rule = withExecutionPolicy({ deniedTools: ["t"] }, () => copy.checkPolicy(toToolCall({ toolName: "t" }))?.rule);
  expect(rule).toBe("denied_tools");
});
