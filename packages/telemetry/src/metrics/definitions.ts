/** Every metric that exists: kind, unit, description, buckets. Boards, alerts and the metrics page are checked against it. */

import { METRIC_ACTIVE, METRIC_ALTERED, METRIC_LAYER_DURATION, METRIC_LOST, METRIC_TOOL_CALLS } from "../names.ts";
import {
  BUCKETS_AGENT,
  BUCKETS_CALLS,
  BUCKETS_OPERATION,
  METRIC_CLIENT_OPERATION_DURATION,
  METRIC_EXECUTE_TOOL_DURATION,
  METRIC_INVOKE_AGENT_DURATION,
  METRIC_INVOKE_AGENT_INFERENCE_CALLS,
  METRIC_INVOKE_AGENT_TOOL_CALLS,
} from "../semconv.ts";

export interface MetricDefinition {
  /** `updown` is a counter that may also fall. */
  readonly kind: "counter" | "updown" | "histogram" | "gauge";
  /** As UCUM writes it; whole things are counted in braces. */
  readonly unit: string;
  readonly description: string;
  /** Upper bounds of a histogram's buckets. */
  readonly buckets?: readonly number[];
  /** How the readings of several readers of one gauge become one. Default their sum. */
  readonly combine?: "sum" | "max";
}

const seconds = (description: string, buckets: readonly number[]): MetricDefinition => ({
  kind: "histogram",
  unit: "s",
  description,
  buckets,
});
const counter = (unit: string, description: string): MetricDefinition => ({ kind: "counter", unit, description });
const gauge = (unit: string, description: string): MetricDefinition => ({ kind: "gauge", unit, description });
const calls = (unit: string, description: string): MetricDefinition => ({
  kind: "histogram",
  unit,
  description,
  buckets: BUCKETS_CALLS,
});

export const DEFINITIONS: Readonly<Record<string, MetricDefinition>> = {
  [METRIC_EXECUTE_TOOL_DURATION]: seconds("Duration of a tool call", BUCKETS_OPERATION),
  [METRIC_INVOKE_AGENT_DURATION]: seconds("Duration of an agent run", BUCKETS_AGENT),
  [METRIC_INVOKE_AGENT_TOOL_CALLS]: calls("{tool_call}", "Tool calls of one agent run"),
  [METRIC_INVOKE_AGENT_INFERENCE_CALLS]: calls("{inference_call}", "Model calls of one agent run"),
  [METRIC_CLIENT_OPERATION_DURATION]: seconds("Duration of a model call", BUCKETS_OPERATION),
  [METRIC_TOOL_CALLS]: counter("{call}", "Tool calls by tool and status"),
  [METRIC_ACTIVE]: { kind: "updown", unit: "{call}", description: "Tool calls under way" },
  [METRIC_LAYER_DURATION]: seconds("Time spent in a layer itself", BUCKETS_OPERATION),
  [METRIC_ALTERED]: counter("{item}", "Content that was recorded cut or masked, by reason"),
  [METRIC_LOST]: counter("{item}", "Telemetry that did not arrive, by signal and reason"),
  "toolspan.receipts.records": counter("{record}", "Receipt records by level and outcome"),
  "toolspan.receipts.durable.duration": seconds("Time until a receipt is durable", BUCKETS_OPERATION),
  "toolspan.receipts.unsealed": gauge("{record}", "Receipts beyond the last head"),
  "toolspan.receipts.spool.bytes": gauge("By", "Receipts that wait for delivery"),
  "toolspan.receipts.spool.oldest_age": {
    ...gauge("s", "Age of the oldest receipt that waits"),
    combine: "max",
  },
  "toolspan.receipts.heads": counter("{head}", "Heads cut, by sealed or anchored"),
};
