/** A success that is kept: how a result becomes one, and one a result. */

import { plainDigest } from "@toolspan/canonical/hash";
import type { ToolCall, ToolResult } from "@toolspan/core";
import { addMetadata } from "../audit-metadata.ts";
import type { StoredResult } from "./idempotency-store.ts";

/** What came from a store, if it is what was put into one. */
export function checkStored(entry: StoredResult | undefined | null): StoredResult | undefined {
  if (entry === undefined || entry === null) return undefined;
  const isStored = (entry.status === "ok" || entry.status === "redacted") && typeof entry.dispatchId === "string";
  if (!isStored) throw new TypeError("the store answered with something that is no stored result");
  return entry;
}

/** A copy of a success that can be given again; undefined for everything else. */
export function toStored(result: ToolResult, dispatchId: string): StoredResult | undefined {
  const { ok, status, settled, result: value, renderedResult, observation } = result;
  if (!ok || (status !== "ok" && status !== "redacted") || settled !== undefined) return undefined;
  if (plainDigest(value) === null && value !== undefined) return undefined;
  return structuredClone({
    status,
    ...("result" in result ? { result: value } : {}),
    ...(renderedResult === undefined ? {} : { renderedResult }),
    ...(observation === undefined ? {} : { observation }),
    dispatchId,
  });
}

/** The result of a call that is answered with a kept one, which is the caller's own from here on. */
export function replayed(entry: StoredResult, call: ToolCall): ToolResult {
  const { dispatchId, ...kept } = entry;
  return {
    ok: true,
    toolName: call.toolName,
    toolCallId: call.callId,
    arguments: call.toolArgs,
    ...kept,
    error: null,
    errorCategory: null,
    executor: call.declaredExecutor ?? null,
    replayed: true,
    audit: addMetadata(undefined, { replayed_from: dispatchId }),
  };
}
