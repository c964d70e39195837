/** Links from a figure to the traces behind it: the same search, in Jaeger's own page and in Grafana's Explore. */

import { DashboardLinkBuilder } from "@grafana/grafana-foundation-sdk/dashboard";
import { JAEGER_UID } from "./variables.ts";

/** What traces are searched by; values may hold `${__field.labels.…}` of the series that was clicked. */
export interface TraceSearch {
  /** Name of the span. */
  readonly operation: string;
  /** Attributes that the span has. */
  readonly tags: Readonly<Record<string, string>>;
}

/** A label of the series that was clicked. */
export const label = (name: string): string => `\${__field.labels.${name}}`;

const LIMIT = "100";

/** Both links; the time range is the board's. */
export function traceLinks({ operation, tags }: TraceSearch): DashboardLinkBuilder[] {
  const service = label("service_name");
  const found = Object.entries(tags);
  const search = [
    `service=${outsideVariables(service)}`,
    `operation=${outsideVariables(operation)}`,
    ...(found.length === 0 ? [] : [`tags=${outsideVariables(JSON.stringify(tags))}`]),
    // Jaeger counts in microseconds.
    `start=\${__from}000`,
    `end=\${__to}000`,
    `limit=${LIMIT}`,
  ];
  const panes = {
    traces: {
      datasource: JAEGER_UID,
      queries: [
        {
          refId: "A",
          datasource: { type: "jaeger", uid: JAEGER_UID },
          queryType: "search",
          service,
          operation,
          tags: found.map(([key, value]) => `${key}=${value}`).join(" "),
          limit: Number(LIMIT),
        },
      ],
      range: { from: `\${__from}`, to: `\${__to}` },
    },
  };
  return [
    link("Traces in Jaeger", `\${jaeger}/search?${search.join("&")}`),
    link("Traces in Explore", `/explore?schemaVersion=1&panes=${outsideVariables(JSON.stringify(panes))}`),
  ];
}

function link(title: string, url: string): DashboardLinkBuilder {
  return new DashboardLinkBuilder(title).url(url).targetBlank(true);
}

/** Percent-encodes everything but `${…}`, which Grafana has still to find. */
function outsideVariables(text: string): string {
  return text
    .split(/(\$\{[^}]+\})/)
    .map((part, position) => (position % 2 === 1 ? part : encodeURIComponent(part)))
    .join("");
}
