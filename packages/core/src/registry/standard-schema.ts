/** Schemas of any vendor that follow Standard Schema, beside plain JSON Schema. */

import type { ArgsProblem } from "../ports/args-validator.ts";

/** A JSON Schema object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/**
 * What Zod, Valibot, ArkType and others share.
 *
 * @source https://standardschema.dev, version 1, with the JSON Schema extension where the vendor has it.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly jsonSchema?: { readonly input: (options: { readonly target: "draft-2020-12" }) => JsonSchema };
  };
}

/** True for an object or function that carries `~standard`. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const standard = (value as Partial<StandardSchema>)["~standard"];
  return typeof standard === "object" && standard !== null && typeof standard.validate === "function";
}

/** The JSON Schema of what a schema takes; undefined where the vendor cannot say. Throws what the vendor throws. */
export function toJsonSchema(schema: JsonSchema | StandardSchema): JsonSchema | undefined {
  if (!isStandardSchema(schema)) return schema;
  return schema["~standard"].jsonSchema?.input({ target: "draft-2020-12" });
}

/** A vendor's issues as problems with JSON Pointers. */
export function toArgsProblems(result: StandardResult<unknown>): readonly ArgsProblem[] {
  return (result.issues ?? []).map(({ message, path = [] }) => ({
    path: path.map((part) => `/${escapePointer(typeof part === "object" ? part.key : part)}`).join(""),
    message,
  }));
}

function escapePointer(key: PropertyKey): string {
  return String(key).replaceAll("~", "~0").replaceAll("/", "~1");
}
