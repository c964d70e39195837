/** Finds the traces that files of spans hold, in two passes: first which, then the spans of those that are wanted. */

import { ATTR } from "../attributes.ts";
import { readLines } from "../files/read-lines.ts";
import { attributeOf, spansOfLine, type TraceSpan } from "./trace-span.ts";

export interface FoundTrace {
  readonly traceId: string;
  /** The conversation that its spans name, if they name one. */
  readonly sessionId: string | null;
  readonly spans: readonly TraceSpan[];
}

export interface FoundTraces {
  /** In order of their first appearance. */
  readonly traces: readonly FoundTrace[];
  /** Traces that fit and were left out because of the limit: the earlier ones. */
  readonly omitted: number;
}

/**
 * Reads files of spans for traces.
 *
 * @param sessionId Only traces of this conversation; every trace where it is undefined.
 * @param limit At most so many, the latest.
 */
export async function findTraces(
  paths: readonly string[],
  sessionId: string | undefined,
  limit: number,
): Promise<FoundTraces> {
  const sessions = new Map<string, string | null>();
  for await (const span of spansIn(paths, sessionId)) {
    const named = sessionOf(span);
    if (sessionId !== undefined && named !== sessionId) continue;
    if (named !== null || !sessions.has(span.traceId)) sessions.set(span.traceId, named);
  }
  const wanted = new Map([...sessions].slice(-limit));
  const spans = new Map([...wanted.keys()].map((traceId): [string, TraceSpan[]] => [traceId, []]));
  if (wanted.size > 0) for await (const span of spansIn(paths)) spans.get(span.traceId)?.push(span);
  return {
    traces: [...wanted].map(([traceId, named]) => ({ traceId, sessionId: named, spans: spans.get(traceId) ?? [] })),
    omitted: sessions.size - wanted.size,
  };
}

/** The spans of all files; with a text given, only of lines that hold it. */
async function* spansIn(paths: readonly string[], text?: string): AsyncGenerator<TraceSpan, void, void> {
  const needle = text === undefined ? "" : JSON.stringify(text);
  for (const path of paths) {
    for await (const line of readLines(path)) {
      if (line.text.includes(needle)) yield* spansOfLine(line.text) ?? [];
    }
  }
}

function sessionOf(span: TraceSpan): string | null {
  const named = attributeOf(span, ATTR.conversationId) ?? attributeOf(span, ATTR.sessionId);
  return typeof named === "string" ? named : null;
}
