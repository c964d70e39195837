// For every query of every panel, the figure that the facts give.
import { BUCKETS_AGENT, BUCKETS_OPERATION } from "../../packages/telemetry/src/semconv.ts";
import { type CallFact, type Facts, failed, type LayerFact, type RunFact } from "./call-facts.ts";
import { SERVICE } from "./measured-agent.ts";
import type { Labels } from "./prometheus-api.ts";

/** What one series has to be, between two bounds. */
export interface Expected {
  readonly labels: Labels;
  readonly low: number;
  readonly high: number;
}

/** Figures that files do not tell: what is held at the moment of the question. */
export interface Moment {
  /** The tool of the one call under way. */
  readonly inFlight: string;
  readonly unsealed: number;
  readonly spoolBytes: number;
  readonly spoolAge: { readonly low: number; readonly high: number };
  readonly instance: string;
  readonly lost: number;
  /** What happened since the series began, before the window too. */
  readonly ever: Facts;
}

type Figure = (facts: Facts, moment: Moment, seconds: number) => readonly Expected[];
type LabelsOf<T> = (item: T) => Labels;

const DENIALS = new Set(["denied", "violation", "rejected", "rate_limited"]);
const service = { service_name: SERVICE };
const none = (): Labels => ({});

const exactly = (labels: Labels, value: number): Expected => ({ labels, low: value, high: value });

/** Sums by label set. */
function summed<T>(items: readonly T[], labelsOf: LabelsOf<T>, amountOf: (item: T) => number = () => 1): Expected[] {
  const sums = new Map<string, { labels: Labels; value: number }>();
  for (const item of items) {
    const labels = labelsOf(item);
    const key = JSON.stringify(labels);
    const sum = sums.get(key) ?? { labels, value: 0 };
    sum.value += amountOf(item);
    sums.set(key, sum);
  }
  return [...sums.values()].map(({ labels, value }) => exactly(labels, value));
}

const scaled = (series: readonly Expected[], factor: number): Expected[] =>
  series.map(({ labels, low, high }) => ({ labels, low: low * factor, high: high * factor }));

/** Part by whole, for each label set of the whole. */
function shared<T>(items: readonly T[], labelsOf: LabelsOf<T>, partOf: (item: T) => number): Expected[] {
  const wholes = new Map(summed(items, labelsOf).map(({ labels, low }) => [JSON.stringify(labels), low]));
  return summed(items, labelsOf, partOf).map(({ labels, low }) =>
    exactly(labels, low / (wholes.get(JSON.stringify(labels)) ?? 1)),
  );
}

/** As Prometheus finds it: interpolated within the bucket. @source Prometheus documentation, histogram_quantile */
function bucketQuantile(q: number, values: readonly number[], bounds: readonly number[]): number {
  const rank = q * values.length;
  let below = 0;
  for (const [index, bound] of bounds.entries()) {
    const start = index === 0 ? 0 : (bounds[index - 1] ?? 0);
    const inside = values.filter((value) => value <= bound && (index === 0 || value > start)).length;
    if (inside > 0 && below + inside >= rank) return start + (bound - start) * ((rank - below) / inside);
    below += inside;
  }
  return bounds.at(-1) ?? 0;
}

/**
 * Counts in a window may be 5 % off, so a rank may be as well; and each bucket for itself, since Prometheus does not extrapolate one that began at 0. So a
 * rank near the last value may fall into a later bucket, if the series ever had a value there.
 *
 * @source Prometheus documentation, rate: extrapolation to the ends of the window, never below zero
 */
function quantiles<T>(
  q: number,
  items: readonly T[],
  ever: readonly T[],
  labelsOf: LabelsOf<T>,
  secondsOf: (item: T) => number,
  bounds: readonly number[] = BUCKETS_OPERATION,
): Expected[] {
  return summed(items, labelsOf).map(({ labels }) => {
    const key = JSON.stringify(labels);
    const valuesOf = (some: readonly T[]): readonly number[] =>
      some.filter((item) => JSON.stringify(labelsOf(item)) === key).map(secondsOf);
    const values = valuesOf(items);
    return {
      labels,
      low: bucketQuantile(q * 0.95, values, bounds),
      high: q * 1.05 < 1 ? bucketQuantile(q * 1.05, values, bounds) : bucketQuantile(1, valuesOf(ever), bounds),
    };
  });
}

const tool: LabelsOf<CallFact> = (call) => ({ ...service, gen_ai_tool_name: call.tool });
const toolStatus: LabelsOf<CallFact> = (call) => ({ ...tool(call), toolspan_status: call.status });
const toolError: LabelsOf<CallFact> = (call) => ({ ...tool(call), error_type: call.errorType ?? "" });
const layer: LabelsOf<LayerFact> = ({ name }) => ({ ...service, toolspan_layer_name: name });
const decision: LabelsOf<LayerFact> = (run) => ({ ...layer(run), toolspan_layer_status: run.status });
const agent: LabelsOf<RunFact> = (run) => ({ ...service, gen_ai_agent_name: run.agent });
const model: LabelsOf<{ readonly model: string }> = (call) => ({ ...service, gen_ai_request_model: call.model });
const typed = ({ calls }: Facts): readonly CallFact[] => calls.filter(({ errorType }) => errorType !== undefined);
const denials = ({ layers }: Facts): readonly LayerFact[] => layers.filter(({ status }) => DENIALS.has(status));
const shortCircuits = ({ layers }: Facts): readonly LayerFact[] => layers.filter((run) => run.shortCircuited);
const failedRuns = ({ runs }: Facts): readonly RunFact[] => runs.filter(({ errorType }) => errorType !== undefined);
const kept = ({ calls }: Facts): readonly CallFact[] => calls.filter(({ recorded }) => recorded);
const unkept = ({ calls }: Facts): readonly CallFact[] => calls.filter(({ recorded }) => !recorded);
const one = (failing: boolean): number => (failing ? 1 : 0);
const seconds = ({ seconds: taken }: { readonly seconds: number }): number => taken;

/** p50, p95, p99 as the queries A, B, C of a panel. */
function threeQuantiles(panel: string, figure: (q: number) => Figure): Record<string, Figure> {
  return { [`${panel} / A`]: figure(0.5), [`${panel} / B`]: figure(0.95), [`${panel} / C`]: figure(0.99) };
}

const TOOL_CALLS: Readonly<Record<string, Figure>> = {
  "tool-calls / Calls / A": ({ calls }) => summed(calls, none),
  "tool-calls / Failed calls / A": ({ calls }) => summed(calls.filter(failed), none),
  "tool-calls / Share of failed calls / A": ({ calls }) => shared(calls, none, (call) => one(failed(call))),
  "tool-calls / In flight / A": () => [exactly({}, 1)],
  "tool-calls / Telemetry lost / A": (_, { lost }) => [exactly({}, lost)],
  "tool-calls / Calls by tool and status / A": ({ calls }) => summed(calls, toolStatus),
  "tool-calls / Errors by type / A": (facts) => summed(typed(facts), toolError),
  "tool-calls / Calls per second by tool / A": ({ calls }, _, s) => scaled(summed(calls, tool), 1 / s),
  "tool-calls / Calls per second by status / A": ({ calls }, _, s) =>
    scaled(
      summed(calls, ({ status }) => ({ toolspan_status: status })),
      1 / s,
    ),
  "tool-calls / Share of failed calls by tool / A": ({ calls }) => shared(calls, tool, (call) => one(failed(call))),
  "tool-calls / Errors per second by type / A": (facts, _, s) =>
    scaled(
      summed(typed(facts), ({ errorType = "" }) => ({ error_type: errorType })),
      1 / s,
    ),
  ...threeQuantiles(
    "tool-calls / Duration by tool",
    (q) =>
      ({ calls }, { ever }) =>
        quantiles(q, calls, ever.calls, tool, seconds),
  ),
  "tool-calls / Content cut or masked per second / A": ({ layers }, _, s) =>
    scaled(
      summed(
        layers.filter(({ status }) => status === "redacted"),
        () => ({ reason: "masked" }),
      ),
      1 / s,
    ),
  "tool-calls / In flight by tool / A": (_, { inFlight }) => [exactly({ ...service, gen_ai_tool_name: inFlight }, 1)],
};

const LAYERS: Readonly<Record<string, Figure>> = {
  "layers / Layer runs / A": ({ layers }) => summed(layers, none),
  "layers / Short circuits / A": (facts) => summed(shortCircuits(facts), none),
  "layers / Denials / A": (facts) => summed(denials(facts), none),
  "layers / Self time per run / A": ({ layers }) => shared(layers, none, ({ selfSeconds }) => selfSeconds),
  "layers / Who denies / A": (facts) => summed(denials(facts), decision),
  "layers / Decisions / A": ({ layers }) => summed(layers, decision),
  "layers / Short circuits by layer / A": (facts) => summed(shortCircuits(facts), layer),
  "layers / Self time by layer / A": ({ layers }, _, s) =>
    scaled(
      summed(layers, layer, ({ selfSeconds }) => selfSeconds),
      1 / s,
    ),
  ...threeQuantiles(
    "layers / Self time of a run",
    (q) =>
      ({ layers }, { ever }) =>
        quantiles(q, layers, ever.layers, layer, ({ selfSeconds }) => selfSeconds),
  ),
  "layers / Decisions per second / A": ({ layers }, _, s) => scaled(summed(layers, decision), 1 / s),
  "layers / Denials per second / A": (facts, _, s) => scaled(summed(denials(facts), layer), 1 / s),
};

const RECEIPTS: Readonly<Record<string, Figure>> = {
  "receipts / Receipts / A": (facts) => summed(kept(facts), none),
  "receipts / Failed receipts / A": (facts) => summed(unkept(facts), none),
  "receipts / Unsealed / A": (_, { unsealed }) => [exactly({}, unsealed)],
  "receipts / Spool / A": (_, { spoolBytes }) => [exactly({}, spoolBytes)],
  "receipts / Oldest in spool / A": (_, { spoolAge }) => [{ labels: {}, ...spoolAge }],
  "receipts / Anchored heads / A": ({ heads }) => [exactly({}, heads)],
  "receipts / Records by level and outcome / A": (facts) => [
    ...summed(kept(facts), () => ({ level: "durable", outcome: "ok" })),
    ...summed(unkept(facts), () => ({ level: "failed", outcome: "failed" })),
    exactly({ level: "sealed", outcome: "ok" }, facts.sealed),
  ],
  "receipts / Heads by level / A": ({ heads }) => [
    exactly({ level: "sealed" }, heads),
    exactly({ level: "anchored" }, heads),
  ],
  "receipts / Receipts per second / A": (facts, _, s) =>
    scaled(
      summed(kept(facts), () => service),
      1 / s,
    ),
  "receipts / Failed receipts per second / A": (facts, _, s) =>
    scaled(
      summed(unkept(facts), () => service),
      1 / s,
    ),
  ...threeQuantiles(
    "receipts / Time until durable",
    (q) =>
      ({ durable }, { ever }) =>
        quantiles(
          q,
          durable,
          ever.durable,
          () => service,
          (taken) => taken,
        ),
  ),
  "receipts / Unsealed by process / A": (_, { unsealed, instance }) => [exactly({ ...service, instance }, unsealed)],
  "receipts / Spool by process / A": (_, { spoolBytes, instance }) => [exactly({ ...service, instance }, spoolBytes)],
  "receipts / Oldest in spool by process / A": (_, { spoolAge, instance }) => [
    { labels: { ...service, instance }, ...spoolAge },
  ],
};

const AGENT_RUNS: Readonly<Record<string, Figure>> = {
  "agent-runs / Runs / A": ({ runs }) => summed(runs, none),
  "agent-runs / Share of failed runs / A": ({ runs }) =>
    shared(runs, none, ({ errorType }) => one(errorType !== undefined)),
  "agent-runs / Tool calls per run / A": ({ runs }) => shared(runs, none, ({ toolCalls }) => toolCalls),
  "agent-runs / Model calls per run / A": ({ runs }) => shared(runs, none, ({ modelCalls }) => modelCalls),
  "agent-runs / Runs by agent / A": ({ runs }) => summed(runs, agent),
  "agent-runs / Failed runs by type / A": (facts) =>
    summed(failedRuns(facts), (run) => ({ ...agent(run), error_type: run.errorType ?? "" })),
  "agent-runs / Runs per second / A": ({ runs }, _, s) => scaled(summed(runs, agent), 1 / s),
  "agent-runs / Tool calls per run by agent / A": ({ runs }) => shared(runs, agent, ({ toolCalls }) => toolCalls),
  "agent-runs / Model calls per run by agent / A": ({ runs }) => shared(runs, agent, ({ modelCalls }) => modelCalls),
  "agent-runs / Model time and tool time / A": ({ models }, _, s) => scaled(summed(models, none, seconds), 1 / s),
  "agent-runs / Model time and tool time / B": ({ calls }, _, s) => scaled(summed(calls, none, seconds), 1 / s),
  "agent-runs / Model time and tool time / C": ({ runs }, _, s) => scaled(summed(runs, none, seconds), 1 / s),
  ...threeQuantiles(
    "agent-runs / Duration of runs",
    (q) =>
      ({ runs }, { ever }) =>
        quantiles(q, runs, ever.runs, agent, seconds, BUCKETS_AGENT),
  ),
  ...threeQuantiles(
    "agent-runs / Duration of model calls",
    (q) =>
      ({ models }, { ever }) =>
        quantiles(q, models, ever.models, model, seconds),
  ),
};

export const FIGURES: Readonly<Record<string, Figure>> = { ...TOOL_CALLS, ...LAYERS, ...RECEIPTS, ...AGENT_RUNS };
