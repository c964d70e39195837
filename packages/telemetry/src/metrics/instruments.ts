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
import {
  METRIC_ACTIVE,
  METRIC_LAYER_DURATION,
  METRIC_LOST,
  METRIC_TOOL_CALLS,
  SCOPE_NAME,
  SCOPE_VERSION,
} from "../names.ts";
import {
  BUCKETS_AGENT,
  BUCKETS_CALLS,
  BUCKETS_OPERATION,
  METRIC_CLIENT_OPERATION_DURATION,
  METRIC_EXECUTE_TOOL_DURATION,
  METRIC_INVOKE_AGENT_DURATION,
  METRIC_INVOKE_AGENT_INFERENCE_CALLS,
  METRIC_INVOKE_AGENT_TOOL_CALLS,
  SCHEMA_URL,
} from "../semconv.ts";

interface Definition {
  readonly unit: string;
  readonly description: string;
  readonly buckets?: readonly number[];
  /** True for a counter that may also fall. */
  readonly upDown?: boolean;
}

const DEFINITIONS: Readonly<Record<string, Definition>> = {
  [METRIC_EXECUTE_TOOL_DURATION]: { unit: "s", description: "Duration of a tool call", buckets: BUCKETS_OPERATION },
  [METRIC_INVOKE_AGENT_DURATION]: { unit: "s", description: "Duration of an agent run", buckets: BUCKETS_AGENT },
  [METRIC_INVOKE_AGENT_TOOL_CALLS]: {
    unit: "{tool_call}",
    description: "Tool calls of one agent run",
    buckets: BUCKETS_CALLS,
  },
  [METRIC_INVOKE_AGENT_INFERENCE_CALLS]: {
    unit: "{inference_call}",
    description: "Model calls of one agent run",
    buckets: BUCKETS_CALLS,
  },
  [METRIC_CLIENT_OPERATION_DURATION]: {
    unit: "s",
    description: "Duration of a model call",
    buckets: BUCKETS_OPERATION,
  },
  [METRIC_TOOL_CALLS]: { unit: "{call}", description: "Tool calls by tool and status" },
  [METRIC_ACTIVE]: { unit: "{call}", description: "Tool calls under way", upDown: true },
  [METRIC_LAYER_DURATION]: { unit: "s", description: "Time spent in a layer itself", buckets: BUCKETS_OPERATION },
  [METRIC_LOST]: { unit: "{item}", description: "Telemetry that did not arrive, by signal and reason" },
  "toolspan.receipts.records": { unit: "{record}", description: "Receipt records by level and outcome" },
  "toolspan.receipts.durable.duration": {
    unit: "s",
    description: "Time until a receipt is durable",
    buckets: BUCKETS_OPERATION,
  },
  "toolspan.receipts.unsealed": { unit: "{record}", description: "Receipts beyond the last head" },
  "toolspan.receipts.spool.bytes": { unit: "By", description: "Receipts that wait for delivery" },
  "toolspan.receipts.spool.oldest_age": { unit: "s", description: "Age of the oldest receipt that waits" },
  "toolspan.receipts.heads": { unit: "{head}", description: "Heads cut, by sealed or anchored" },
};

type AnyInstrument = Counter | UpDownCounter | Histogram;

/** Instruments of one meter. No method throws. */
export class Instruments {
  readonly #meter: OtelMeter;
  readonly #made = new Map<string, AnyInstrument>();

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

  /** Registers a gauge that is read when metrics are collected; returns its removal. */
  gauge(name: string, read: () => number): () => void {
    try {
      const gauge = this.#meter.createObservableGauge(name, optionsOf(name));
      const observe = (result: { observe(value: number): void }): void => result.observe(read());
      gauge.addCallback(observe);
      return () => gauge.removeCallback(observe);
    } catch {
      return () => {};
    }
  }

  #counter(name: string, options: MetricOptions): AnyInstrument {
    return DEFINITIONS[name]?.upDown === true
      ? this.#meter.createUpDownCounter(name, options)
      : this.#meter.createCounter(name, options);
  }

  #make(name: string, create: (options: MetricOptions) => AnyInstrument): AnyInstrument {
    const instrument = create(optionsOf(name));
    this.#made.set(name, instrument);
    return instrument;
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
