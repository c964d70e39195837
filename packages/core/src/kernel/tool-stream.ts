/** A streaming result: the handler's own iterator, run in the leaf's context; the dispatch ends when it closes. */

import type { Digest, SequenceDigest } from "../ports/hasher.ts";
import type { Classification } from "../vocabulary/classify.ts";
import { STATUSES } from "../vocabulary/status.ts";
import { CAUSE, type ToolResult } from "../vocabulary/tool-result.ts";
import { digestSafely } from "./dispatch-run.ts";
import { failedResult } from "./failed-result.ts";
import { runWithin } from "./guard.ts";
import type { Leaf } from "./leaf.ts";
import { classified, resultOf, toResult } from "./to-result.ts";

const DEFAULT_IDLE_MS = 60_000;
/** Longest delay that a timer takes; beyond it, it would fire at once. */
export const MAX_DELAY_MS = 2_147_483_647;

type Step = IteratorResult<unknown, unknown>;
type Source = AsyncIterator<unknown, unknown, unknown>;
type Finish = (closed: ToolResult) => Promise<ToolResult>;

/** True for an object with an async iterator. Never throws. */
export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  try {
    return typeof (value as Partial<AsyncIterable<unknown>> | null)?.[Symbol.asyncIterator] === "function";
  } catch {
    return false;
  }
}

/** Opens a handler's stream and answers with the provisional result that carries it. */
export function openStream(leaf: Leaf, iterable: AsyncIterable<unknown>): ToolResult {
  let source: Source;
  try {
    source = iterable[Symbol.asyncIterator]();
  } catch (thrown) {
    return leaf.settle(toResult(leaf, { threw: true, value: thrown }));
  }
  const { call, dispatch } = leaf;
  const stream = new ToolStream(leaf, source);
  dispatch.streams ??= [];
  dispatch.streams.push(stream);
  return {
    ok: true,
    status: "ok",
    toolName: call.toolName,
    toolCallId: call.callId,
    arguments: call.toolArgs,
    result: stream.wrapper(),
    error: null,
    errorCategory: null,
    executor: call.declaredExecutor ?? null,
    executed: true,
    executionDurationMs: null,
    settled: stream.settled,
  };
}

export class ToolStream {
  readonly settled: Promise<ToolResult>;
  readonly #leaf: Leaf;
  readonly #source: Source;
  readonly #items: SequenceDigest | null;
  #failure: Classification | undefined;
  #closed: ToolResult | undefined;
  #isAbandoned = false;
  #finish: Finish | undefined;
  #finished: Promise<ToolResult> | undefined;
  #pulling = 0;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  #resolve: (result: ToolResult) => void = () => {};

  constructor(leaf: Leaf, source: Source) {
    this.#leaf = leaf;
    this.#source = source;
    const { hashing, hasher, plan } = leaf.dispatch;
    this.#items = hashing && plan.recorders.length > 0 ? (hasher?.sequence("result") ?? null) : null;
    this.settled = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#watchIdle();
  }

  /** True if `result` began as this stream's. */
  isOf(result: ToolResult): boolean {
    return result.settled === this.settled;
  }

  /** True while this stream runs and `result` hands it out; a layer that put something else in its place has dropped it. */
  isRunningIn(result: ToolResult): boolean {
    const { closed } = this.#leaf;
    return !closed && this.isOf(result) && result.ok && isAsyncIterable(result.result);
  }

  /** What became of the stream; undefined while it runs. */
  get closed(): ToolResult | undefined {
    return this.#closed;
  }

  /** Hands over the end of the dispatch, which then happens when the stream closes. */
  finishWith(finish: Finish): void {
    this.#finish = finish;
  }

  /** Digest of everything that was yielded, as one array; null when nobody records it. */
  digest(): Digest | null {
    const items = this.#items;
    return items === null ? null : digestSafely(this.#leaf.dispatch.hasher, () => items.end());
  }

  /** Ends the dispatch although nobody read the stream to its end. What is read of it afterwards settles late. */
  async abandon(): Promise<void> {
    if (this.#closed === undefined) {
      const { call } = this.#leaf;
      const error = `tool ${call.toolName}: its stream was left open`;
      this.#isAbandoned = true;
      void this.#close(failedResult(call, "aborted", "stream_abandoned", error));
    }
    await this.#finished;
  }

  /** What the caller reads: the handler's iterator, watched. */
  wrapper(): AsyncIterableIterator<unknown, unknown, unknown> {
    const source = this.#source;
    return {
      next: (...args) => this.#pull(async () => source.next(...(args as [unknown]))),
      return: (value) => this.#pull(async () => source.return?.(value) ?? { done: true, value }),
      throw: (thrown) => this.#pull(async () => source.throw?.(thrown) ?? Promise.reject(thrown)),
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  async #pull(pull: () => Promise<Step>): Promise<Step> {
    clearTimeout(this.#idleTimer);
    this.#pulling += 1;
    const entrant: Pulling = { entered: false, pull, step: undefined };
    runWithin(this.#leaf.observer, startPull, entrant);
    let step: Step;
    let ends: boolean;
    try {
      step = (await entrant.step) as Step;
      ends = Boolean(step.done);
      if (!ends) this.#yielded(step.value);
    } catch (thrown) {
      await this.#settle(() => toResult(this.#leaf, { threw: true, value: thrown }));
      throw thrown;
    } finally {
      this.#pulling -= 1;
      this.#watchIdle();
    }
    if (!ends) return step;
    const final = await this.#settle(() => this.#completed());
    if (final?.errorCategory === "receipt_failed") throw final[CAUSE];
    return step;
  }

  #yielded(item: unknown): void {
    if (this.#closed !== undefined || this.#leaf.closed) {
      void this.#settle(() => toResult(this.#leaf, { threw: false, value: item }));
      return;
    }
    const { status, ...rest } = classified(this.#leaf, { threw: false, value: item });
    if (!STATUSES[status].ok) this.#failure ??= { status, ...rest };
    const items = this.#items;
    if (items === null) return;
    digestSafely(this.#leaf.dispatch.hasher, () => {
      items.push(item);
      return { hash: "", redacted: [] };
    });
  }

  /** The result of a stream that ran to its end; an item that was a failure stays one. */
  #completed(): ToolResult {
    const { call } = this.#leaf;
    const failure = this.#failure;
    if (failure === undefined) return resultOf(this.#leaf, { threw: false, value: undefined }, { status: "ok" });
    const category = failure.errorCategory ?? (failure.status === "error" ? "tool_error" : failure.status);
    return failedResult(call, failure.status, category, failure.error ?? category);
  }

  /** What a pull came to: the close of the stream; once nobody waits for it, a late settlement; after its close, nothing. */
  #settle(outcome: () => ToolResult): Promise<ToolResult> | undefined {
    const leaf = this.#leaf;
    if (this.#isAbandoned || (leaf.closed && this.#closed === undefined)) leaf.settle(outcome());
    else if (this.#closed === undefined) return this.#close(outcome());
    return undefined;
  }

  /** Once: closes the leaf and, if the layers have already answered, ends the dispatch. */
  #close(result: ToolResult): Promise<ToolResult> {
    clearTimeout(this.#idleTimer);
    this.#closed = result;
    if (!this.#leaf.closed) this.#leaf.settle(result);
    const finished = this.#finish === undefined ? Promise.resolve(result) : this.#finish(result);
    this.#finished = finished;
    void finished.then(this.#resolve);
    return finished;
  }

  #watchIdle(): void {
    const idleMs = this.#leaf.dispatch.options.streamIdleMs ?? DEFAULT_IDLE_MS;
    clearTimeout(this.#idleTimer);
    if (idleMs <= 0 || this.#pulling > 0 || this.#closed !== undefined) return;
    this.#idleTimer = setTimeout(() => void this.abandon(), Math.min(idleMs, MAX_DELAY_MS));
    (this.#idleTimer as { unref?: () => void }).unref?.(); // an open stream must not keep the process alive
  }
}

interface Pulling {
  entered: boolean;
  readonly pull: () => Promise<Step>;
  step: Promise<Step> | undefined;
}

function startPull(pulling: Pulling): void {
  if (pulling.entered) return;
  pulling.entered = true;
  pulling.step = pulling.pull();
}
