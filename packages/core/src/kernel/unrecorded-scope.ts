/** The scope of a layer that is called by hand: it takes every report and records nothing. */

import type { DispatchScope } from "../ports/dispatch-scope.ts";
import type { LayerScope } from "../ports/layer.ts";
import { stoppedClock } from "../vocabulary/clock.ts";
import { toToolCall } from "../vocabulary/tool-call.ts";

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
