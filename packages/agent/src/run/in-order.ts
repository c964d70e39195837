/** Runs work on a list, several at a time, and keeps the list's order. */

/** Starts items in order, at most `limit` at a time; results stand where their items stood. Rejects with the first failure. */
export async function inOrder<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T, position: number) => Promise<R>,
): Promise<readonly R[]> {
  const results = new Array<R>(items.length);
  const rest = items.entries();
  const worker = async (): Promise<void> => {
    for (const [position, item] of rest) results[position] = await work(item, position);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}
