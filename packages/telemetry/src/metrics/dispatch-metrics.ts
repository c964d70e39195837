/** The metrics of one dispatch. */

import type { Attributes } from "@opentelemetry/api";
import type { ObservedOutcome, ToolCall } from "@toolspan/core";
import { ATTR_STATUS, METRIC_ACTIVE, METRIC_ALTERED, METRIC_LAYER_DURATION, METRIC_TOOL_CALLS } from "../names.ts";
import {
  ATTR_ERROR_TYPE,
  ATTR_GEN_AI_AGENT_NAME,
  ATTR_GEN_AI_TOOL_NAME,
  ATTR_GEN_AI_TOOL_TYPE,
  METRIC_EXECUTE_TOOL_DURATION,
} from "../semconv.ts";
import { foldedName, toolTypeOf } from "../spans/span-attributes.ts";
import { toWord } from "../words.ts";
import type { Instruments } from "./instruments.ts";

/** Statuses whose series exist before the first call: a counter born at its value has no rate. */
const ZEROED = ["ok", "error"] as const;
/** An SDK keeps 2,000 series of a metric by default: three quarters stay for calls that happen. */
const MAX_ZEROED = 250;

/** What `withRedaction` reports where it has masked something. */
const MASKED = "redacted";

const zeroed = new WeakMap<Instruments, Set<string>>();

/** Makes the series of a tool, called by that agent if one is given, at 0; later calls for the same do nothing. */
export function zeroCalls(instruments: Instruments, tool: string, agentName?: string): void {
  const labels = toolLabels(tool, agentName);
  const key = Object.values(labels).join("\n");
  let done = zeroed.get(instruments);
  if (done === undefined) {
    done = new Set();
    zeroed.set(instruments, done);
  }
  if (done.has(key) || done.size >= MAX_ZEROED) return;
  done.add(key);
  for (const status of ZEROED) instruments.add(METRIC_TOOL_CALLS, 0, { ...labels, [ATTR_STATUS]: status });
}

/** Counts a content attribute that was cut to its budget. */
export function countTruncated(instruments: Instruments | null): void {
  instruments?.add(METRIC_ALTERED, 1, { signal: "content", reason: "truncated" });
}

export function countStart(instruments: Instruments, call: ToolCall): void {
  const tool = foldedName(call);
  const { agentName } = call.turn;
  zeroCalls(instruments, tool, agentName);
  instruments.add(METRIC_ACTIVE, 1, toolLabels(tool, agentName));
}

export function countEnd(instruments: Instruments, outcome: ObservedOutcome): void {
  const { dispatch, finalResult: result, observedAt, runs } = outcome;
  const tool = foldedName(dispatch.call);
  const labels = toolLabels(tool, dispatch.call.turn.agentName);
  instruments.add(METRIC_ACTIVE, -1, labels);
  instruments.add(METRIC_TOOL_CALLS, 1, { ...labels, [ATTR_STATUS]: result.status });
  // A replay is not another execution.
  if (result.replayed !== true) {
    instruments.record(
      METRIC_EXECUTE_TOOL_DURATION,
      (observedAt - dispatch.startedAt) / 1e9,
      durationLabels(outcome, tool),
    );
  }
  for (const run of runs) {
    instruments.record(METRIC_LAYER_DURATION, run.selfTime / 1e9, {
      "toolspan.layer.name": run.name,
      "toolspan.layer.status": toWord(run.status),
      "toolspan.layer.short_circuited": run.shortCircuited,
    });
    if (run.status === MASKED) instruments.add(METRIC_ALTERED, 1, { signal: "content", reason: "masked" });
  }
}

/** The agent stands where one is known, as on durations: boards choose by it. */
function toolLabels(tool: string, agentName: string | undefined): Attributes {
  return {
    [ATTR_GEN_AI_TOOL_NAME]: tool,
    ...(agentName === undefined ? {} : { [ATTR_GEN_AI_AGENT_NAME]: agentName }),
  };
}

function durationLabels({ dispatch, finalErrorType }: ObservedOutcome, tool: string): Attributes {
  const { call } = dispatch;
  const type = toolTypeOf(call);
  return {
    ...toolLabels(tool, call.turn.agentName),
    ...(type === undefined ? {} : { [ATTR_GEN_AI_TOOL_TYPE]: type }),
    ...(finalErrorType === undefined ? {} : { [ATTR_ERROR_TYPE]: toWord(finalErrorType) }),
  };
}
