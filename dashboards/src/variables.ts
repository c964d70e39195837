/** What can be chosen above a board: data source, service, environment, tool, agent, and where Jaeger is. */

import type { DataSourceRef } from "@grafana/grafana-foundation-sdk/common";
import {
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  TextBoxVariableBuilder,
  VariableRefresh,
  VariableSort,
} from "@grafana/grafana-foundation-sdk/dashboard";
import { TOOL_CALLS } from "./metrics.ts";

/** Data sources as they are provisioned. */
export const PROMETHEUS_UID = "toolspan-prometheus";
export const JAEGER_UID = "toolspan-jaeger";

/** The data source that was chosen. */
export const CHOSEN: Readonly<DataSourceRef> = { type: "prometheus", uid: "$datasource" };

const CHOSEN_SERVICE = '{service_name=~"$service"}';

export type Choice = "service" | "environment" | "tool" | "agent";

const QUERIES: Readonly<Record<Choice, { readonly label: string; readonly query: string }>> = {
  service: { label: "Service", query: `label_values(${TOOL_CALLS}, service_name)` },
  environment: {
    label: "Environment",
    query: `label_values(${TOOL_CALLS}${CHOSEN_SERVICE}, deployment_environment_name)`,
  },
  tool: { label: "Tool", query: `label_values(${TOOL_CALLS}${CHOSEN_SERVICE}, gen_ai_tool_name)` },
  agent: { label: "Agent", query: `label_values(${TOOL_CALLS}${CHOSEN_SERVICE}, gen_ai_agent_name)` },
};

export function datasourceVariable(): DatasourceVariableBuilder {
  return new DatasourceVariableBuilder("datasource")
    .label("Data source")
    .type("prometheus")
    .current({ text: "Prometheus", value: PROMETHEUS_UID });
}

/** Several may be chosen; at first all are, also those that lack the label. */
export function choiceVariable(name: Choice): QueryVariableBuilder {
  const { label, query } = QUERIES[name];
  return new QueryVariableBuilder(name)
    .label(label)
    .datasource(CHOSEN)
    .query({ query, refId: name })
    .definition(query)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc)
    .multi(true)
    .includeAll(true)
    .allValue(".*")
    .current({ selected: true, text: ["All"], value: ["$__all"] });
}

/** Base address of Jaeger's own pages, as the reader's browser reaches them. */
export function jaegerVariable(): TextBoxVariableBuilder {
  const address = "http://localhost:16686";
  return new TextBoxVariableBuilder("jaeger")
    .label("Jaeger")
    .defaultValue(address)
    .current({ selected: true, text: address, value: address });
}
