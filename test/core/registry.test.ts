// Laws of tools and registries: what is wrong is refused when defined, what a model sees hides what the host gives.
import {
  type ArgsValidator,
  createDispatcher,
  createToolRegistry,
  defineTool,
  diagnostics,
  type StandardSchema,
  type ToolDefinition,
  withExecutionPolicy,
} from "@toolspan/core";
import { withConsent } from "@toolspan/middleware/with-consent";
import { afterEach, describe, expect, it, vi } from "vitest";

const CITY = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;

/** A vendor's schema: strict, trims the city, shows itself as JSON Schema if told to. */
function citySchema(
  options: { readonly json?: boolean; readonly later?: boolean } = {},
): StandardSchema<{ city: string }> {
  const validate = vi.fn((value: unknown) => {
    const { city, ...rest } = (value ?? {}) as Record<string, unknown>;
    if (typeof city !== "string") return { issues: [{ message: "expected a string", path: ["city"] }] };
    if (Object.keys(rest).length > 0) return { issues: [{ message: "unknown key" }] };
    return { value: { city: city.trim() } };
  });
  return {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: options.later ? async (value) => validate(value) : validate,
      ...(options.json === false ? {} : { jsonSchema: { input: () => CITY } }),
    },
  };
}

describe("defineTool", () => {
  it("freezes a copy and gives a defined tool back as it is", () => {
    const definition = { name: "get_weather" };
    const tool = defineTool(definition);
    expect(tool).not.toBe(definition);
    expect(Object.isFrozen(tool)).toBe(true);
    expect(defineTool(tool)).toBe(tool);
  });

  it.each(["a", "get_weather", "a1", "x".repeat(64)])("takes the name %j", (name) => {
    expect(defineTool({ name }).name).toBe(name);
  });

  it.each(["", "Get", "get-weather", "get.weather", "1a", "_a", "ä", "a b", "a\n", "x".repeat(65), undefined, 7])(
    "refuses the name %j",
    (name) => {
      expect(() => defineTool({ name } as ToolDefinition)).toThrowError(
        expect.objectContaining({ code: "TOOLSPAN_INVALID_TOOL" }),
      );
    },
  );

  it.each(["Get-Weather.v2", "1", "x".repeat(128)])("takes the name %j under the rule of MCP", (name) => {
    expect(defineTool({ name }, { names: "mcp" }).name).toBe(name);
  });

  it.each(["a b", "a/b", "", "x".repeat(129)])("refuses the name %j even under the rule of MCP", (name) => {
    expect(() => defineTool({ name }, { names: "mcp" })).toThrow("letters, digits");
  });

  it.each([
    ["description", 1],
    ["inputSchema", "object"],
    ["inputSchema", () => true],
    ["inputSchema", { type: "string" }],
    ["parameters", { type: "object", properties: {} }],
    ["outputSchema", []],
    ["annotations", { readOnlyHint: "yes" }],
    ["sideEffectLevel", "some"],
    ["idempotent", 1],
    ["capabilities", { files: "read" }],
    ["declaredExecutor", "remote"],
    ["timeoutMs", -1],
    ["timeoutMs", 1.5],
    ["retry", { maxAttempts: 0 }],
    ["retry", { maxAttempts: 2, backoffMs: Number.NaN }],
    ["confirmation", "sometimes"],
    ["injected", { userId: "u1" }],
    ["artifact", { maxInlineBytes: "1k" }],
    ["execute", "run"],
  ])("refuses %s: %j and names the field", (field, value) => {
    const definition = { name: "t", [field]: value } as unknown as ToolDefinition;
    expect(() => defineTool(definition)).toThrow(`${field} to be`);
  });

  it("refuses two spellings of the arguments at once", () => {
    expect(() => defineTool({ name: "t", inputSchema: CITY, parameters: {} })).toThrow(
      "either inputSchema or parameters",
    );
  });
});

describe("createToolRegistry", () => {
  it("keeps the order of definition in names, tools and iteration", () => {
    const registry = createToolRegistry([{ name: "b" }, { name: "a" }]);
    expect(registry.names).toEqual(["b", "a"]);
    expect(registry.tools.map(({ name }) => name)).toEqual(["b", "a"]);
    expect([...registry].map(({ name }) => name)).toEqual(["b", "a"]);
    expect(registry.get("a")?.name).toBe("a");
    expect(registry.get("c")).toBeUndefined();
    expect(registry.get("constructor")).toBeUndefined();
  });

  it("refuses a name that comes twice", () => {
    expect(() => createToolRegistry([{ name: "a" }, { name: "a" }])).toThrowError(
      expect.objectContaining({ code: "TOOLSPAN_DUPLICATE_TOOL", details: { tool: "a" } }),
    );
  });

  it("holds every tool to its own rule of names", () => {
    const tool = defineTool({ name: "a-b" }, { names: "mcp" });
    expect(() => createToolRegistry([tool])).toThrowError(expect.objectContaining({ code: "TOOLSPAN_INVALID_TOOL" }));
    expect(createToolRegistry([tool], { names: "mcp" }).names).toEqual(["a-b"]);
  });

  it("shows models name, description and schemas, and nothing of the host", () => {
    const registry = createToolRegistry([
      {
        name: "book",
        description: "Books.",
        inputSchema: {
          type: "object",
          properties: { seat: { type: "string" }, userId: { type: "string" } },
          required: ["seat", "userId"],
          additionalProperties: false,
        },
        outputSchema: { type: "object" },
        annotations: { destructiveHint: true },
        injected: { userId: ({ meta }) => meta?.user },
        timeoutMs: 5,
        execute: () => 1,
      },
    ]);
    expect(registry.tools).toEqual([
      {
        name: "book",
        description: "Books.",
        inputSchema: {
          type: "object",
          properties: { seat: { type: "string" } },
          required: ["seat"],
          additionalProperties: false,
        },
        outputSchema: { type: "object" },
        annotations: { destructiveHint: true },
      },
    ]);
  });

  it("shows a map of parameters as the JSON Schema that it stands for", () => {
    const { tools } = createToolRegistry([
      {
        name: "t",
        parameters: {
          a: { type: "string", required: true },
          b: { type: "object", properties: { c: {} }, required: ["c"] },
          d: { type: "number", required: false },
        },
      },
    ]);
    expect(tools[0]?.inputSchema).toEqual({
      type: "object",
      properties: {
        a: { type: "string" },
        b: { type: "object", properties: { c: {} }, required: ["c"] },
        d: { type: "number" },
      },
      required: ["a"],
    });
  });

  it("makes calls that carry the tool's facts, and unknown ones that say so", () => {
    const registry = createToolRegistry([
      {
        name: "t",
        description: "d",
        inputSchema: CITY,
        sideEffectLevel: "read_only",
        idempotent: true,
        capabilities: { net: ["get"] },
        execute: () => 1,
      },
    ]);
    expect(registry.toCall("t", { toolArgs: { city: "Ulm" }, callId: "c1" })).toEqual({
      toolName: "t",
      known: true,
      description: "d",
      schema: CITY,
      sideEffectLevel: "read_only",
      idempotent: true,
      capabilities: { net: ["get"] },
      declaredExecutor: "local",
      toolArgs: { city: "Ulm" },
      callId: "c1",
    });
    expect(registry.toCall("t", { sideEffectLevel: "none", idempotent: false })).toMatchObject({
      sideEffectLevel: "read_only",
      idempotent: true,
    });
    expect(registry.toCall("u", { toolArgs: 1 })).toEqual({ toolName: "u", known: false, toolArgs: 1 });
    expect(registry.handler("u")).toBeUndefined();
  });

  it("gives injected arguments to the handler at the last moment, over whatever a model made up", async () => {
    const execute = vi.fn(() => "booked");
    const registry = createToolRegistry([{ name: "book", injected: { userId: ({ meta }) => meta?.user }, execute }]);
    const dispatch = createDispatcher([]);
    const toolArgs = Object.freeze({ seat: "1A", userId: "forged" });
    const call = registry.toCall("book", { toolArgs, meta: { user: "u1" } });
    const result = await dispatch(call, registry.handler("book"));
    expect(execute).toHaveBeenCalledWith({ seat: "1A", userId: "u1" }, expect.objectContaining({ toolName: "book" }));
    expect(result.arguments).toBe(toolArgs);
  });
});

describe("a tool with a Standard Schema", () => {
  afterEach(() => diagnostics.reset());

  it.each([{ later: false }, { later: true }])(
    "runs with the arguments as they were judged, whatever the vendor made of them ($later)",
    async ({ later }) => {
      const inputSchema = citySchema({ later });
      const execute = vi.fn(() => 1);
      const registry = createToolRegistry([{ name: "t", inputSchema, execute }]);
      const toolArgs = { city: " Ulm " };
      for (const validator of [registry.validator(), undefined]) {
        const dispatch = createDispatcher([], validator === undefined ? {} : { validator });
        const result = await dispatch(registry.toCall("t", { toolArgs }), registry.handler("t"));
        expect([result.status, result.arguments]).toEqual(["ok", toolArgs]);
        expect(execute).toHaveBeenLastCalledWith(toolArgs, expect.objectContaining({ toolArgs }));
      }
    },
  );

  it.each([{ later: false }, { later: true }])(
    "runs nowhere but where policy and consent let it, whatever the vendor made of the path ($later)",
    async ({ later }) => {
      const elsewhere = (value: unknown) => ({ value: { ...(value as object), path: "/etc/passwd" } });
      const validate = later ? async (value: unknown) => elsewhere(value) : elsewhere;
      const inputSchema: StandardSchema = { "~standard": { version: 1, vendor: "test", validate } };
      const read: unknown[] = [];
      const execute = ({ path }: Record<string, unknown>) => read.push(path);
      const registry = createToolRegistry([{ name: "read_file", inputSchema, execute }]);
      const asked: unknown[] = [];
      const consent = withConsent(({ toolArgs }) => {
        asked.push((toolArgs as { path: string }).path);
        return true;
      });
      const policy = { toolArgs: { read_file: { path: { pattern: "/srv/docs/.*" } } } };
      const run = (path: string, validator: ArgsValidator | undefined) =>
        withExecutionPolicy(policy, () =>
          createDispatcher([consent], validator === undefined ? {} : { validator })(
            registry.toCall("read_file", { toolArgs: { path } }),
            registry.handler("read_file"),
          ),
        );
      for (const validator of [registry.validator(), undefined]) {
        expect((await run("/srv/docs/a", validator)).status).toBe("ok");
        expect((await run("/etc/passwd", validator)).status).toBe("policy_blocked");
      }
      expect(read).toEqual(["/srv/docs/a", "/srv/docs/a"]);
      expect(new Set(asked)).toContain("/srv/docs/a");
    },
  );

  it("is validated once per call", async () => {
    const inputSchema = citySchema();
    const registry = createToolRegistry([{ name: "t", inputSchema, execute: () => 1 }]);
    const dispatch = createDispatcher([], { validator: registry.validator() });
    await dispatch(registry.toCall("t", { toolArgs: { city: "Ulm" } }), registry.handler("t"));
    expect(inputSchema["~standard"].validate).toHaveBeenCalledTimes(1);
  });

  it("never runs with arguments that the vendor refuses", async () => {
    const execute = vi.fn();
    const registry = createToolRegistry([{ name: "t", inputSchema: citySchema(), execute }]);
    const dispatch = createDispatcher([], { validator: registry.validator() });
    const checked = await dispatch(registry.toCall("t", { toolArgs: { city: 7 } }), registry.handler("t"));
    expect([checked.status, checked.executed, checked.error]).toEqual([
      "schema_violation",
      false,
      "/city: expected a string",
    ]);
    const unchecked = await createDispatcher([])(
      registry.toCall("t", { toolArgs: { city: 7 } }),
      registry.handler("t"),
    );
    expect([unchecked.status, unchecked.error]).toEqual(["exception", expect.stringContaining("1 that do not")]);
    expect(execute).not.toHaveBeenCalled();
  });

  it("validates injected arguments together with the natural ones", async () => {
    const registry = createToolRegistry([
      {
        name: "t",
        inputSchema: citySchema(),
        injected: { city: () => "Ulm" },
        execute: ({ city }: { city: string }) => city,
      },
    ]);
    const dispatch = createDispatcher([], { validator: registry.validator() });
    const result = await dispatch(registry.toCall("t", {}), registry.handler("t"));
    expect([result.status, result.result]).toEqual(["ok", "Ulm"]);
    expect(registry.tools[0]?.inputSchema).toEqual({ type: "object", properties: {} });
  });

  it("leaves tools of JSON Schema to the check that was handed in", async () => {
    const registry = createToolRegistry([
      { name: "j", inputSchema: CITY, execute: () => 1 },
      { name: "s", inputSchema: citySchema() },
    ]);
    const asked: string[] = [];
    const validate = registry.validator(({ toolName }) => {
      asked.push(toolName);
      return [{ path: "/city", message: "missing" }];
    });
    const result = await createDispatcher([], { validator: validate })(registry.toCall("j", {}), registry.handler("j"));
    expect([result.status, asked]).toEqual(["schema_violation", ["j"]]);
  });

  it("is offered to models as JSON Schema; a vendor that cannot say is reported once", () => {
    const said: string[] = [];
    const unlisten = diagnostics.listen(({ kind }) => said.push(kind));
    const registry = createToolRegistry([
      { name: "a", inputSchema: citySchema() },
      { name: "b", inputSchema: citySchema({ json: false }) },
    ]);
    unlisten();
    expect(registry.tools.map(({ inputSchema }) => inputSchema)).toEqual([CITY, { type: "object" }]);
    expect(said).toEqual(["schema_without_json"]);
  });

  it("is refused when defined if its vendor cannot express it, with the vendor's error as cause", () => {
    const cause = new Error("dates cannot be shown");
    const inputSchema = { "~standard": { ...citySchema()["~standard"], jsonSchema: { input: () => { throw cause; } } } }; // biome-ignore format: one line
    expect(() => createToolRegistry([{ name: "t", inputSchema }])).toThrowError(
      expect.objectContaining({ code: "TOOLSPAN_INVALID_TOOL", cause }),
    );
  });
});
