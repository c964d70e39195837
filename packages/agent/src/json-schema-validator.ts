/** Checks arguments against JSON Schema, for a dispatcher. */

import { type Schema, type SchemaDraft, Validator } from "@cfworker/json-schema";
import {
  type ArgsProblem,
  type ArgsValidator,
  isStandardSchema,
  type StandardSchema,
  toArgsProblems,
} from "@toolspan/core";

const MAX_PROBLEMS = 8;

/** Keywords that only say that something inside them does not fit; what does not fit is listed as well. */
const OUTER_KEYWORDS: ReadonlySet<string> = new Set([
  "$ref",
  "$recursiveRef",
  "additionalItems",
  "additionalProperties",
  "allOf",
  "dependentSchemas",
  "else",
  "items",
  "patternProperties",
  "prefixItems",
  "properties",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
]);

/** Keywords whose message begins with the value itself, which must not be told. */
const VALUE_FIRST: ReadonlySet<string> = new Set([
  "exclusiveMaximum",
  "exclusiveMinimum",
  "maximum",
  "minimum",
  "multipleOf",
]);

/**
 * Makes an argument check that goes by `call.schema`: JSON Schema 2020-12, or the draft that its `$schema` names
 * (4, 7, 2019-09). A Standard Schema is asked itself. A call without a schema fits.
 *
 * Schemas are prepared once per object. At most eight problems are told, each as JSON Pointer and rule, never the value.
 * A schema that cannot be used (an unresolved `$ref`, a bad pattern) makes the check throw, and the dispatcher then
 * refuses the call.
 *
 * @source https://json-schema.org/draft/2020-12
 */
export function jsonSchemaValidator(): ArgsValidator {
  const prepared = new WeakMap<object, Validator>();
  return ({ schema, toolArgs }) => {
    if (schema === undefined || schema === null || schema === true) return [];
    if (schema === false) return [{ path: "", message: "no arguments are allowed" }];
    if (isStandardSchema(schema)) return askVendor(schema, toolArgs);
    if (typeof schema !== "object") throw new TypeError("the schema is neither an object nor a boolean");
    let validator = prepared.get(schema);
    if (validator === undefined) {
      validator = prepare(schema as Schema);
      prepared.set(schema, validator);
    }
    return problemsOf(validator, toolArgs);
  };
}

async function askVendor(schema: StandardSchema, args: unknown): Promise<readonly ArgsProblem[]> {
  return toArgsProblems(await schema["~standard"].validate(args));
}

/** The library writes into the schemas that it reads, so it gets a copy. */
function prepare(schema: Schema): Validator {
  return new Validator(structuredClone(schema), draftOf(schema.$schema), false);
}

function draftOf(uri: unknown): SchemaDraft {
  if (typeof uri !== "string") return "2020-12";
  if (/draft-0[67]\b/.test(uri)) return "7";
  if (/draft-04\b/.test(uri)) return "4";
  return /2019-09/.test(uri) ? "2019-09" : "2020-12";
}

function problemsOf(validator: Validator, args: unknown): readonly ArgsProblem[] {
  const { valid, errors } = validator.validate(args);
  if (valid) return [];
  const inner = errors.filter(({ keyword }) => !OUTER_KEYWORDS.has(keyword));
  return (inner.length > 0 ? inner : errors).slice(0, MAX_PROBLEMS).map(({ instanceLocation, keyword, error }) => ({
    path: instanceLocation.replace(/^#/, ""),
    message: messageOf(keyword, error),
  }));
}

function messageOf(keyword: string, error: string): string {
  if (keyword === "false") return "is not allowed here";
  return VALUE_FIRST.has(keyword) ? error.replace(/^\S+ /, "") : error;
}
