/** The observer that `withTelemetry` lists: spans, metrics and span records of every dispatch, run and model call. */

import { plainHasher } from "@toolspan/canonical/hash";
import type {
  Clock,
  DispatchObserver,
  DispatchScope,
  Hasher,
  Meter,
  ModelInfo,
  Observer,
  Report,
  RunInfo,
} from "@toolspan/core";
import { zeroCalls } from "../metrics/dispatch-metrics.ts";
import { type Instruments, instrumentsOf } from "../metrics/instruments.ts";
import { LateMeter } from "../metrics/late-meter.ts";
import { countLossesIn } from "../sinks/loss.ts";
import { SinkGroup } from "../sinks/sink-group.ts";
import { clockOf } from "../spans/async-context.ts";
import { DispatchObservation } from "../spans/dispatch-observation.ts";
import { modelOperation, observeOperation, runOperation } from "../spans/operation.ts";
import { mergeSetups, type TelemetrySetup } from "./telemetry-setup.ts";

export const OBSERVER_NAME = "with_telemetry";

export class TelemetryObserver implements Observer {
  readonly name: string = OBSERVER_NAME;
  readonly hasher?: Hasher;
  readonly defaultHasher?: Hasher;
  readonly meter: Meter;
  readonly #setup: TelemetrySetup;
  readonly #sinks: SinkGroup;
  #zeroed: Instruments | null = null;

  constructor(setup: TelemetrySetup) {
    this.#setup = setup;
    this.#sinks = new SinkGroup([...setup.tracing.sinks, ...setup.records], setup.flushTimeoutMs);
    if (setup.hasher !== undefined) this.hasher = setup.hasher;
    if (setup.root.hashArgs) this.defaultHasher = setup.hasher ?? plainHasher();
    if (setup.meterProvider !== undefined) countLossesIn(setup.meterProvider);
    this.meter = new LateMeter(setup.meterProvider);
    // A collection before the first call shall find the known tools.
    if (setup.tools.length > 0) this.#instruments();
  }

  clock(): Clock | undefined {
    return clockOf(this.#setup.tracing.active());
  }

  dispatch(dispatch: DispatchScope): DispatchObserver {
    return new DispatchObservation(this.#setup, dispatch, this.#instruments());
  }

  run<T>(info: RunInfo, fn: (report: Report) => Promise<T>): Promise<T> {
    return observeOperation(this.#setup, runOperation(info), fn);
  }

  model<T>(info: ModelInfo, fn: (report: Report) => Promise<T>): Promise<T> {
    return observeOperation(this.#setup, modelOperation(info), fn);
  }

  merge(other: Observer): Observer | undefined {
    return other instanceof TelemetryObserver
      ? new TelemetryObserver(mergeSetups(this.#setup, other.#setup))
      : undefined;
  }

  flush(): Promise<void> {
    return this.#sinks.flush();
  }

  close(): Promise<void> {
    return this.#sinks.close();
  }

  #instruments(): Instruments | null {
    const instruments = instrumentsOf(this.#setup.meterProvider);
    if (instruments !== null && instruments !== this.#zeroed) {
      this.#zeroed = instruments;
      for (const tool of this.#setup.tools) zeroCalls(instruments, tool);
    }
    return instruments;
  }
}
