/** Reads a streaming result to its end, because a model takes an answer only as a whole. */

import type { ToolResult } from "@toolspan/core";
import { onAbort } from "../run/abort.ts";

/** What a stream came to. */
export interface ReadStream {
  /** The result after the stream has closed. */
  readonly result: ToolResult;
  /** Everything that was yielded, in order, also before a failure. */
  readonly items: readonly unknown[];
}

/** Reads until the stream ends or fails, or `signal` closes it. Never rejects: how it ended is in the result. */
export async function readStream(
  stream: ToolResult,
  settled: Promise<ToolResult>,
  signal: AbortSignal | undefined,
): Promise<ReadStream> {
  const items: unknown[] = [];
  const iterator = iteratorOf(stream.result);
  const stop = onAbort(signal, () => iterator?.return?.().catch(ignore));
  try {
    for (let step = await iterator?.next(); step !== undefined && step.done !== true; step = await iterator?.next()) {
      items.push(step.value);
    }
  } catch {
    // The kernel has classified this failure; `settled` carries it.
  } finally {
    stop();
  }
  return { result: await settled, items };
}

/** Undefined where a layer has put something else in the stream's place: then only its end counts. */
function iteratorOf(value: unknown): AsyncIterator<unknown> | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator]?.();
}

function ignore(): void {}
