/** The board *Tool calls*: how many, which failed, how long they took. */

import type { Dashboard } from "@grafana/grafana-foundation-sdk/dashboard";
import { board } from "./board.ts";
import {
  CONTENT_ALTERED,
  FAILED_CALL,
  TELEMETRY_LOST,
  TOOL_CALLS,
  TOOL_CALLS_ACTIVE,
  TOOL_DURATION,
} from "./metrics.ts";
import { bars, graph, stat } from "./panels.ts";
import { gained, ofService, ofTool, orZero, POINT, perSecond, quantile, RANGE, ratio, sum } from "./promql.ts";
import { label } from "./trace-links.ts";

const TOOL = ["service_name", "gen_ai_tool_name"];
const STATUS = [...TOOL, "toolspan_status"];
const ERROR = [...TOOL, "error_type"];

const calls = (window: string, by?: readonly string[]): string => sum(gained(TOOL_CALLS, ofTool(), window), by);
const failures = (window: string, by?: readonly string[]): string =>
  sum(gained(TOOL_CALLS, ofTool(...FAILED_CALL), window), by);

const operation = `execute_tool ${label("gen_ai_tool_name")}`;
const anyTraces = { operation, tags: {} };
const byStatus = { operation, tags: { "toolspan.status": label("toolspan_status") } };
const byError = { operation, tags: { "error.type": label("error_type") } };

export function toolCallsBoard(): Dashboard {
  return board({
    name: "tool-calls",
    title: "Tool calls",
    description: "Every tool call: rate, failures, duration, status, calls under way.",
    choices: ["service", "environment", "tool", "agent"],
    traces: true,
    panels: [...figures(), ...graphs()],
  });
}

function figures() {
  return [
    stat({
      title: "Calls",
      description: "Tool calls in the time range, refused and replayed ones too.",
      unit: "short",
      width: 5,
      queries: [{ expr: orZero(calls(RANGE)) }],
    }),
    stat({
      title: "Failed calls",
      description: "Calls that ended neither well nor suspended.",
      unit: "short",
      width: 5,
      queries: [{ expr: orZero(failures(RANGE)) }],
    }),
    stat({
      title: "Share of failed calls",
      description: "Failed calls of all calls in the time range.",
      unit: "percentunit",
      width: 5,
      queries: [{ expr: ratio(failures(RANGE), calls(RANGE)) }],
    }),
    stat({
      title: "In flight",
      description:
        "Calls under way now. A process that was killed (SIGKILL, out of memory) leaves its last figure here until the Collector forgets it, an hour later.",
      unit: "short",
      width: 4,
      queries: [{ expr: orZero(sum(`${TOOL_CALLS_ACTIVE}${ofTool()}`)) }],
    }),
    stat({
      title: "Telemetry lost",
      description:
        "Spans, records and data points that did not arrive, of all tools; they are missing on these boards.",
      unit: "short",
      width: 5,
      queries: [{ expr: orZero(sum(gained(TELEMETRY_LOST, ofService(), RANGE))) }],
    }),
    bars({
      title: "Calls by tool and status",
      description: "Calls in the time range; a bar opens its traces.",
      unit: "short",
      width: 12,
      queries: [{ expr: orZero(calls(RANGE, STATUS)), legend: "{{gen_ai_tool_name}} {{toolspan_status}}" }],
      traces: byStatus,
    }),
    bars({
      title: "Errors by type",
      description: "Failed calls by tool and error.type in the time range, replays aside; a bar opens its traces.",
      unit: "short",
      width: 12,
      queries: [
        {
          expr: orZero(sum(gained(`${TOOL_DURATION}_count`, ofTool('error_type!=""'), RANGE), ERROR)),
          legend: "{{gen_ai_tool_name}} {{error_type}}",
        },
      ],
      traces: byError,
    }),
  ];
}

function graphs() {
  const durations = ([0.5, 0.95, 0.99] as const).map((q) => ({
    expr: quantile(q, TOOL_DURATION, ofTool(), POINT, TOOL),
    legend: `p${q * 100} {{gen_ai_tool_name}}`,
  }));
  return [
    graph({
      title: "Calls per second by tool",
      description: "Tool calls, refused and replayed ones too.",
      unit: "cps",
      width: 12,
      stacked: true,
      queries: [{ expr: orZero(perSecond(calls(POINT, TOOL))), legend: "{{gen_ai_tool_name}}" }],
      traces: anyTraces,
    }),
    graph({
      title: "Calls per second by status",
      description: "Tool calls by how they ended.",
      unit: "cps",
      width: 12,
      stacked: true,
      queries: [{ expr: orZero(perSecond(calls(POINT, ["toolspan_status"]))), legend: "{{toolspan_status}}" }],
    }),
    graph({
      title: "Share of failed calls by tool",
      description: "Failed calls of all calls of the tool; a tool that always fails stands at 100 %.",
      unit: "percentunit",
      width: 12,
      queries: [{ expr: ratio(failures(POINT, TOOL), calls(POINT, TOOL)), legend: "{{gen_ai_tool_name}}" }],
      traces: anyTraces,
    }),
    graph({
      title: "Errors per second by type",
      description: "Failed calls by error.type, replays aside.",
      unit: "cps",
      width: 12,
      stacked: true,
      queries: [
        {
          expr: orZero(
            perSecond(sum(gained(`${TOOL_DURATION}_count`, ofTool('error_type!=""'), POINT), ["error_type"])),
          ),
          legend: "{{error_type}}",
        },
      ],
    }),
    graph({
      title: "Duration by tool",
      description: "p50, p95 and p99 of the root span's duration, interpolated within buckets; 0 where nothing ran.",
      unit: "s",
      width: 24,
      queries: durations,
      traces: anyTraces,
    }),
    graph({
      title: "In flight by tool",
      description: "Calls under way. Those of a killed process stay until the Collector forgets it, an hour later.",
      unit: "short",
      width: 12,
      stacked: true,
      queries: [{ expr: orZero(sum(`${TOOL_CALLS_ACTIVE}${ofTool()}`, TOOL)), legend: "{{gen_ai_tool_name}}" }],
    }),
    graph({
      title: "Content cut or masked per second",
      description:
        "Content attributes that were cut to their budget (truncated), runs of with_redaction that masked something (masked); one call may count several times. Of all tools.",
      unit: "cps",
      width: 12,
      stacked: true,
      queries: [
        {
          expr: orZero(perSecond(sum(gained(CONTENT_ALTERED, ofService(), POINT), ["reason"]))),
          legend: "{{reason}}",
        },
      ],
    }),
  ];
}
