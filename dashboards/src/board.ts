/** What all boards have in common: name, variables, time range, panels with ids, links to each other. */

import type { Builder } from "@grafana/grafana-foundation-sdk/cog";
import {
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  type Panel,
} from "@grafana/grafana-foundation-sdk/dashboard";
import { type Choice, choiceVariable, datasourceVariable, jaegerVariable } from "./variables.ts";

const TAG = "toolspan";

export interface BoardOptions {
  /** File name without ending, and part of the board's address. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly choices: readonly Choice[];
  /** True where panels link to traces. */
  readonly traces: boolean;
  readonly panels: readonly Builder<Panel>[];
}

/** A board as Grafana stores it. Two calls give equal ones. */
export function board({ name, title, description, choices, traces, panels }: BoardOptions): Dashboard {
  const builder = new DashboardBuilder(`Toolspan: ${title}`)
    .uid(`toolspan-${name}`)
    .description(description)
    .tags([TAG])
    .time({ from: "now-1h", to: "now" })
    .refresh("30s")
    .timezone("browser")
    .editable()
    .tooltip(DashboardCursorSync.Crosshair)
    .annotations([])
    .withVariable(datasourceVariable());
  for (const choice of choices) builder.withVariable(choiceVariable(choice));
  if (traces) builder.withVariable(jaegerVariable());
  builder.link(
    new DashboardLinkBuilder("Toolspan")
      .type(DashboardLinkType.Dashboards)
      .tags([TAG])
      .includeVars(true)
      .keepTime(true),
  );
  panels.forEach((panel, position) => {
    builder.withPanel({ build: () => ({ ...panel.build(), id: position + 1 }) });
  });
  return builder.build();
}
