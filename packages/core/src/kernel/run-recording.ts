/** What is measured of one layer run while somebody records it. */

import type { LayerObserver } from "../ports/observer.ts";
import type { Clock, Reading } from "../vocabulary/clock.ts";
import type { Attributes, LayerRun } from "../vocabulary/record.ts";
import { absentLayer } from "./absent-observer.ts";

export class RunRecording {
  readonly startedAt: Reading;
  endedAt: Reading = 0;
  /** Negative until the layer has answered. */
  selfTime: Reading = -1;
  /** Union of the inner runs that have ended. */
  innerTime: Reading = 0;
  /** Start of the inner runs that stand open. */
  innerSince: Reading = 0;
  observer: LayerObserver = absentLayer;
  argsChanged = false;
  status: string | undefined = undefined;
  attributes: Attributes | undefined = undefined;
  errorType: string | undefined = undefined;
  /** The finished run; made when somebody first asks. */
  run: LayerRun | undefined = undefined;

  constructor(clock: Clock) {
    this.startedAt = clock.now();
  }

  report({ status, attributes }: { readonly status?: string; readonly attributes?: Attributes }): void {
    if (status !== undefined) this.status = status;
    if (attributes !== undefined) this.attributes = { ...this.attributes, ...scalars(attributes) };
  }

  /** The layer has answered, a stream runs on: from here on its time is not the layer's. */
  stopSelfTime(at: Reading, innerIsOpen: boolean): void {
    this.selfTime = at - this.startedAt - this.innerTime - (innerIsOpen ? at - this.innerSince : 0);
  }

  end(at: Reading): void {
    this.endedAt = at;
    if (this.selfTime < 0) this.stopSelfTime(at, false);
  }
}

/** What a record can carry: attributes less everything that is not a scalar. */
function scalars(attributes: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).filter(
      ([, value]) => typeof value === "string" || typeof value === "boolean" || Number.isFinite(value),
    ),
  );
}
