/** Keeps observers from touching the call: whatever they throw is reported, and what had to run runs all the same. */

import { diagnostics } from "../diagnostics.ts";
import type { Observer, Report } from "../ports/observer.ts";
import { nameOf } from "../vocabulary/error-type.ts";

/** Says that an observer failed. */
export function reportObserver(thrown: unknown): void {
  diagnostics.report("kernel.observer", "threw", `an observer threw ${nameOf(thrown) ?? "a value"}; the call went on`);
}

/** Something that an observer is asked to run inside its span. */
export interface Entrant {
  /** Set by the function itself when it starts. */
  entered: boolean;
}

/** Calls `fn(entrant)` exactly once, inside the span if the observer manages it. `fn` never throws. */
export function runWithin<A extends Entrant>(
  span: { within<B>(fn: (arg: B) => void, arg: B): unknown },
  fn: (entrant: A) => void,
  entrant: A,
): void {
  try {
    hear(span.within(fn, entrant));
  } catch (thrown) {
    reportObserver(thrown);
  }
  if (!entrant.entered) fn(entrant);
}

/** An observer that answers with a promise is not waited for, but its rejection is not left unheard. */
function hear(answer: unknown): void {
  if (answer instanceof Promise) answer.catch(reportObserver);
}

/** Answers with `open()`, or with `absent` when the observer throws. */
export function openSafely<T>(open: () => T, absent: T): T {
  try {
    const opened = open();
    if (!(opened instanceof Promise)) return opened;
    hear(opened);
    return absent;
  } catch (thrown) {
    reportObserver(thrown);
    return absent;
  }
}

/** Tells an observer something; nobody waits for what it answers. */
export function tellSafely(tell: () => unknown): void {
  try {
    hear(tell());
  } catch (thrown) {
    reportObserver(thrown);
  }
}

/** Runs `fn` exactly once, through the observer's `wrap` if it manages that, and answers with what `fn` itself did. */
export async function runThrough<T>(
  wrap: (fn: (report: Report) => Promise<T>) => Promise<T>,
  fn: (report: Report) => Promise<T>,
): Promise<T> {
  let own: Promise<T> | undefined;
  const once = (report: Report): Promise<T> => {
    own ??= (async () => fn(report))();
    return own;
  };
  let wrapped: Promise<unknown> | undefined;
  try {
    wrapped = wrap(once);
    if (own === undefined) await wrapped;
  } catch (thrown) {
    if (own === undefined) reportObserver(thrown);
  }
  own ??= once(() => {});
  if (wrapped instanceof Promise) reportOwnTrouble(wrapped, own);
  return own;
}

/** Reports what the observer threw, unless it only passed on what `fn` threw. */
function reportOwnTrouble(wrapped: Promise<unknown>, own: Promise<unknown>): void {
  wrapped.catch((thrown) =>
    own.then(
      () => reportObserver(thrown),
      (passedOn) => Object.is(passedOn, thrown) || reportObserver(thrown),
    ),
  );
}

/** Runs `fn` inside every observer, the first outermost. */
export async function runThroughAll<T>(
  observers: readonly Observer[],
  wrap: (observer: Observer, fn: (report: Report) => Promise<T>) => Promise<T>,
  fn: (report: Report) => Promise<T>,
): Promise<T> {
  const through = observers.reduceRight<(report: Report) => Promise<T>>(
    (inner, observer) => (outerReport) =>
      runThrough(
        (run) => wrap(observer, run),
        (report) =>
          inner((said) => {
            tellSafely(() => report(said));
            outerReport(said);
          }),
      ),
    async (report) => fn(report),
  );
  return through(() => {});
}
