/** A streaming result: the handler's own iterator, run in the leaf's context; the dispatch ends when it closes. */

import type { Classification } from "./classify.ts";
import { digestSafely } from "./dispatch-run.ts";
import { failedResult } from "./failed-result.ts";
import { runWithin } from "./guard.ts";
import type { Digest, SequenceDigest } from "./hasher.ts";
import type { Leaf } from "./leaf.ts";
import { STATUSES } from "./status.ts";
import { classified, toResult } from "./to-result.ts";
import { CAUSE, type ToolResult } from "./tool-result.ts";

const DEFAULT_IDLE_MS = 60_000;

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
  const stream = new ToolStream(leaf, source);
  leaf.dispatch.stream = stream;
  const provisional = toResult(leaf, { threw: false, value: stream.wrapper() });
  return { ...provisional, ok: true, status: "ok", error: null, errorCategory: null, settled: stream.settled };
}

export class ToolStream {
  readonly settled: Promise<ToolResult>;
  readonly #leaf: Leaf;
  readonly #source: Source;
  readonly #items: SequenceDigest | null;
  #failure: Classification | undefined;
  #closed: ToolResult | undefined;
  #finish: Finish | undefined;
  #finished: Promise<ToolResult> | undefined;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  #resolve: (result: ToolResult) => void = () => {};

  constructor(leaf: Leaf, source: Source) {
    this.#leaf = leaf;
    this.#source = source;
    const { hashing, hasher, plan } = leaf.dispatch;
    this.#items = hashing && plan.recorders.length > 0 ? (hasher?.sequence() ?? null) : null;
    this.settled = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#watchIdle();
  }

  /** True while this stream runs and `result` still holds it: the dispatch then ends with the stream. */
  carries(result: ToolResult): boolean {
    return this.#closed === undefined && result.settled === this.settled;
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

  /** Ends the dispatch although nobody read the stream to its end. */
  async abandon(): Promise<void> {
    const { call } = this.#leaf;
    await this.#close(
      failedResult(call, "aborted", "stream_abandoned", `tool ${call.toolName}: its stream was left open`),
    );
  }

  /** What the caller reads: the handler's iterator, watched. */
  wrapper(): AsyncIterableIterator<unknown, unknown, unknown> {
    const { return: end, throw: fail } = this.#source;
    return {
      next: (...args) => this.#pull(() => this.#source.next(...(args as [unknown]))),
      return: (value) => this.#pull(async () => (end ? end.call(this.#source, value) : { done: true, value })),
      throw: (thrown) => this.#pull(async () => (fail ? fail.call(this.#source, thrown) : Promise.reject(thrown))),
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  async #pull(pull: () => Promise<Step>): Promise<Step> {
    clearTimeout(this.#idleTimer);
    const entrant: Pulling = { entered: false, pull, step: undefined };
    runWithin(this.#leaf.observer, startPull, entrant);
    let step: Step;
    try {
      step = (await entrant.step) as Step;
    } catch (thrown) {
      await this.#close(toResult(this.#leaf, { threw: true, value: thrown }));
      throw thrown;
    }
    if (step.done !== true) {
      this.#yielded(step.value);
      return step;
    }
    const final = await this.#close(this.#completed());
    if (final.errorCategory === "receipt_failed") throw final[CAUSE];
    return step;
  }

  #yielded(item: unknown): void {
    const { status, ...rest } = classified(this.#leaf, { threw: false, value: item });
    if (!STATUSES[status].ok) this.#failure ??= { status, ...rest };
    digestSafely(this.#leaf.dispatch.hasher, () => {
      this.#items?.push(item);
      return { hash: "", redacted: [] };
    });
    this.#watchIdle();
  }

  /** The result of a stream that ran to its end; an item that was a failure stays one. */
  #completed(): ToolResult {
    const { call } = this.#leaf;
    const failure = this.#failure;
    if (failure === undefined) return toResult(this.#leaf, { threw: false, value: undefined });
    const category = failure.errorCategory ?? (failure.status === "error" ? "tool_error" : failure.status);
    return failedResult(call, failure.status, category, failure.error ?? category);
  }

  /** Once: closes the leaf and, if the layers have already answered, ends the dispatch. */
  #close(result: ToolResult): Promise<ToolResult> {
    clearTimeout(this.#idleTimer);
    if (this.#finished !== undefined) {
      if (!this.#leaf.settledLate) this.#leaf.settle(result);
      return this.#finished;
    }
    this.#closed = result;
    this.#leaf.settle(result);
    this.#finished = this.#finish === undefined ? Promise.resolve(result) : this.#finish(result);
    void this.#finished.then(this.#resolve);
    return this.#finished;
  }

  #watchIdle(): void {
    const idleMs = this.#leaf.dispatch.options.streamIdleMs ?? DEFAULT_IDLE_MS;
    clearTimeout(this.#idleTimer);
    if (idleMs <= 0 || this.#closed !== undefined) return;
    this.#idleTimer = setTimeout(() => void this.abandon(), idleMs);
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
  pulling.step = (async () => pulling.pull())();
}
