/** What a model gets to read of a result. */

import type { ToolResult } from "@toolspan/core";
import { jsonText } from "./json-text.ts";

/**
 * The text of a result: `renderedResult`, else the result itself (a string as it is, anything else as JSON), else
 * the observation, else what went wrong in words. Never throws.
 *
 * @param items What a stream yielded: text pieces are one text, anything else is one JSON array.
 */
export function renderResult(result: ToolResult, items?: readonly unknown[]): string {
  if (result.renderedResult !== undefined) return result.renderedResult;
  if (items !== undefined && (result.ok || items.length > 0)) return withFailure(result, renderItems(items));
  if (items === undefined && result.result !== undefined) return renderValue(result.result);
  if (result.observation !== undefined) return result.observation;
  return result.ok ? renderValue(result.result) : failureText(result);
}

function renderValue(value: unknown): string {
  return typeof value === "string" ? value : jsonText(value);
}

function renderItems(items: readonly unknown[]): string {
  return items.every((item) => typeof item === "string") ? items.join("") : jsonText(items);
}

/** A stream that broke off shows how far it came and that it is not whole. */
function withFailure(result: ToolResult, text: string): string {
  return result.ok ? text : `${text}\n[${failureText(result)}]`;
}

function failureText({ observation, error, status }: ToolResult): string {
  return observation ?? error ?? `the tool call failed: ${status}`;
}
