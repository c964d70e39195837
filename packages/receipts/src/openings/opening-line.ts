/** Wire record of an opening: what proves one committed hash, in a file that can be destroyed without the log. */

import {
  closed,
  constant,
  type Fields,
  hex64,
  isObject,
  matching,
  oneOf,
  orNull,
  text,
  uuid,
} from "../records/field.ts";

/** Which hash of a receipt is opened. */
export type OpenedField = "args_hash" | "executed_args_hash" | "result_hash";

export interface OpeningLine {
  readonly record: "opening";
  readonly schema_version: 1;
  readonly dispatch_id: string;
  readonly field: OpenedField;
  /** `commit-sha256:<hex>`, as it stands in the receipt. */
  readonly hash: string;
  /** 64 lower-case hex digits. */
  readonly salt: string;
  /** What was hashed; null where only salts are kept. */
  readonly text: string | null;
}

const openingFields: Fields<OpeningLine> = {
  record: constant("opening"),
  schema_version: constant(1),
  dispatch_id: uuid,
  field: oneOf(["args_hash", "executed_args_hash", "result_hash"]),
  hash: matching(/^commit-sha256:[0-9a-f]{64}$/),
  salt: hex64,
  text: orNull(text),
};
const openingObject = closed(openingFields);

/** True for an opening with all its fields and no more. */
export function isOpeningLine(value: unknown): value is OpeningLine {
  return openingObject.accepts(value);
}

/** The line with its newline. */
export function openingText(opening: OpeningLine): string {
  return `${JSON.stringify(opening)}\n`;
}

/** How many openings `text` holds; a torn line opens nothing. */
export function countOpenings(text: string): number {
  return text.split("\n").filter((line) => isOpening(line)).length;
}

function isOpening(line: string): boolean {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) && value.record === "opening";
  } catch {
    return false;
  }
}
