/** Queries that give a figure in every case: 0 where nothing happened, never "no data" and never NaN. */

/** Window of a graph's point, and of the whole time range of the board. */
export const POINT = "$__rate_interval";
export const RANGE = "$__range";

/** How far back a series is looked for before it counts as new. */
const MEMORY = "1h";

/** Label matchers, `{a="b"}`; the variables of the board are among them. */
export type Labels = string;

/** Labels of every metric. */
const EVERY = ['service_name=~"$service"', 'deployment_environment_name=~"$environment"'];
const TOOL = 'gen_ai_tool_name=~"$tool"';
const AGENT = 'gen_ai_agent_name=~"$agent"';

const braces = (matchers: readonly string[]): Labels => `{${matchers.join(",")}}`;

/** Of what was chosen for service and environment. */
export const ofService = (...more: readonly string[]): Labels => braces([...EVERY, ...more]);
/** And for the agent. */
export const ofAgent = (...more: readonly string[]): Labels => braces([...EVERY, AGENT, ...more]);
/** And for tool and agent. */
export const ofTool = (...more: readonly string[]): Labels => braces([...EVERY, TOOL, AGENT, ...more]);

/**
 * What each series of a counter gained in the window.
 *
 * A series that is new in the window counts whole: `increase` alone takes its first value for its beginning, so that the
 * first calls of a tool, and everything of a process that exported once, would never show.
 */
export function gained(counter: string, labels: Labels, window: string): string {
  const series = `${counter}${labels}`;
  const born = `last_over_time(${series}[${window}]) unless last_over_time(${series}[${MEMORY}] offset ${window})`;
  return `((${born}) or increase(${series}[${window}]))`;
}

/** A sum, in groups if there are any. */
export function sum(expr: string, by: readonly string[] = []): string {
  return by.length === 0 ? `sum(${expr})` : `sum by (${by.join(", ")}) (${expr})`;
}

/** Per second, from what was gained in a graph's point. */
export const perSecond = (expr: string): string => `${expr} / ($__rate_interval_ms / 1000)`;

/** 0 where there is no series at all. */
export const orZero = (expr: string): string => `${expr} or on() vector(0)`;

/** `part / whole` by equal labels; 0 where the whole is 0, or has no such part. */
export function ratio(part: string, whole: string): string {
  return orZero(`${part} / (${whole} > 0) or ${whole} * 0`);
}

/** A quantile of a histogram in the window, by groups; 0 for groups without an observation. */
export function quantile(q: number, histogram: string, labels: Labels, window: string, by: readonly string[]): string {
  const buckets = sum(gained(`${histogram}_bucket`, labels, window), [...by, "le"]);
  const none = `${sum(gained(`${histogram}_count`, labels, window), by)} * 0`;
  return orZero(`histogram_quantile(${q}, ${buckets}) >= 0 or ${none}`);
}

/** Mean of a histogram in the window, by groups. */
export function mean(histogram: string, labels: Labels, window: string, by: readonly string[] = []): string {
  const total = (suffix: string): string => sum(gained(`${histogram}_${suffix}`, labels, window), by);
  return ratio(total("sum"), total("count"));
}
