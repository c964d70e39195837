/** The board *Receipts*: what was written, how soon it was durable, what failed, what waits. */

import type { Dashboard } from "@grafana/grafana-foundation-sdk/dashboard";
import { board } from "./board.ts";
import {
  DURABLE_DURATION,
  RECEIPT_HEADS,
  RECEIPT_RECORDS,
  RECEIPTS_UNSEALED,
  SPOOL_BYTES,
  SPOOL_OLDEST_AGE,
} from "./metrics.ts";
import { bars, graph, stat } from "./panels.ts";
import { gained, ofService, orZero, POINT, perSecond, quantile, RANGE, sum } from "./promql.ts";

const SERVICE = ["service_name"];
/** Each receipt once: where a policy waits for it, it counts as durable, else as written. */
const KEPT = 'level=~"written|durable"';
const FAILED = 'outcome="failed"';
/** An empty spool and an unmeasured one look alike. */
const NO_SPOOL = "0: nothing waits, or no program here delivers by itself; toolspan export measures nothing.";

const records = (window: string, by?: readonly string[], ...matchers: readonly string[]): string =>
  sum(gained(RECEIPT_RECORDS, ofService(...matchers), window), by);
const heads = (window: string, by?: readonly string[], ...matchers: readonly string[]): string =>
  sum(gained(RECEIPT_HEADS, ofService(...matchers), window), by);

export function receiptsBoard(): Dashboard {
  return board({
    name: "receipts",
    title: "Receipts",
    description:
      "Receipts of tool calls: written, durable, sealed, anchored, failed, waiting. Of all tools and agents.",
    choices: ["service", "environment"],
    traces: false,
    panels: [...figures(), ...graphs()],
  });
}

function figures() {
  return [
    stat({
      title: "Receipts",
      description: "Receipts kept in the time range, each counted once.",
      unit: "short",
      width: 4,
      queries: [{ expr: orZero(records(RANGE, [], KEPT)) }],
    }),
    stat({
      title: "Failed receipts",
      description: "Receipts that could not be written in the time range.",
      unit: "short",
      width: 4,
      queries: [{ expr: orZero(records(RANGE, [], FAILED)) }],
    }),
    stat({
      title: "Unsealed",
      description:
        "Lines beyond the last head: nothing vouches yet that they have not been cut. A killed process leaves its last figure for an hour.",
      unit: "short",
      width: 4,
      queries: [{ expr: orZero(sum(`${RECEIPTS_UNSEALED}${ofService()}`)) }],
    }),
    stat({
      title: "Spool",
      description: `Bytes of the log that no endpoint has acknowledged. ${NO_SPOOL}`,
      unit: "bytes",
      width: 4,
      queries: [{ expr: orZero(sum(`${SPOOL_BYTES}${ofService()}`)) }],
    }),
    stat({
      title: "Oldest in spool",
      description: `Age of the oldest line that waits for delivery. ${NO_SPOOL}`,
      unit: "s",
      width: 4,
      queries: [{ expr: orZero(`max(${SPOOL_OLDEST_AGE}${ofService()})`) }],
    }),
    stat({
      title: "Anchored heads",
      description: "Heads that an endpoint outside acknowledged in the time range.",
      unit: "short",
      width: 4,
      queries: [{ expr: orZero(heads(RANGE, [], 'level="anchored"')) }],
    }),
    bars({
      title: "Records by level and outcome",
      description: "What became of receipts in the time range; a sealed one was durable before.",
      unit: "short",
      width: 12,
      queries: [{ expr: orZero(records(RANGE, ["level", "outcome"])), legend: "{{level}} {{outcome}}" }],
    }),
    bars({
      title: "Heads by level",
      description: "Signed heads cut, and heads anchored outside, in the time range.",
      unit: "short",
      width: 12,
      queries: [{ expr: orZero(heads(RANGE, ["level"])), legend: "{{level}}" }],
    }),
  ];
}

function graphs() {
  const quantiles = ([0.5, 0.95, 0.99] as const).map((q) => ({
    expr: quantile(q, DURABLE_DURATION, ofService(), POINT, SERVICE),
    legend: `p${q * 100} {{service_name}}`,
  }));
  return [
    graph({
      title: "Receipts per second",
      description: "Receipts kept, each counted once.",
      unit: "cps",
      width: 12,
      stacked: true,
      queries: [{ expr: orZero(perSecond(records(POINT, SERVICE, KEPT))), legend: "{{service_name}}" }],
    }),
    graph({
      title: "Failed receipts per second",
      description: "Receipts that could not be written.",
      unit: "cps",
      width: 12,
      stacked: true,
      queries: [{ expr: orZero(perSecond(records(POINT, SERVICE, FAILED))), legend: "{{service_name}}" }],
    }),
    graph({
      title: "Time until durable",
      description: "p50, p95 and p99 of what a call waits for its receipt; 0 where none was awaited.",
      unit: "s",
      width: 12,
      queries: quantiles,
    }),
    graph({
      title: "Unsealed by process",
      description: "Lines beyond the last head, by process.",
      unit: "short",
      width: 12,
      queries: [
        {
          expr: orZero(sum(`${RECEIPTS_UNSEALED}${ofService()}`, [...SERVICE, "instance"])),
          legend: "{{service_name}} {{instance}}",
        },
      ],
    }),
    graph({
      title: "Spool by process",
      description: `Bytes that no endpoint has acknowledged, by process. ${NO_SPOOL}`,
      unit: "bytes",
      width: 12,
      queries: [
        {
          expr: orZero(sum(`${SPOOL_BYTES}${ofService()}`, [...SERVICE, "instance"])),
          legend: "{{service_name}} {{instance}}",
        },
      ],
    }),
    graph({
      title: "Oldest in spool by process",
      description: `Age of the oldest line that waits for delivery, by process. ${NO_SPOOL}`,
      unit: "s",
      width: 12,
      queries: [
        {
          expr: orZero(`max by (service_name, instance) (${SPOOL_OLDEST_AGE}${ofService()})`),
          legend: "{{service_name}} {{instance}}",
        },
      ],
    }),
  ];
}
