/** Where the project reports its own trouble: once per kind, counted, and never into a call. */

/** One kind of trouble. */
export interface Diagnostic {
  /** Which part speaks: `telemetry.otel`, `kernel.observer`, `receipts.local`, … */
  readonly source: string;
  /** Low-cardinality word of what went wrong. */
  readonly kind: string;
  /** One line for people; no content of arguments or results. */
  readonly message: string;
  /** How often this kind has happened so far. */
  readonly count: number;
}

export type DiagnosticListener = (diagnostic: Diagnostic) => void;

const counts = new Map<string, number>();
let listener: DiagnosticListener = (diagnostic) => {
  // biome-ignore lint/suspicious/noConsole: the last resort where no host listens
  console.warn(`toolspan: ${diagnostic.source}: ${diagnostic.message}`);
};

/** The project's own trouble. A warning on the console unless somebody listens. */
export const diagnostics = {
  /** Counts one occurrence and tells the listener of the first. Never throws. */
  report(source: string, kind: string, message: string): void {
    const key = `${source} ${kind}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    if (count > 1) return;
    try {
      listener({ source, kind, message, count });
    } catch {
      // A listener that throws has nobody left to be told.
    }
  },

  /** Replaces the listener; returns a function that puts the former one back. */
  listen(next: DiagnosticListener): () => void {
    const former = listener;
    listener = next;
    return () => {
      listener = former;
    };
  },

  /** Occurrences so far, by `<source> <kind>`. */
  counts(): ReadonlyMap<string, number> {
    return new Map(counts);
  },

  /** Forgets all counts, so that each kind is said again. For tests and long-lived hosts that rotate their logs. */
  reset(): void {
    counts.clear();
  },
} as const;
