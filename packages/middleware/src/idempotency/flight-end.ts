/** What those who waited for a call are told when it ends: its success, or a failure behind which the tool may still run. */

import { failedResult, type ToolCall, type ToolResult, type ToolStatus } from "@toolspan/core";
import { addMetadata } from "../audit-metadata.ts";
import type { StoredResult } from "./idempotency-store.ts";

/** A failure, and the dispatch that ended so. */
export interface FailedEnd {
  readonly failed: ToolResult;
  readonly dispatchId: string;
}

export type FlightEnd = { readonly kept: StoredResult } | FailedEnd;

/** Failures that say nothing of the tool: it may not have begun, be at work, or have had its effect. */
const UNSETTLED: ReadonlySet<ToolStatus> = new Set(["timeout", "aborted", "tool_middleware_exception"]);

/** False only where the tool has settled, or a layer has refused to run it. */
export function mayStillRun({ status, executed }: ToolResult): boolean {
  return UNSETTLED.has(status) && executed !== false;
}

/** The same failure for a call that has waited for it, and has run nothing. */
export function sharedFailure({ failed, dispatchId }: FailedEnd, call: ToolCall): ToolResult {
  const { status, errorCategory, error, observation } = failed;
  const text = error ?? observation ?? `tool ${call.toolName}: the same call, which was running, ended as ${status}`;
  return {
    ...failedResult(call, status, errorCategory ?? status, text),
    observation: observation ?? text,
    audit: addMetadata(undefined, { shared_from: dispatchId }),
  };
}
