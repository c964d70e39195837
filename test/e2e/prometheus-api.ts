// Prometheus's own API: queries as a board sends them, and what comes back.
export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

interface Answer {
  readonly status: string;
  readonly error?: string;
  readonly data: { readonly result: readonly { readonly metric: Labels; readonly value: readonly [number, string] }[] };
}

/** An instant query. @throws Error with the query where Prometheus does not understand it. */
export async function query(
  url: string,
  expr: string,
  atSeconds: number = Date.now() / 1000,
): Promise<readonly Sample[]> {
  const body = new URLSearchParams({ query: expr, time: String(atSeconds) });
  const answer = (await post(`${url}/api/v1/query`, body)) as Answer;
  if (answer.status !== "success") throw new Error(`${answer.error}: ${expr}`);
  return answer.data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
}

/** The one figure of a query that has no labels; 0 where there is none. */
export async function figure(url: string, expr: string): Promise<number> {
  const [sample] = await query(url, expr);
  return sample?.value ?? 0;
}

/** How many points a graph gets; each of its values is a number. */
export async function pointsOver(url: string, expr: string, hours: number): Promise<number> {
  const end = Date.now() / 1000;
  const range = { query: expr, start: String(end - hours * 3600), end: String(end), step: "300" };
  const answer = (await post(`${url}/api/v1/query_range`, new URLSearchParams(range))) as {
    readonly status: string;
    readonly error?: string;
    readonly data: { readonly result: readonly { readonly values: readonly [number, string][] }[] };
  };
  if (answer.status !== "success") throw new Error(`${answer.error}: ${expr}`);
  const values = answer.data.result.flatMap((series) => series.values.map(([, value]) => Number(value)));
  if (values.some((value) => !Number.isFinite(value))) throw new Error(`a point that is no number: ${expr}`);
  return values.length;
}

/** Values of a label, as a board's choices ask for them. */
export async function labelValues(url: string, metric: string, label: string): Promise<readonly string[]> {
  const asked = new URLSearchParams({ "match[]": metric });
  const response = await fetch(`${url}/api/v1/label/${label}/values?${asked}`);
  return ((await response.json()) as { readonly data: readonly string[] }).data;
}

/** Alerts that fire now, by rule. */
export async function firing(url: string): Promise<ReadonlyMap<string, readonly Labels[]>> {
  const response = await fetch(`${url}/api/v1/alerts`);
  const { data } = (await response.json()) as {
    readonly data: { readonly alerts: readonly { readonly labels: Labels; readonly state: string }[] };
  };
  const found = new Map<string, Labels[]>();
  for (const { labels, state } of data.alerts) {
    const { alertname = "", ...others } = labels;
    if (state === "firing") found.set(alertname, [...(found.get(alertname) ?? []), others]);
  }
  return found;
}

async function post(url: string, body: URLSearchParams): Promise<unknown> {
  const response = await fetch(url, { method: "POST", body });
  return response.json();
}
