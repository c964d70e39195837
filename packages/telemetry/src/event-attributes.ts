/** Attributes of events that layers put on their spans: scalars only, texts of bounded length. */

import type { Attributes } from "@toolspan/core";
import { tryTo } from "./plain-value.ts";

const MAX_TEXT = 1024;

/** Leaves out what is no scalar, so that null, undefined, NaN and mixed lists never reach an SDK. */
export function toEventAttributes(attributes: Attributes | undefined): Attributes | undefined {
  if (attributes === undefined) return undefined;
  const kept: Record<string, string | number | boolean> = {};
  for (const key of tryTo(() => Object.keys(attributes), [])) {
    const value: unknown = tryTo<unknown>(() => attributes[key], undefined);
    if (typeof value === "string")
      kept[key] = value.length > MAX_TEXT ? value.slice(0, MAX_TEXT).toWellFormed() : value;
    else if (typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value))) kept[key] = value;
  }
  return kept;
}
