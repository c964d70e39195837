/** Parts for tests of layers, sinks and adapters: real implementations that tests can steer and read. */

import type { ToolHandler } from "./ports/dispatcher-port.ts";
import type { ToolCaller } from "./ports/layer.ts";
import type { Sink } from "./ports/sink.ts";
import type { Clock, Reading } from "./vocabulary/clock.ts";
import type { ToolCall } from "./vocabulary/tool-call.ts";
import type { ToolResult } from "./vocabulary/tool-result.ts";

export { assertNoLeak, type Canary } from "./testing/assert-no-leak.ts";
export { LeakError, type LeakFound } from "./testing/leak-error.ts";

/** A sink that keeps what it gets. */
export interface MemorySink<T> extends Sink<T> {
  /** Everything exported so far, in order. */
  readonly items: readonly T[];
  readonly flushes: number;
  readonly closed: boolean;
}

/** Keeps items in memory; takes none once shut down. */
export function memorySink<T>(): MemorySink<T> {
  const items: T[] = [];
  let flushes = 0;
  let closed = false;
  return {
    items,
    get flushes() {
      return flushes;
    },
    get closed() {
      return closed;
    },
    export(item) {
      if (closed) throw new Error("memorySink: export after shutdown");
      items.push(item);
    },
    async forceFlush() {
      flushes += 1;
    },
    async shutdown() {
      closed = true;
    },
  };
}

/** A clock that moves only as told. */
export interface FixedClock extends Clock {
  /** Moves forward by this many milliseconds. */
  advance(ms: number): void;
}

/**
 * A clock for golden files and fake time.
 *
 * @param options.startAt Wall time of the anchor, anything `Date` takes. Default 2025-01-01T00:00:00Z.
 * @param options.stepNanos How far each reading moves on, nanoseconds, integer >= 1. Default 1: readings never tie.
 */
export function fixedClock(
  options: { readonly startAt?: string | number | Date; readonly stepNanos?: number } = {},
): FixedClock {
  const { startAt = "2025-01-01T00:00:00Z", stepNanos = 1 } = options;
  const wallMs = new Date(startAt).getTime();
  const anchorSeconds = Math.floor(wallMs / 1000);
  let elapsed: Reading = -stepNanos;
  return {
    anchorSeconds,
    anchorNanos: (wallMs - anchorSeconds * 1000) * 1e6,
    now() {
      elapsed += stepNanos;
      return elapsed;
    },
    advance(ms) {
      elapsed += Math.round(ms * 1e6);
    },
  };
}

/** What to answer one call with: fields of a result (an ok one of that call, unless they say otherwise), or a function. */
export type ScriptedAnswer = Partial<ToolResult> | ((call: ToolCall) => ToolResult | Promise<ToolResult>);

/** Remembers the calls it was given, in order. */
export interface Scripted {
  readonly calls: readonly ToolCall[];
}

/** A caller that answers from a script, never calls `next`, and throws when the script is over. */
export function scriptedCaller(answers: Iterable<ScriptedAnswer>): ToolCaller & Scripted {
  const take = script("scriptedCaller", answers);
  const calls: ToolCall[] = [];
  const caller: ToolCaller = (call) => {
    calls.push(call);
    const answer = take();
    if (typeof answer === "function") return answer(call);
    return { ok: true, status: "ok", toolName: call.toolName, result: undefined, ...answer };
  };
  return Object.assign(caller, { calls });
}

/** A tool that returns the script's values one by one, calls those that are functions, and throws when it is over. */
export function scriptedHandler(values: Iterable<unknown>): ToolHandler & Scripted {
  const take = script("scriptedHandler", values);
  const calls: ToolCall[] = [];
  const handler: ToolHandler = (call) => {
    calls.push(call);
    const value = take();
    return typeof value === "function" ? (value(call) as unknown) : value;
  };
  return Object.assign(handler, { calls });
}

function script<T>(name: string, answers: Iterable<T>): () => T {
  const rest = answers[Symbol.iterator]();
  return () => {
    const { value, done } = rest.next();
    if (done === true) throw new Error(`${name}: the script is over`);
    return value;
  };
}
