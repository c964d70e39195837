/** The scope of a layer that is called by hand: it takes every report and records nothing. */

import { stoppedClock } from "./clock.ts";
import type { DispatchScope } from "./dispatch-scope.ts";
import type { LayerScope } from "./layer.ts";
import { toToolCall } from "./tool-call.ts";

const NO_DISPATCH: DispatchScope = Object.freeze({
  id: "",
  call: toToolCall({ toolName: "" }),
  clock: stoppedClock,
  startedAt: 0,
  trace: null,
  hasher: null,
  argsDigest: null,
});

export const unrecordedScope: LayerScope = Object.freeze({
  dispatch: NO_DISPATCH,
  name: "",
  index: 0,
  attempt: 1,
  report() {},
  event() {},
  bindArgs() {},
});
