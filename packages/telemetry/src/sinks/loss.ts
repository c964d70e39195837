/** What telemetry lost: said once per reason, counted in `toolspan.telemetry.lost`, never a failure of a call. */

import { type MeterProvider, metrics } from "@opentelemetry/api";
import { diagnostics } from "@toolspan/core";
import { instrumentsOf } from "../metrics/instruments.ts";
import { METRIC_LOST } from "../names.ts";

/** What was lost: a span, a span record, a batch of metrics, or an attribute or event of a span. */
export type LostSignal = "spans" | "records" | "metrics" | "details";

export interface Loss {
  readonly signal: LostSignal;
  /** Low-cardinality word: `tracer_threw`, `sink_failed`, `queue_full`, `rejected`, `deadline`, `write_failed`, … */
  readonly reason: string;
  /** Which part speaks: `telemetry.otel`, `telemetry.jsonl`, … */
  readonly source: string;
  /** One line for people, without content. */
  readonly message: string;
  /** How many items. Default 1. */
  readonly count?: number;
}

const totals = new Map<string, number>();
/** A provider that its program has let go of measures nothing more. */
let given: readonly WeakRef<MeterProvider>[] = [];

/** Counts a loss, and says it the first time. Never throws. */
export function reportLoss({ signal, reason, source, message, count = 1 }: Loss): void {
  if (count <= 0) return;
  const key = `${signal} ${reason}`;
  totals.set(key, (totals.get(key) ?? 0) + count);
  diagnostics.report(source, reason, message);
  for (const provider of new Set([metrics.getMeterProvider(), ...givenProviders()]))
    instrumentsOf(provider)?.add(METRIC_LOST, count, { signal, reason });
}

/** Has losses counted in a provider too that is not registered: they are those of the whole process. */
export function countLossesIn(provider: MeterProvider): void {
  given = [...new Set([...givenProviders(), provider])].map((each) => new WeakRef(each));
}

function givenProviders(): readonly MeterProvider[] {
  return given.flatMap((reference) => reference.deref() ?? []);
}

/** Items lost in this process so far, by `<signal> <reason>`. */
export function telemetryLost(): ReadonlyMap<string, number> {
  return new Map(totals);
}

/** What something thrown says about itself in a word: its `code` or `name`, never its message. Never throws. */
export function causeOf(thrown: unknown): string {
  try {
    const { code, name } = Object(thrown) as { readonly code?: unknown; readonly name?: unknown };
    for (const word of [code, name]) if (typeof word === "string" && /^[A-Za-z0-9_$.]{1,64}$/.test(word)) return word;
  } catch {
    // A getter that throws has no word.
  }
  return "a value";
}
