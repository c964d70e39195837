/** The options that writer and reader share. */

/** Containers within one another that are accepted unless the caller says otherwise; far from the end of any stack. */
export const DEFAULT_MAX_DEPTH = 1000;

export interface CanonicalOptions {
  /** Containers within one another, integer >= 0. Values far above the default may meet the end of the stack first, which is the same refusal. */
  readonly maxDepth?: number;
}

export function maxDepthOf(options: CanonicalOptions | undefined): number {
  const maxDepth = options?.maxDepth ?? DEFAULT_MAX_DEPTH;
  if (!Number.isInteger(maxDepth) || maxDepth < 0) {
    throw new TypeError(`options.maxDepth: expected an integer >= 0, received ${String(maxDepth)}`);
  }
  return maxDepth;
}
