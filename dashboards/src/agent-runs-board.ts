/** The board *Agent runs*: how many, how many calls each, and whether time goes to the model or to tools. */

import type { Dashboard } from "@grafana/grafana-foundation-sdk/dashboard";
import { board } from "./board.ts";
import { MODEL_DURATION, RUN_DURATION, RUN_MODEL_CALLS, RUN_TOOL_CALLS, TOOL_DURATION } from "./metrics.ts";
import { bars, graph, stat } from "./panels.ts";
import { gained, mean, ofAgent, ofService, orZero, POINT, perSecond, quantile, RANGE, ratio, sum } from "./promql.ts";
import { label } from "./trace-links.ts";

const AGENT = ["service_name", "gen_ai_agent_name"];
const MODEL = ["service_name", "gen_ai_request_model"];
const NAME = "{{gen_ai_agent_name}}";
const FAILED = 'error_type!=""';

const runs = (window: string, by?: readonly string[], ...matchers: readonly string[]): string =>
  sum(gained(`${RUN_DURATION}_count`, ofAgent(...matchers), window), by);

const operation = `invoke_agent ${label("gen_ai_agent_name")}`;
const anyTraces = { operation, tags: {} };
const byError = { operation, tags: { "error.type": label("error_type") } };

export function agentRunsBoard(): Dashboard {
  return board({
    name: "agent-runs",
    title: "Agent runs",
    description: "Runs of agents: calls per run, duration, time of the model against time of tools.",
    choices: ["service", "environment", "agent"],
    traces: true,
    panels: [...figures(), ...calls(), ...times()],
  });
}

function figures() {
  return [
    stat({
      title: "Runs",
      description: "Agent runs that ended in the time range.",
      unit: "short",
      width: 6,
      queries: [{ expr: orZero(runs(RANGE)) }],
    }),
    stat({
      title: "Share of failed runs",
      description: "Runs that ended with an error.type, a limit that was reached among them.",
      unit: "percentunit",
      width: 6,
      queries: [{ expr: ratio(runs(RANGE, [], FAILED), runs(RANGE)) }],
    }),
    stat({
      title: "Tool calls per run",
      description: "Mean over the runs of the time range.",
      unit: "none",
      width: 6,
      queries: [{ expr: mean(RUN_TOOL_CALLS, ofAgent(), RANGE) }],
    }),
    stat({
      title: "Model calls per run",
      description: "Mean over the runs of the time range.",
      unit: "none",
      width: 6,
      queries: [{ expr: mean(RUN_MODEL_CALLS, ofAgent(), RANGE) }],
    }),
    bars({
      title: "Runs by agent",
      description: "Runs in the time range; a bar opens their traces.",
      unit: "short",
      width: 12,
      queries: [{ expr: orZero(runs(RANGE, AGENT)), legend: NAME }],
      traces: anyTraces,
    }),
    bars({
      title: "Failed runs by type",
      description: "Runs by agent and error.type in the time range; a bar opens their traces.",
      unit: "short",
      width: 12,
      queries: [{ expr: orZero(runs(RANGE, [...AGENT, "error_type"], FAILED)), legend: `${NAME} {{error_type}}` }],
      traces: byError,
    }),
  ];
}

function calls() {
  return [
    graph({
      title: "Runs per second",
      description: "Agent runs that ended.",
      unit: "cps",
      width: 8,
      stacked: true,
      queries: [{ expr: orZero(perSecond(runs(POINT, AGENT))), legend: NAME }],
    }),
    graph({
      title: "Tool calls per run by agent",
      description: "Mean over the runs that ended; 0 where none did.",
      unit: "none",
      width: 8,
      queries: [{ expr: mean(RUN_TOOL_CALLS, ofAgent(), POINT, AGENT), legend: NAME }],
    }),
    graph({
      title: "Model calls per run by agent",
      description: "Mean over the runs that ended; 0 where none did.",
      unit: "none",
      width: 8,
      queries: [{ expr: mean(RUN_MODEL_CALLS, ofAgent(), POINT, AGENT), legend: NAME }],
    }),
  ];
}

function times() {
  const spent = (histogram: string, labels: string): string =>
    orZero(perSecond(sum(gained(`${histogram}_sum`, labels, POINT))));
  return [
    graph({
      title: "Model time and tool time",
      description:
        "Seconds per second in model calls, in tool calls, and in whole runs. Model calls carry no agent, so theirs is of all agents.",
      unit: "s",
      width: 8,
      queries: [
        { expr: spent(MODEL_DURATION, ofService()), legend: "model calls" },
        { expr: spent(TOOL_DURATION, ofAgent()), legend: "tool calls" },
        { expr: spent(RUN_DURATION, ofAgent()), legend: "runs" },
      ],
    }),
    graph({
      title: "Duration of runs",
      description: "p50, p95 and p99 by agent, interpolated within buckets; 0 where no run ended.",
      unit: "s",
      width: 8,
      queries: ([0.5, 0.95, 0.99] as const).map((q) => ({
        expr: quantile(q, RUN_DURATION, ofAgent(), POINT, AGENT),
        legend: `p${q * 100} ${NAME}`,
      })),
      traces: anyTraces,
    }),
    graph({
      title: "Duration of model calls",
      description: "p50, p95 and p99 by model, of all agents; 0 where none ended.",
      unit: "s",
      width: 8,
      queries: ([0.5, 0.95, 0.99] as const).map((q) => ({
        expr: quantile(q, MODEL_DURATION, ofService(), POINT, MODEL),
        legend: `p${q * 100} {{gen_ai_request_model}}`,
      })),
    }),
  ];
}
