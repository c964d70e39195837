/** The board *Layers*: where time goes inside a call, what layers decide, who denies. */

import type { Dashboard } from "@grafana/grafana-foundation-sdk/dashboard";
import { board } from "./board.ts";
import { DENIALS, LAYER_DURATION } from "./metrics.ts";
import { bars, graph, stat } from "./panels.ts";
import { gained, mean, ofService, orZero, POINT, perSecond, quantile, RANGE, sum } from "./promql.ts";
import { label } from "./trace-links.ts";

const LAYER = ["service_name", "toolspan_layer_name"];
const DECISION = [...LAYER, "toolspan_layer_status"];
const SHORT = 'toolspan_layer_short_circuited="true"';
const DENIED = `toolspan_layer_status=~"${DENIALS}"`;
const NAME = "{{toolspan_layer_name}}";

const runs = (window: string, by?: readonly string[], ...matchers: readonly string[]): string =>
  sum(gained(`${LAYER_DURATION}_count`, ofService(...matchers), window), by);

const operation = `tool_call.${label("toolspan_layer_name")}`;
const byDecision = { operation, tags: { "toolspan.layer.status": label("toolspan_layer_status") } };
const byShortCircuit = { operation, tags: { "toolspan.layer.short_circuited": "true" } };

export function layersBoard(): Dashboard {
  return board({
    name: "layers",
    title: "Layers",
    description: "What the layers around a tool call take, decide and refuse. Of all tools and agents.",
    choices: ["service", "environment"],
    traces: true,
    panels: [...figures(), ...graphs()],
  });
}

function figures() {
  return [
    stat({
      title: "Layer runs",
      description: "One per layer and attempt, in the time range.",
      unit: "short",
      width: 6,
      queries: [{ expr: orZero(runs(RANGE)) }],
    }),
    stat({
      title: "Short circuits",
      description: "Runs that ended without calling what stands further in.",
      unit: "short",
      width: 6,
      queries: [{ expr: orZero(runs(RANGE, [], SHORT)) }],
    }),
    stat({
      title: "Denials",
      description: "Runs by which a layer denied the call: denied, violation, rejected, rate_limited.",
      unit: "short",
      width: 6,
      queries: [{ expr: orZero(runs(RANGE, [], DENIED)) }],
    }),
    stat({
      title: "Self time per run",
      description: "Mean time that a layer run took itself, without what it called.",
      unit: "s",
      width: 6,
      queries: [{ expr: mean(LAYER_DURATION, ofService(), RANGE) }],
    }),
    bars({
      title: "Who denies",
      description: "Refusals by layer and status in the time range; a bar opens its traces.",
      unit: "short",
      width: 8,
      queries: [{ expr: orZero(runs(RANGE, DECISION, DENIED)), legend: `${NAME} {{toolspan_layer_status}}` }],
      traces: byDecision,
    }),
    bars({
      title: "Decisions",
      description: "Runs by layer and status in the time range; a bar opens its traces.",
      unit: "short",
      width: 8,
      queries: [{ expr: orZero(runs(RANGE, DECISION)), legend: `${NAME} {{toolspan_layer_status}}` }],
      traces: byDecision,
    }),
    bars({
      title: "Short circuits by layer",
      description: "Runs that called nothing further in, denials and answers from a cache alike.",
      unit: "short",
      width: 8,
      queries: [{ expr: orZero(runs(RANGE, LAYER, SHORT)), legend: NAME }],
      traces: byShortCircuit,
    }),
  ];
}

function graphs() {
  const quantiles = ([0.5, 0.95, 0.99] as const).map((q) => ({
    expr: quantile(q, LAYER_DURATION, ofService(), POINT, LAYER),
    legend: `p${q * 100} ${NAME}`,
  }));
  return [
    graph({
      title: "Self time by layer",
      description: "Seconds per second that calls spend in the layer itself.",
      unit: "s",
      width: 12,
      stacked: true,
      queries: [
        { expr: orZero(perSecond(sum(gained(`${LAYER_DURATION}_sum`, ofService(), POINT), LAYER))), legend: NAME },
      ],
    }),
    graph({
      title: "Self time of a run",
      description: "p50, p95 and p99 of one run of the layer, without what it called; 0 where it did not run.",
      unit: "s",
      width: 12,
      queries: quantiles,
    }),
    graph({
      title: "Decisions per second",
      description: "Runs by layer and status.",
      unit: "cps",
      width: 12,
      stacked: true,
      queries: [{ expr: orZero(perSecond(runs(POINT, DECISION))), legend: `${NAME} {{toolspan_layer_status}}` }],
      traces: byDecision,
    }),
    graph({
      title: "Denials per second",
      description: "Refusals by layer.",
      unit: "cps",
      width: 12,
      stacked: true,
      queries: [{ expr: orZero(perSecond(runs(POINT, LAYER, DENIED))), legend: NAME }],
    }),
  ];
}
