/** Attributes of events that layers put on their spans: scalars only, texts of bounded length. */

import type { Attributes } from "@opentelemetry/api";
import { tryTo } from "../content/plain-value.ts";

const MAX_TEXT = 1024;

/** Leaves out what is no scalar, so that null, undefined, NaN and mixed lists never reach an SDK. */
export function toEventAttributes(attributes: Readonly<Record<string, unknown>> | undefined): Attributes | undefined {
  if (attributes === undefined) return undefined;
  const kept: Attributes = {};
  for (const key of tryTo(() => Object.keys(attributes), [])) {
    const value: unknown = tryTo(() => attributes[key], undefined);
    if (typeof value === "string")
      kept[key] = value.length > MAX_TEXT ? value.slice(0, MAX_TEXT).toWellFormed() : value;
    else if (typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value))) kept[key] = value;
  }
  return kept;
}
