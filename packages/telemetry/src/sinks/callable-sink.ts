/** A function as a sink: called once per dispatch with the span record. */

import type { Sink } from "@toolspan/core";
import type { ToolCallSpan } from "../spans/tool-call-span.ts";

export type SpanCallback = (span: ToolCallSpan) => unknown;

/** Calls `fn` with each record; a promise it returns is waited for when flushing, never in the call's path. */
export function callableSink(fn: SpanCallback): Sink<ToolCallSpan> {
  return {
    export: (span) => fn(span) as void | Promise<void>,
    forceFlush: async () => {},
    shutdown: async () => {},
  };
}
