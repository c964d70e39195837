/** Port: where finished items go, with OpenTelemetry's three verbs; many sinks are one sink. */

/** Takes items one by one. `export` may be synchronous; its failure concerns nobody but the sink's owner. */
export interface Sink<T> {
  export(item: T): void | Promise<void>;
  /** Resolves when everything handed over so far has been passed on. */
  forceFlush(): Promise<void>;
  shutdown(): Promise<void>;
}

/** Takes and forgets. */
export const noopSink: Sink<unknown> = Object.freeze({
  export() {},
  forceFlush: async () => {},
  shutdown: async () => {},
});

/**
 * One sink that passes each item to all of `sinks`; a failing one does not reach its siblings.
 *
 * @returns A sink whose `export` rejects with an `AggregateError` after every sibling has had the item.
 */
export function fanOut<T>(...sinks: readonly Sink<T>[]): Sink<T> {
  return {
    export: (item) => each(sinks, async (sink) => sink.export(item)),
    forceFlush: () => each(sinks, (sink) => sink.forceFlush()),
    shutdown: () => each(sinks, (sink) => sink.shutdown()),
  };
}

async function each<T>(sinks: readonly Sink<T>[], act: (sink: Sink<T>) => Promise<void>): Promise<void> {
  const outcomes = await Promise.allSettled(sinks.map(act));
  const reasons = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason as unknown] : []));
  if (reasons.length > 0) throw new AggregateError(reasons, `${reasons.length} of ${sinks.length} sinks failed`);
}
