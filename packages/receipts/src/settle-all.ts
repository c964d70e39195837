/** Waiting for many things, and for none of them for ever. */

import { ToolspanError } from "@toolspan/core";

/** Waits for all; then fails with the one error, or with all of them. */
export async function settleAll(promises: readonly Promise<void>[]): Promise<void> {
  const settled = await Promise.allSettled(promises);
  const errors = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors, `${errors.length} receipt stores failed`);
}

/**
 * Waits for `promise`, at most `timeoutMs`.
 *
 * @throws TOOLSPAN_RECEIPT_STORE when the time is up: what was waited for may still happen, but nobody may count on it.
 */
export async function withinTime(promise: Promise<void>, timeoutMs: number, what: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const expected = `an answer to ${what} within ${timeoutMs} ms`;
      reject(new ToolspanError("TOOLSPAN_RECEIPT_STORE", { path: "sinks", expected, received: "none" }));
    }, timeoutMs);
  });
  try {
    await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
