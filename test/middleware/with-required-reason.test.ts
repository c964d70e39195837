// Laws of withRequiredReason: every call says why, and no call that does is refused for it later.
import {
  type ArgsValidator,
  createDispatcher,
  createToolRegistry,
  type JsonSchema,
  type StandardSchema,
  type ToolDefinition,
  type ToolResult,
  toolInjectParam,
  toolsUseMiddleware,
} from "@toolspan/core";
import { type RequiredReasonOptions, withRequiredReason } from "@toolspan/middleware/with-required-reason";
import { describe, expect, it, vi } from "vitest";
import { deepFreeze, dispatchOnce, layerContract, optionContract } from "../support/layer-contract.ts";

layerContract("with_required_reason", {
  pass: () => withRequiredReason().caller,
  stop: {
    make: () => withRequiredReason({ field: "why" }).caller,
    status: "schema_violation",
    layerStatus: "rejected",
  },
  args: { q: 1, reason: "to test" },
  handlerArgs: { q: 1 },
  audits: true,
});

optionContract("withRequiredReason", [
  ["options", () => withRequiredReason("reason" as never)],
  ["field", () => withRequiredReason({ field: "" })],
  ["description", () => withRequiredReason({ description: 1 as never })],
  ["strip", () => withRequiredReason({ strip: "no" as never })],
  ["auditKey", () => withRequiredReason({ auditKey: "layers" })],
  ["auditKey", () => withRequiredReason({ auditKey: "consent" })],
  ["minLength", () => withRequiredReason({ minLength: -1 })],
  ["onMissing", () => withRequiredReason({ onMissing: "ignore" as never })],
  ["schemaRequired", () => withRequiredReason({ schemaRequired: 1 as never })],
  ["on_missing", () => withRequiredReason({ on_missing: "reject" } as never)],
]);

/** Enough of JSON Schema for these laws: required, additionalProperties, type string and minLength of properties. */
const validate: ArgsValidator = ({ schema, toolArgs }) => {
  const {
    properties = {},
    required = [],
    additionalProperties,
  } = (schema ?? {}) as {
    properties?: Record<string, { type?: string; minLength?: number }>;
    required?: string[];
    additionalProperties?: boolean;
  };
  const args = (toolArgs ?? {}) as Record<string, unknown>;
  const missing = required.filter((key) => !Object.hasOwn(args, key)).map((key) => `missing ${key}`);
  const wrong = Object.entries(args).flatMap(([key, value]) => {
    const rule = properties[key];
    if (rule === undefined) return additionalProperties === false ? [`unknown ${key}`] : [];
    if (rule.type === "string" && typeof value !== "string") return [`${key} is no string`];
    return String(value).length < (rule.minLength ?? 0) ? [`${key} is too short`] : [];
  });
  return [...missing, ...wrong].map((message) => ({ path: "", message }));
};

const Q: JsonSchema = deepFreeze({
  type: "object",
  properties: { q: { type: "string" } },
  required: ["q"],
  additionalProperties: false,
});

/** One call of a tool that was offered through the pair's own transform and is validated at the terminal. */
async function callTool(
  options: RequiredReasonOptions,
  toolArgs: unknown,
  definition: Partial<ToolDefinition> = { inputSchema: Q },
): Promise<{ readonly result: ToolResult; readonly execute: ReturnType<typeof vi.fn> }> {
  const pair = withRequiredReason(options);
  const execute = vi.fn(() => "ran");
  const registry = toolsUseMiddleware(
    createToolRegistry([{ name: "tool", ...definition, execute }]),
    pair.schemaTransform,
  );
  const dispatch = createDispatcher([pair.caller], { validator: registry.validator(validate) });
  const result = await dispatch(registry.toCall("tool", { toolArgs }), registry.handler("tool"));
  return { result, execute };
}

describe("the schema that a model sees", () => {
  it.each([
    [{}, ["q", "reason"]],
    [{ schemaRequired: false }, ["q"]],
  ])("asks for the reason (%j)", (options, required) => {
    const registry = createToolRegistry([{ name: "tool", inputSchema: Q }]);
    const [tool] = toolsUseMiddleware(registry, withRequiredReason(options).schemaTransform).tools;
    expect(tool?.inputSchema).toEqual({
      ...Q,
      properties: { q: { type: "string" }, reason: { type: "string", description: expect.any(String), minLength: 1 } },
      required,
    });
  });

  it("uses the name, the words and the length that were given", () => {
    const { schemaTransform } = withRequiredReason({ field: "why", description: "Say why.", minLength: 9 });
    expect(schemaTransform({ inputSchema: Q }).inputSchema).toMatchObject({
      properties: { why: { type: "string", description: "Say why.", minLength: 9 } },
    });
  });
});

describe("a call that gives a reason", () => {
  const strict: StandardSchema = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value) =>
        JSON.stringify(value) === '{"q":"x"}' ? { value } : { issues: [{ message: `not just q`, path: [] }] },
      jsonSchema: { input: () => Q },
    },
  };

  it.each([
    ["stripped, required", {}, { inputSchema: Q }, { q: "x" }],
    ["stripped, not required", { schemaRequired: false }, { inputSchema: Q }, { q: "x" }],
    ["kept, required", { strip: false }, { inputSchema: Q }, { q: "x", reason: "to test" }],
    ["kept, not required", { strip: false, schemaRequired: false }, { inputSchema: Q }, { q: "x", reason: "to test" }],
    ["stripped, in a parameters map", {}, { parameters: { q: { type: "string", required: true } } }, { q: "x" }],
    ["stripped, without any schema", {}, {}, { q: "x" }],
    ["stripped, before a strict Standard Schema", {}, { inputSchema: strict }, { q: "x" }],
    ["kept, past a strict Standard Schema", { strip: false }, { inputSchema: strict }, { q: "x", reason: "to test" }],
  ])("is never refused by the schema that asked for it: %s", async (_, options, definition, handlerArgs) => {
    const { result, execute } = await callTool(options, { q: "x", reason: "to test" }, definition as never);
    expect([result.status, result.error]).toEqual(["ok", null]);
    expect(execute).toHaveBeenCalledExactlyOnceWith(handlerArgs, expect.anything());
    expect(result.audit?.summary).toBe("to test");
  });

  it("is never refused where the schema does not ask for it, and none is there at all", async () => {
    for (const schema of [Q, undefined]) {
      for (const strip of [true, false]) {
        const dispatch = createDispatcher([withRequiredReason({ strip }).caller], { validator: validate });
        const call = { toolName: "tool", toolArgs: { q: "x", reason: "to test" }, ...(schema && { schema }) };
        expect((await dispatch(call, () => 1)).status).toBe("ok");
      }
    }
  });

  it("is still refused for what is wrong with the tool's own arguments", async () => {
    const { result, execute } = await callTool({}, { q: 7, reason: "to test" });
    expect([result.status, execute.mock.calls.length]).toEqual(["schema_violation", 0]);
    expect(result.error).toContain("q is no string");
  });

  it("is recognised when its schema has been through JSON", async () => {
    const pair = withRequiredReason();
    const { inputSchema } = pair.schemaTransform({ inputSchema: Q });
    const schema: unknown = JSON.parse(JSON.stringify(inputSchema));
    const dispatch = createDispatcher([pair.caller], { validator: validate });
    expect((await dispatch({ toolName: "t", schema, toolArgs: { q: "x", reason: "r" } }, () => 1)).status).toBe("ok");
  });

  it("passes inward the schema without the field, the same object each time", async () => {
    const pair = withRequiredReason();
    const { inputSchema: schema } = pair.schemaTransform({ inputSchema: Q });
    const seen: unknown[] = [];
    const dispatch = createDispatcher([
      pair.caller,
      (call, next) => {
        seen.push(call.schema);
        return next(call);
      },
    ]);
    for (let i = 0; i < 2; i += 1) await dispatch({ toolName: "t", schema, toolArgs: { reason: "r" } }, () => 1);
    expect(seen[0]).toEqual(Q);
    expect(seen[1]).toBe(seen[0]);
  });
});

describe("an argument of that name that is the tool's own", () => {
  const inputSchema = deepFreeze({ type: "object", properties: { reason: { type: "string" } }, required: ["reason"] });

  it.each([true, false])("reaches the tool, schema and all (strip: %s)", async (strip) => {
    const { result, execute } = await callTool({ strip }, { reason: "refund" }, { inputSchema });
    expect(execute).toHaveBeenCalledExactlyOnceWith({ reason: "refund" }, expect.anything());
    expect([result.status, result.audit?.summary]).toEqual(["ok", "refund"]);
  });

  it("is left as the tool declared it", () => {
    const entry = { inputSchema };
    expect(withRequiredReason().schemaTransform(entry)).toBe(entry);
  });

  it("stays when somebody else has injected it", async () => {
    const foreign = toolInjectParam({ inputSchema: Q }, "reason", { type: "string", enum: ["a"] });
    const { execute } = await callTool({}, { q: "x", reason: "a" }, foreign);
    expect(execute).toHaveBeenCalledExactlyOnceWith({ q: "x", reason: "a" }, expect.anything());
  });
});

describe("a call without a reason", () => {
  it.each([
    ["absent", { q: "x" }],
    ["empty", { q: "x", reason: "" }],
    ["blank", { q: "x", reason: " \n\t" }],
    ["no string", { q: "x", reason: 7 }],
    ["null", { q: "x", reason: null }],
    ["inherited", Object.assign(Object.create({ reason: "r" }), { q: "x" })],
  ])("is refused before the tool runs, and told how to do better: %s", async (_, toolArgs) => {
    const { result, execute } = await callTool({}, toolArgs);
    expect(execute).not.toHaveBeenCalled();
    expect(result).toMatchObject({ ok: false, status: "schema_violation", errorCategory: "missing_reason" });
    expect(result.observation).toContain('"reason"');
    expect(result.audit).toBeUndefined();
  });

  it.each([
    [{ onMissing: "fill_blank" }],
    [{ onMissing: "fill_blank", schemaRequired: false }],
    [{ onMissing: "fill_blank", strip: false }],
  ] as const)("runs with its real arguments intact where blanks are filled: %j", async (options) => {
    const { result, execute } = await callTool(options, { q: "x" });
    expect(execute).toHaveBeenCalledExactlyOnceWith({ q: "x" }, expect.anything());
    expect(result.audit?.summary).toBe("(no reason given)");
  });

  it.each([true, false])("runs where blanks are filled although it gave nonsense (strip: %s)", async (strip) => {
    const { result } = await callTool({ onMissing: "fill_blank", strip }, { q: "x", reason: 7 });
    expect([result.status, result.audit?.summary]).toEqual(["ok", "(no reason given)"]);
  });

  it("is reported by the layer as rejected or filled", async () => {
    const call = { toolName: "t", toolArgs: {} };
    const rejected = await dispatchOnce([withRequiredReason().caller], call, () => 1);
    const filled = await dispatchOnce([withRequiredReason({ onMissing: "fill_blank" }).caller], call, () => 1);
    expect([rejected.runs[0]?.status, filled.runs[0]?.status]).toEqual(["rejected", "filled"]);
  });

  it("that could not even be parsed is told so", async () => {
    const call = { toolName: "t", toolArgs: undefined, rawArgs: "{" };
    const { result } = await dispatchOnce([withRequiredReason().caller], call, () => 1);
    expect([result.status, result.errorCategory]).toEqual(["schema_violation", "unparsable_arguments"]);
  });
});

describe("the reason", () => {
  it("needs as many characters as asked, surrounding white space aside", async () => {
    const status = async (reason: string): Promise<string> =>
      (await callTool({ minLength: 3 }, { q: "x", reason })).result.status;
    expect([await status(" ab "), await status(" abc "), await status("😀😀"), await status("😀😀😀")]).toEqual([
      "schema_violation",
      "ok",
      "schema_violation",
      "ok",
    ]);
  });

  it("stands where `auditKey` says, trimmed, under the field that was asked for", async () => {
    const { result } = await callTool({ field: "why", auditKey: "rationale" }, { q: "x", why: " because " });
    expect(result.audit).toMatchObject({ rationale: "because" });
    expect(result.audit).not.toHaveProperty("summary");
  });

  it("leaves getters unread and prototypes in place when it is taken away", async () => {
    const read = vi.fn(() => 1);
    const toolArgs = Object.create(
      { kind: "own" },
      {
        reason: { value: "r", enumerable: true },
        lazy: { get: read, enumerable: true },
      },
    );
    let got: { kind?: string; reason?: string } = {};
    await createDispatcher([withRequiredReason().caller])({ toolName: "t", toolArgs }, (call) => {
      got = call.toolArgs as typeof got;
    });
    expect(read).not.toHaveBeenCalled();
    expect([got.kind, "lazy" in got, "reason" in got]).toEqual(["own", true, false]);
  });
});
