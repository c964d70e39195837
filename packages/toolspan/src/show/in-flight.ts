/** Works through a stream of items, several at the same time, holding no more than those. */

/**
 * Gives every item to `work`, at most `limit` at a time; the next one is taken when a place is free.
 *
 * @throws What the source throws, or the first thing that `work` throws, once everything that was begun has ended.
 */
export async function eachInFlight<T>(
  items: AsyncIterable<T>,
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const source = items[Symbol.asyncIterator]();
  const place = async (): Promise<void> => {
    for (let next = await source.next(); next.done !== true; next = await source.next()) await work(next.value);
  };
  const places = await Promise.allSettled(Array.from({ length: limit }, place));
  for (const ended of places) if (ended.status === "rejected") throw ended.reason;
}
