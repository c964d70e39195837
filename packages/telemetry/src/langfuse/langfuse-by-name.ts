/** `withTelemetry("langfuse")`: the sink of spans, and who is told of what did not arrive. */

import type { Sink } from "@toolspan/core";
import type { OnTelemetryError } from "../sinks/record-target.ts";
import type { ToolCallSpan } from "../spans/tool-call-span.ts";
import type { LangfuseOptions } from "./langfuse-settings.ts";
import { createLangfuseSink, type LangfuseSink } from "./langfuse-sink.ts";

export interface LangfuseByName {
  readonly spans: LangfuseSink;
  /** Calls `onError`; undefined where there is none. */
  readonly records: Sink<ToolCallSpan> | undefined;
}

/**
 * Spans go to Langfuse in batches, so `onError` hears of a lost batch with the record of the latest call; of missing
 * settings it hears once, with the first.
 *
 * @throws TOOLSPAN_MISSING_PEER
 */
export function langfuseByName(options: LangfuseOptions, onError: OnTelemetryError | undefined): LangfuseByName {
  if (onError === undefined)
    return { spans: createLangfuseSink(options, SUBJECT, { signals: true }), records: undefined };
  let latest: ToolCallSpan | undefined;
  const tell = (message: string): void => {
    if (latest === undefined) return;
    try {
      onError(message, latest);
    } catch {
      // Whoever is told of failures has failed: they stay counted.
    }
  };
  const spans = createLangfuseSink(options, SUBJECT, { onLoss: tell, signals: true });
  let untold = spans.problem;
  const records: Sink<ToolCallSpan> = {
    export(span) {
      latest = span;
      if (untold !== null) tell(untold);
      untold = null;
    },
    forceFlush: async () => {},
    shutdown: async () => {},
  };
  return { spans, records };
}

const SUBJECT = 'withTelemetry("langfuse")';
