/** Masks a stream, as a whole or item by item. */

/** Masks one item, or several texts in a row as one. Throws where the redactor fails. */
export interface StreamMask {
  item(item: unknown): unknown;
  thrown(thrown: unknown): unknown;
}

type Source = AsyncIterableIterator<unknown, unknown, unknown>;

/** Hands on each item when it has been masked. A secret that is spread over items is not seen. */
export function maskEachItem(source: Source, mask: StreamMask): Source {
  const pull = async (step: () => Promise<IteratorResult<unknown>>): Promise<IteratorResult<unknown>> => {
    const { done = false, value } = await masked(step, mask);
    if (value === undefined) return { done, value };
    try {
      return { done, value: mask.item(value) };
    } catch {
      return fail(source);
    }
  };
  return {
    next: (...args) => pull(() => source.next(...(args as [unknown]))),
    return: (value) => pull(async () => source.return?.(value) ?? { done: true, value }),
    throw: (thrown) => pull(async () => source.throw?.(thrown) ?? Promise.reject(thrown)),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/**
 * Reads the stream to its end when the first item is asked for, and hands it on masked. Texts in a row are masked as one,
 * so that a secret spread over them is seen; where nothing in them had to be masked they come as they were.
 */
export function maskWholeStream(source: Source, mask: StreamMask): Source {
  let left: AsyncGenerator<unknown, unknown, unknown> | undefined;
  const rest = (): AsyncGenerator<unknown, unknown, unknown> => {
    left ??= readWhole(source, mask);
    return left;
  };
  return {
    next: () => rest().next(),
    async return(value) {
      await source.return?.(value);
      return rest().return(value);
    },
    async throw(thrown) {
      await masked(async () => source.throw?.(thrown) ?? Promise.reject(thrown), mask);
      return rest().return(undefined);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* readWhole(source: Source, mask: StreamMask): AsyncGenerator<unknown, unknown, unknown> {
  const items: unknown[] = [];
  let failure: { readonly thrown: unknown } | undefined;
  let value: unknown;
  try {
    for (let step = await source.next(); ; step = await source.next()) {
      value = step.value;
      if (step.done === true) break;
      items.push(value);
    }
  } catch (thrown) {
    failure = { thrown };
  }
  yield* maskRuns(items, mask);
  if (failure !== undefined) throw mask.thrown(failure.thrown);
  return value === undefined ? undefined : mask.item(value);
}

/** Runs of texts as one, everything else one by one. */
function maskRuns(items: readonly unknown[], mask: StreamMask): readonly unknown[] {
  const masked: unknown[] = [];
  for (let start = 0; start < items.length; ) {
    const end = endOfTexts(items, start);
    if (end === start) {
      masked.push(mask.item(items[start]));
      start += 1;
      continue;
    }
    const texts = items.slice(start, end);
    const whole = texts.join("");
    const after = mask.item(whole);
    masked.push(...(after === whole ? texts : [after]));
    start = end;
  }
  return masked;
}

function endOfTexts(items: readonly unknown[], start: number): number {
  let end = start;
  while (typeof items[end] === "string") end += 1;
  return end;
}

/** What the source throws is masked like an error. */
async function masked<T>(step: () => Promise<T>, mask: StreamMask): Promise<T> {
  try {
    return await step();
  } catch (thrown) {
    throw mask.thrown(thrown);
  }
}

/** Ends the source as failed, so that what is recorded of it is no success. */
async function fail(source: Source): Promise<never> {
  const failure = new Error("an item of the stream could not be redacted and is withheld");
  await Promise.resolve(source.throw?.(failure)).catch(() => {});
  throw failure;
}
