// The names that metrics have in Prometheus, once the Collector's `prometheus` exporter has passed them on.
import type { MetricDefinition } from "../../packages/telemetry/src/metrics/definitions.ts";

/** Suffixes of units; whole things in braces have none. */
const UNITS: Readonly<Record<string, string>> = { s: "_seconds", By: "_bytes" };
const KINDS: Readonly<Record<MetricDefinition["kind"], readonly string[]>> = {
  counter: ["_total"],
  updown: [""],
  gauge: [""],
  histogram: ["_bucket", "_sum", "_count"],
};

/** Every name of every metric. @source OpenTelemetry specification, "Prometheus and OpenMetrics Compatibility" */
export function prometheusNames(definitions: Readonly<Record<string, MetricDefinition>>): ReadonlySet<string> {
  return new Set(
    Object.entries(definitions).flatMap(([name, { kind, unit }]) => {
      const plain = name.replace(/[^a-zA-Z0-9_:]/g, "_");
      const suffix = UNITS[unit] ?? "";
      const stem = plain.endsWith(suffix) ? plain : `${plain}${suffix}`;
      return KINDS[kind].map((ending) => `${stem}${ending}`);
    }),
  );
}

/** Names of our metrics in a query. */
export function metricsIn(expr: string): readonly string[] {
  const outsideLabels = expr.replace(/\{[^}]*\}/g, "{}").replace(/\b(by|without|on|ignoring) \([^)]*\)/g, "");
  return [...new Set(outsideLabels.match(/\b(toolspan|gen_ai)_\w+/g) ?? [])];
}
