// The panels of the committed boards, with a board's variables put in as Grafana puts them in.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../support/workspace.ts";

export interface PanelQuery {
  /** `tool-calls / Calls by tool and status / A`. */
  readonly name: string;
  readonly expr: string;
  /** True for a graph over time. */
  readonly graph: boolean;
}

export interface PanelLink {
  readonly name: string;
  readonly title: string;
  readonly url: string;
}

export interface Choices {
  readonly rangeSeconds: number;
  readonly pointSeconds: number;
  readonly service?: string;
  readonly environment?: string;
  readonly tool?: string;
  readonly agent?: string;
}

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly targets: readonly { readonly refId: string; readonly expr: string }[];
  readonly fieldConfig: {
    readonly defaults: { readonly links?: readonly { readonly title: string; readonly url: string }[] };
  };
}

const FOLDER = join(root, "dashboards/grafana");

function panels(): readonly { readonly board: string; readonly panel: Panel }[] {
  return readdirSync(FOLDER).flatMap((file) => {
    const board = JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as { readonly panels: readonly Panel[] };
    return board.panels.map((panel) => ({ board: file.replace(/\.json$/, ""), panel }));
  });
}

export function panelQueries(): readonly PanelQuery[] {
  return panels().flatMap(({ board, panel }) =>
    panel.targets.map(({ refId, expr }) => ({
      name: `${board} / ${panel.title} / ${refId}`,
      expr,
      graph: panel.type === "timeseries",
    })),
  );
}

export function panelLinks(): readonly PanelLink[] {
  return panels().flatMap(({ board, panel }) =>
    (panel.fieldConfig.defaults.links ?? []).map(({ title, url }) => ({
      name: `${board} / ${panel.title} / ${title}`,
      title,
      url,
    })),
  );
}

/** What the board sends when everything, or what is named, is chosen. */
export function withChoices(expr: string, choices: Choices): string {
  const { rangeSeconds, pointSeconds, service, environment, tool, agent } = choices;
  return expr
    .replaceAll("$__rate_interval_ms", String(pointSeconds * 1000))
    .replaceAll("$__rate_interval", `${pointSeconds}s`)
    .replaceAll("$__range", `${rangeSeconds}s`)
    .replaceAll("$service", service ?? ".*")
    .replaceAll("$environment", environment ?? ".*")
    .replaceAll("$tool", tool ?? ".*")
    .replaceAll("$agent", agent ?? ".*");
}
