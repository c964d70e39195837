// Laws of the schema seam: additive, idempotent, in the entry's own field, and never in place.
import {
  createToolRegistry,
  defineTool,
  type JsonSchema,
  type StandardSchema,
  type Tool,
  toolInjectParam,
  toolsUseMiddleware,
} from "@toolspan/core";
import { describe, expect, it } from "vitest";

const REASON = { type: "string", description: "Why." };

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null)
    for (const inner of Object.values(Object.freeze(value))) deepFreeze(inner);
  return value;
}

describe("toolInjectParam", () => {
  it("adds to a complete JSON Schema and keeps the rest of it", () => {
    const entry = deepFreeze({
      name: "t",
      inputSchema: {
        type: "object",
        properties: { q: { type: "string" } },
        required: ["q"],
        additionalProperties: false,
      },
    });
    expect(toolInjectParam(entry, "reason", REASON, { required: true })).toEqual({
      name: "t",
      inputSchema: {
        type: "object",
        properties: { q: { type: "string" }, reason: REASON },
        required: ["q", "reason"],
        additionalProperties: false,
      },
    });
  });

  it("adds to a map of parameters, and never a competing field", () => {
    const entry = deepFreeze({ name: "t", parameters: { q: { type: "string", required: true } } });
    expect(toolInjectParam(entry, "reason", REASON, { required: true })).toEqual({
      name: "t",
      parameters: { q: { type: "string", required: true }, reason: { ...REASON, required: true } },
    });
    expect(toolInjectParam(entry, "reason", REASON).parameters).toHaveProperty("reason", REASON);
  });

  it("gives a tool without arguments a JSON Schema", () => {
    expect(toolInjectParam(defineTool({ name: "t" }), "reason", REASON)).toEqual({
      name: "t",
      inputSchema: { type: "object", properties: { reason: REASON } },
    });
  });

  it("leaves the parameter out of `required` unless asked", () => {
    const entry = { inputSchema: { type: "object", properties: {} } };
    expect(toolInjectParam(entry, "reason", REASON).inputSchema).not.toHaveProperty("required");
  });

  it.each([
    { inputSchema: { type: "object", properties: { reason: { type: "number" } } } },
    { parameters: { reason: { type: "number" } } },
  ])("gives the entry itself back where the parameter is declared: %j", (entry) => {
    expect(toolInjectParam(deepFreeze(entry), "reason", REASON, { required: true })).toBe(entry);
  });

  it("is idempotent", () => {
    const once = toolInjectParam({ inputSchema: { type: "object" } }, "reason", REASON, { required: true });
    expect(toolInjectParam(once, "reason", { type: "number" })).toBe(once);
  });

  it.each(["__proto__", "constructor", "toString"])("takes the name %j for a name like any other", (name) => {
    const { inputSchema } = toolInjectParam({ inputSchema: { type: "object" } as JsonSchema }, name, REASON, {
      required: true,
    });
    const { properties, required } = inputSchema as { properties: object; required: string[] };
    expect(Object.entries(properties)).toEqual([[name, REASON]]);
    expect(required).toEqual([name]);
  });

  it("refuses a complete JSON Schema under `parameters`", () => {
    const entry = { name: "t", parameters: { type: "object", properties: {} } as never };
    expect(() => toolInjectParam(entry, "reason", REASON)).toThrowError(
      expect.objectContaining({ code: "TOOLSPAN_INVALID_TOOL" }),
    );
  });
});

describe("toolInjectParam under a Standard Schema", () => {
  const strict = (keys: readonly string[], json: boolean): StandardSchema => ({
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value) => {
        const extra = Object.keys(value as object).filter((key) => !keys.includes(key));
        return extra.length > 0 ? { issues: extra.map((key) => ({ message: "unknown", path: [key] })) } : { value };
      },
      ...(json
        ? {
            jsonSchema: {
              input: () => ({ type: "object", properties: Object.fromEntries(keys.map((key) => [key, {}])) }),
            },
          }
        : {}),
    },
  });
  const standard = (entry: { readonly inputSchema: StandardSchema }) => entry.inputSchema["~standard"];

  it("shows the parameter, takes it away before the vendor validates, and still refuses what the vendor refuses", async () => {
    const entry = toolInjectParam({ inputSchema: strict(["q"], true) }, "reason", REASON, { required: true });
    expect(standard(entry).jsonSchema?.input({ target: "draft-2020-12" })).toEqual({
      type: "object",
      properties: { q: {}, reason: REASON },
      required: ["reason"],
    });
    expect(await standard(entry).validate({ q: 1, reason: "r" })).toEqual({ value: { q: 1 } });
    expect(await standard(entry).validate({ q: 1, x: 2, reason: "r" })).toMatchObject({ issues: [{ path: ["x"] }] });
  });

  it("leaves a parameter that the vendor declares alone", () => {
    const entry = { inputSchema: strict(["reason"], true) };
    expect(toolInjectParam(entry, "reason", REASON)).toBe(entry);
  });

  it("lets a vendor that cannot show its schema see the parameter first", async () => {
    const knows = toolInjectParam({ inputSchema: strict(["reason"], false) }, "reason", REASON);
    expect(await standard(knows).validate({ reason: "r" })).toEqual({ value: { reason: "r" } });
    const knowsNot = toolInjectParam({ inputSchema: strict(["q"], false) }, "reason", REASON);
    expect(await standard(knowsNot).validate({ q: 1, reason: "r" })).toEqual({ value: { q: 1 } });
  });
});

describe("toolsUseMiddleware", () => {
  it("makes a new registry and leaves the old one as it was", () => {
    const registry = createToolRegistry([{ name: "a", inputSchema: { type: "object" } }, { name: "b" }]);
    const before = structuredClone(registry.tools);
    const changed = toolsUseMiddleware(registry, (tool) => toolInjectParam(tool, "reason", REASON));
    expect(registry.tools).toEqual(before);
    expect(changed.tools.map(({ inputSchema }) => inputSchema.properties)).toEqual([
      { reason: REASON },
      { reason: REASON },
    ]);
  });

  it.each([undefined, null])("drops a tool for which the transform gives %j", (nothing) => {
    const registry = createToolRegistry([{ name: "a" }, { name: "b" }, { name: "c" }]);
    expect(toolsUseMiddleware(registry, (tool) => (tool.name === "b" ? nothing : tool)).names).toEqual(["a", "c"]);
  });

  it("keeps handlers, rules of names and untouched tools", () => {
    const execute = () => 1;
    const registry = createToolRegistry([{ name: "A-1", execute }], { names: "mcp" });
    const same = toolsUseMiddleware(registry, (tool) => tool);
    expect([same.get("A-1"), same.nameRule]).toEqual([registry.get("A-1"), "mcp"]);
    expect(same.get("A-1")).toBe(registry.get("A-1"));
  });

  it.each([
    [(tool: Tool) => ({ ...tool, name: "same" }), "TOOLSPAN_DUPLICATE_TOOL"],
    [(tool: Tool) => ({ ...tool, name: "No Name" }), "TOOLSPAN_INVALID_TOOL"],
    [(async (tool: Tool) => tool) as never, "TOOLSPAN_INVALID_TOOL"],
  ])("holds what comes back to the rules of a registry", (transform, code) => {
    const registry = createToolRegistry([{ name: "a" }, { name: "b" }]);
    expect(() => toolsUseMiddleware(registry, transform)).toThrowError(expect.objectContaining({ code }));
  });
});
