// Laws of argument checks: what does not fit is named by place and rule, and a check that cannot be made refuses.
import { jsonSchemaValidator } from "@toolspan/agent";
import { createDispatcher, diagnostics, type ToolCall } from "@toolspan/core";
import { describe, expect, test } from "vitest";

const validate = jsonSchemaValidator();

async function problems(schema: unknown, toolArgs: unknown): Promise<readonly string[]> {
  const found = await validate({ schema, toolArgs } as ToolCall);
  return found.map(({ path, message }) => `${path} ${message}`);
}

const flight = {
  type: "object",
  properties: {
    origin: { type: "string", pattern: "^[A-Z]{3}$" },
    cabin: { enum: ["economy", "business"] },
    seats: { type: "integer", minimum: 1, maximum: 9 },
    passengers: { type: "array", items: { type: "object", required: ["name"] } },
    "a/b": { type: "string" },
  },
  required: ["origin"],
  additionalProperties: false,
} as const;

describe("jsonSchemaValidator", () => {
  test.each<[string, unknown, readonly string[]]>([
    ["accepts what fits", { origin: "JFK", seats: 2, passengers: [{ name: "x" }] }, []],
    ["names a missing argument", {}, [' Instance does not have required property "origin".']],
    ["names a wrong type", { origin: 1 }, ['/origin Instance type "number" is invalid. Expected "string".']],
    ["names the bound but not the value", { origin: "JFK", seats: 77 }, ["/seats is greater than 9."]],
    [
      "names a bad choice",
      { origin: "JFK", cabin: "x" },
      ['/cabin Instance does not match any of ["economy","business"].'],
    ],
    ["does not repeat text that fails a pattern", { origin: "secret" }, ["/origin String does not match pattern."]],
    [
      "finds the place in an array",
      { origin: "JFK", passengers: [{}] },
      ['/passengers/0 Instance does not have required property "name".'],
    ],
    ["refuses an argument too many", { origin: "JFK", other: 1 }, ["/other is not allowed here"]],
    ["escapes places", { origin: "JFK", "a/b": 1 }, ['/a~1b Instance type "number" is invalid. Expected "string".']],
  ])("%s", async (_, args, expected) => {
    expect(await problems(flight, args)).toEqual(expected);
  });

  test("fits every call that has no schema", async () => {
    expect(await problems(undefined, { any: 1 })).toEqual([]);
    expect(await problems(true, { any: 1 })).toEqual([]);
    expect(await problems(false, {})).toEqual([" no arguments are allowed"]);
  });

  test("asks a Standard Schema itself, whether it answers at once or later", async () => {
    const issues = [{ message: "must be sorted", path: ["legs", { key: 0 }] }];
    const vendor = (answer: unknown) => ({ "~standard": { version: 1, vendor: "test", validate: () => answer } });
    expect(await problems(vendor({ issues }), {})).toEqual(["/legs/0 must be sorted"]);
    expect(await problems(vendor(Promise.resolve({ issues })), {})).toEqual(["/legs/0 must be sorted"]);
    expect(await problems(vendor({ value: {} }), {})).toEqual([]);
  });

  test("tells at most eight problems", async () => {
    expect(
      await problems(
        { items: { type: "string" } },
        Array.from({ length: 20 }, (_, n) => n),
      ),
    ).toHaveLength(8);
  });

  test("leaves schemas as they are, frozen ones too, and follows references within them", async () => {
    const schema = Object.freeze({
      $defs: Object.freeze({ id: Object.freeze({ type: "string" }) }),
      properties: Object.freeze({ id: Object.freeze({ $ref: "#/$defs/id" }) }),
    });
    expect(await problems(schema, { id: 1 })).toEqual(['/id Instance type "number" is invalid. Expected "string".']);
    expect(Object.getOwnPropertyNames(schema)).toEqual(["$defs", "properties"]);
  });

  test("goes by the draft that a schema names", async () => {
    const positional = { items: [{ type: "string" }], additionalItems: false };
    const draft7 = { $schema: "http://json-schema.org/draft-07/schema#", ...positional };
    expect(await problems(draft7, [1])).toEqual(['/0 Instance type "number" is invalid. Expected "string".']);
    const exclusive = { $schema: "http://json-schema.org/draft-04/schema#", minimum: 3, exclusiveMinimum: true };
    expect(await problems(exclusive, 3)).toHaveLength(1);
    expect(await problems({ prefixItems: [{ type: "string" }] }, [1])).toHaveLength(1);
  });

  test.each<[string, unknown, unknown]>([
    ["a reference into nowhere", { properties: { a: { $ref: "#/$defs/none" } } }, { a: 1 }],
    ["a pattern that is none", { properties: { a: { pattern: "(" } } }, { a: "x" }],
    ["a schema that is a number", 7, {}],
    ["arguments that no schema knows", { properties: { a: { type: "string" } } }, { a: 1n }],
  ])("lets no call through on %s", async (_, schema, toolArgs) => {
    const stop = diagnostics.listen(() => {});
    const dispatch = createDispatcher([], { validator: validate });
    const result = await dispatch({ toolName: "book", schema, toolArgs }, () => "booked");
    stop();
    expect(result).toMatchObject({ status: "schema_violation", errorCategory: "validator_failed", executed: false });
  });

  test("tells the model in a dispatch what to mend", async () => {
    const dispatch = createDispatcher([], { validator: validate });
    const result = await dispatch({ toolName: "book", schema: flight, toolArgs: { seats: 0 } }, () => "booked");
    expect(result).toMatchObject({
      status: "schema_violation",
      executed: false,
      observation: 'arguments: Instance does not have required property "origin".; /seats: is less than 1.',
    });
  });
});
