/** The metrics of one dispatch. */

import type { Attributes } from "@opentelemetry/api";
import type { ObservedOutcome, ToolCall } from "@toolspan/core";
import { METRIC_ACTIVE, METRIC_LAYER_DURATION, METRIC_TOOL_CALLS } from "../names.ts";
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
const ZEROED = ["ok", "error", "exception"] as const;
const MAX_ZEROED_TOOLS = 1000;

const zeroed = new WeakMap<Instruments, Set<string>>();

/** Makes the series of a tool, at 0; later calls for the same tool do nothing. */
export function zeroCalls(instruments: Instruments, tool: string): void {
  let tools = zeroed.get(instruments);
  if (tools === undefined) {
    tools = new Set();
    zeroed.set(instruments, tools);
  }
  if (tools.has(tool) || tools.size >= MAX_ZEROED_TOOLS) return;
  tools.add(tool);
  for (const status of ZEROED) instruments.add(METRIC_TOOL_CALLS, 0, callLabels(tool, status));
}

export function countStart(instruments: Instruments, call: ToolCall): void {
  const tool = foldedName(call);
  zeroCalls(instruments, tool);
  instruments.add(METRIC_ACTIVE, 1, { [ATTR_GEN_AI_TOOL_NAME]: tool });
}

export function countEnd(instruments: Instruments, outcome: ObservedOutcome): void {
  const { dispatch, finalResult: result, observedAt, runs } = outcome;
  const tool = foldedName(dispatch.call);
  instruments.add(METRIC_ACTIVE, -1, { [ATTR_GEN_AI_TOOL_NAME]: tool });
  instruments.add(METRIC_TOOL_CALLS, 1, callLabels(tool, result.status));
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
  }
}

function callLabels(tool: string, status: string): Attributes {
  return { [ATTR_GEN_AI_TOOL_NAME]: tool, "toolspan.status": status };
}

function durationLabels({ dispatch, finalErrorType }: ObservedOutcome, tool: string): Attributes {
  const { call } = dispatch;
  const type = toolTypeOf(call);
  const { agentName } = call.turn;
  return {
    [ATTR_GEN_AI_TOOL_NAME]: tool,
    ...(type === undefined ? {} : { [ATTR_GEN_AI_TOOL_TYPE]: type }),
    ...(agentName === undefined ? {} : { [ATTR_GEN_AI_AGENT_NAME]: agentName }),
    ...(finalErrorType === undefined ? {} : { [ATTR_ERROR_TYPE]: toWord(finalErrorType) }),
  };
}
