/** Masks a result: every field that can hold content, known or not. */

import { CAUSE, type ToolResult } from "@toolspan/core";
import { maskEachItem, maskWholeStream } from "./mask-stream.ts";
import { maskThrown } from "./mask-thrown.ts";
import type { Masking } from "./masking.ts";

/** Fields that hold facts and words of closed tables; whatever is not listed is content. The audit is masked by the kernel. */
const FACTS: ReadonlySet<string> = new Set([
  "ok",
  "status",
  "toolName",
  "toolCallId",
  "errorCategory",
  "executor",
  "executionDurationMs",
  "audit",
  "replayed",
  "executed",
  "settled",
  "rethrow",
]);

export type StreamMode = "whole" | "each_item";

/** The same object where nothing had to be masked. `known` has been masked before: fields equal to its stay. */
export function maskResult(result: ToolResult, masking: Masking, streams: StreamMode, known?: ToolResult): ToolResult {
  const patch: Record<PropertyKey, unknown> = {};
  for (const [key, value] of Object.entries(result)) {
    if (FACTS.has(key) || isKnown(known, key, value)) continue;
    const masked = maskField(result, key, value, masking, streams);
    if (!Object.is(masked, value)) patch[key] = masked;
  }
  if (CAUSE in result && !isKnown(known, CAUSE, result[CAUSE])) {
    const masked = maskThrown(result[CAUSE], masking);
    if (!Object.is(masked, result[CAUSE])) patch[CAUSE] = masked;
  }
  return Reflect.ownKeys(patch).length === 0 ? result : { ...result, ...patch };
}

function isKnown(known: ToolResult | undefined, key: PropertyKey, value: unknown): boolean {
  return known !== undefined && Object.hasOwn(known, key) && Object.is(Reflect.get(known, key), value);
}

function maskField(result: ToolResult, key: string, value: unknown, masking: Masking, streams: StreamMode): unknown {
  if (value === undefined || value === null) return value;
  switch (key) {
    case "arguments":
      return masking.args(value);
    case "original":
      return maskResult(value as ToolResult, masking, streams);
    case "error":
    case "observation":
      return typeof value === "string" ? masking.text("error", value) : masking.value("error", value);
    case "result":
      return isStream(result) ? maskStream(result.result, masking, streams) : masking.value("result", value);
    default:
      return typeof value === "string" ? masking.text("result", value) : masking.value("result", value);
  }
}

type Stream = AsyncIterableIterator<unknown, unknown, unknown>;

function isStream(result: ToolResult): result is ToolResult & { readonly result: Stream } {
  return result.settled !== undefined && typeof (result.result as Partial<Stream> | null)?.next === "function";
}

function maskStream(stream: Stream, masking: Masking, streams: StreamMode): Stream {
  const mask = {
    item: (item: unknown) => (typeof item === "string" ? masking.text("result", item) : masking.value("result", item)),
    thrown: (thrown: unknown) => maskThrown(thrown, masking),
  };
  return streams === "whole" ? maskWholeStream(stream, mask) : maskEachItem(stream, mask);
}
