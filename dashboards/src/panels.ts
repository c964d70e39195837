/** The three kinds of panel: one figure, bars by label, a graph over time. */

import { PanelBuilder as BarGauge } from "@grafana/grafana-foundation-sdk/bargauge";
import {
  BarGaugeDisplayMode,
  BarGaugeValueMode,
  LegendDisplayMode,
  LegendPlacement,
  ReduceDataOptionsBuilder,
  StackingConfigBuilder,
  StackingMode,
  VizLegendOptionsBuilder,
  VizOrientation,
} from "@grafana/grafana-foundation-sdk/common";
import { DataqueryBuilder } from "@grafana/grafana-foundation-sdk/prometheus";
import { PanelBuilder as Stat } from "@grafana/grafana-foundation-sdk/stat";
import { PanelBuilder as Graph } from "@grafana/grafana-foundation-sdk/timeseries";
import { type TraceSearch, traceLinks } from "./trace-links.ts";
import { CHOSEN } from "./variables.ts";

/** Grafana's names of units. */
export type Unit = "short" | "s" | "bytes" | "percentunit" | "cps" | "none";

export interface Query {
  readonly expr: string;
  /** Template of the series' name; none where there is one figure. */
  readonly legend?: string;
}

export interface PanelOptions {
  readonly title: string;
  /** One sentence on what the figure is and where it comes from. */
  readonly description: string;
  readonly unit: Unit;
  readonly queries: readonly Query[];
  /** Columns of 24. */
  readonly width: number;
  readonly height?: number;
  readonly traces?: TraceSearch;
}

export interface GraphOptions extends PanelOptions {
  readonly stacked?: boolean;
}

/** A point no finer than programs export by default: within less, a graph would show their rhythm. */
const FINEST = "1m";

const ALL_VALUES = new ReduceDataOptionsBuilder().calcs(["lastNotNull"]).values(false);

/** The figure at the end of the time range. */
export function stat(options: PanelOptions): Stat {
  return shared(new Stat(), { height: 4, ...options }, "instant").reduceOptions(ALL_VALUES);
}

/** Bars by label, over the whole time range. */
export function bars(options: PanelOptions): BarGauge {
  return shared(new BarGauge(), { height: 9, ...options }, "instant")
    .reduceOptions(ALL_VALUES)
    .displayMode(BarGaugeDisplayMode.Basic)
    .valueMode(BarGaugeValueMode.Text)
    .orientation(VizOrientation.Horizontal);
}

/** Lines over time, or areas where they add up. */
export function graph({ stacked = false, ...options }: GraphOptions): Graph {
  const legend = new VizLegendOptionsBuilder()
    .displayMode(LegendDisplayMode.Table)
    .placement(LegendPlacement.Bottom)
    .showLegend(true)
    .calcs(["lastNotNull", "max"]);
  const built = shared(new Graph(), { height: 9, ...options }, "range")
    .legend(legend)
    .interval(FINEST)
    .axisSoftMin(0);
  return stacked ? built.stacking(new StackingConfigBuilder().mode(StackingMode.Normal)).fillOpacity(30) : built;
}

function shared<T extends Stat | BarGauge | Graph>(
  panel: T,
  { title, description, unit, queries, width, height = 8, traces }: PanelOptions,
  kind: "instant" | "range",
): T {
  panel.title(title).description(description).datasource(CHOSEN).unit(unit).min(0).span(width).height(height);
  queries.forEach(({ expr, legend = title }, position) => {
    const query = new DataqueryBuilder()
      .refId(String.fromCharCode(65 + position))
      .expr(expr)
      .legendFormat(legend);
    panel.withTarget(kind === "instant" ? query.instant() : query.range());
  });
  if (traces !== undefined) panel.dataLinks(traceLinks(traces));
  return panel;
}
