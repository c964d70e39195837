/** The metrics: each instrument made when first needed, with unit and buckets, on the registered or a given meter provider. */

import {
  type Attributes,
  type Counter,
  createNoopMeter,
  type Histogram,
  type MeterProvider,
  type MetricOptions,
  metrics,
  type Meter as OtelMeter,
  type UpDownCounter,
  ValueType,
} from "@opentelemetry/api";
import { SCOPE_NAME, SCOPE_VERSION } from "../names.ts";
import { SCHEMA_URL } from "../semconv.ts";
import { DEFINITIONS } from "./definitions.ts";

type AnyInstrument = Counter | UpDownCounter | Histogram;

interface Gauge {
  readonly readers: Set<() => number>;
  /** What readers that are gone read at last, in one; said while there are no others. */
  left: readonly number[];
}

/** Instruments of one meter. No method throws. */
export class Instruments {
  readonly #meter: OtelMeter;
  readonly #made = new Map<string, AnyInstrument>();
  readonly #gauges = new Map<string, Gauge>();

  constructor(meter: OtelMeter) {
    this.#meter = meter;
  }

  add(name: string, value: number, attributes?: Attributes): void {
    try {
      const instrument = this.#made.get(name) ?? this.#make(name, (options) => this.#counter(name, options));
      (instrument as Counter).add(value, attributes);
    } catch {
      // A meter that fails has nothing left to count its failure with.
    }
  }

  record(name: string, value: number, attributes?: Attributes): void {
    try {
      const instrument =
        this.#made.get(name) ?? this.#make(name, (options) => this.#meter.createHistogram(name, options));
      (instrument as Histogram).record(value, attributes);
    } catch {
      // As above.
    }
  }

  /**
   * Registers a gauge that is read when metrics are collected; returns its removal. Several readers of one name make one
   * figure. Removal reads once more: after the last one is gone that figure is said, as a Collector keeps what it heard last.
   */
  gauge(name: string, read: () => number): () => void {
    try {
      const gauge = this.#gauges.get(name) ?? this.#openGauge(name);
      gauge.readers.add(read);
      gauge.left = [];
      return () => {
        if (gauge.readers.delete(read)) gauge.left = combined(name, [...gauge.left, ...reading(read)]);
      };
    } catch {
      return () => {};
    }
  }

  /** One callback for all readers: of two callbacks that observe the same series, only the last would count. */
  #openGauge(name: string): Gauge {
    const gauge: Gauge = { readers: new Set(), left: [] };
    this.#meter.createObservableGauge(name, optionsOf(name)).addCallback((result) => {
      const { readers, left } = gauge;
      const readings = readers.size > 0 ? [...readers].flatMap(reading) : left;
      for (const figure of combined(name, readings)) result.observe(figure);
    });
    this.#gauges.set(name, gauge);
    return gauge;
  }

  #counter(name: string, options: MetricOptions): AnyInstrument {
    return DEFINITIONS[name]?.kind === "updown"
      ? this.#meter.createUpDownCounter(name, options)
      : this.#meter.createCounter(name, options);
  }

  #make(name: string, create: (options: MetricOptions) => AnyInstrument): AnyInstrument {
    const instrument = create(optionsOf(name));
    this.#made.set(name, instrument);
    return instrument;
  }
}

/** One figure of several; none of none. */
function combined(name: string, readings: readonly number[]): readonly number[] {
  if (readings.length === 0) return readings;
  const combine = DEFINITIONS[name]?.combine === "max" ? Math.max : (sum: number, next: number) => sum + next;
  return [readings.reduce((all, next) => combine(all, next))];
}

/** A reader that throws has nothing to say, and does not silence the others. */
function reading(read: () => number): readonly number[] {
  try {
    return [read()];
  } catch {
    return [];
  }
}

function optionsOf(name: string): MetricOptions {
  const definition = DEFINITIONS[name];
  if (definition === undefined) return {};
  const { unit, description, buckets } = definition;
  return {
    unit,
    description,
    // Whole things are counted in braces.
    valueType: unit.startsWith("{") ? ValueType.INT : ValueType.DOUBLE,
    ...(buckets === undefined ? {} : { advice: { explicitBucketBoundaries: [...buckets] } }),
  };
}

const known = new WeakMap<MeterProvider, Instruments | null>();

/** The instruments of `provider`, else of the registered one; null where nobody measures. */
export function instrumentsOf(provider?: MeterProvider): Instruments | null {
  try {
    const source = provider ?? metrics.getMeterProvider();
    const found = known.get(source);
    if (found !== undefined) return found;
    const meter = source.getMeter(SCOPE_NAME, SCOPE_VERSION, { schemaUrl: SCHEMA_URL });
    const instruments = isNoop(meter) ? null : new Instruments(meter);
    known.set(source, instruments);
    return instruments;
  } catch {
    return null; // a provider that throws measures nothing
  }
}

function isNoop(meter: OtelMeter): boolean {
  return meter.constructor === createNoopMeter().constructor;
}
