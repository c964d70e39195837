// Boards and alert rules as data: generated, whole, on metrics that exist, each alert with its page and its cases.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { boards, boardText } from "../../dashboards/src/boards.ts";
import { DENIALS } from "../../dashboards/src/metrics.ts";
import { JAEGER_UID, PROMETHEUS_UID } from "../../dashboards/src/variables.ts";
import { DEFINITIONS } from "../../packages/telemetry/src/metrics/definitions.ts";
import { metricsIn, prometheusNames } from "../support/prometheus-names.ts";
import { root } from "../support/workspace.ts";

interface Target {
  readonly expr: string;
  readonly refId: string;
  readonly legendFormat: string;
}
interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description: string;
  readonly datasource: { readonly type: string; readonly uid: string };
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets: readonly Target[];
  readonly fieldConfig: { readonly defaults: { readonly links?: readonly { readonly url: string }[] } };
}
interface Variable {
  readonly name: string;
  readonly type: string;
  readonly query?: unknown;
  readonly current?: { readonly value?: unknown };
}
interface Board {
  readonly uid: string;
  readonly title: string;
  readonly schemaVersion: number;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly Variable[] };
}
interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: string };
  readonly annotations: Readonly<Record<"summary" | "description" | "runbook", string>>;
}
interface RuleCases {
  readonly rule_files: readonly string[];
  readonly tests: readonly {
    readonly alert_rule_test: readonly { readonly alertname: string; readonly exp_alerts?: readonly unknown[] }[];
  }[];
}

const FOLDER = join(root, "dashboards/grafana");
const RULES = join(root, "dashboards/prometheus");
const read = (path: string): string => readFileSync(path, "utf8");
const files = readdirSync(FOLDER).sort();
const known = prometheusNames(DEFINITIONS);

/** Variables that Grafana brings along. */
const BUILT_IN = /^(__.*)$/;
const variablesIn = (text: string): readonly string[] =>
  [...text.matchAll(/\$\{(\w+)[^}]*\}|\$(\w+)/g)]
    .map(([, braced, bare]) => braced ?? bare ?? "")
    .filter((name) => !BUILT_IN.test(name));

test("the committed boards are the generated ones: after a change of dashboards/src, npm run dashboards", () => {
  expect(files).toEqual([...boards().keys()].sort());
  for (const [file, board] of boards()) expect(read(join(FOLDER, file)), file).toBe(boardText(board));
});

test("no two boards have one address or one title", () => {
  const all = files.map((file) => JSON.parse(read(join(FOLDER, file))) as Board);
  expect(new Set(all.map(({ uid }) => uid)).size).toBe(all.length);
  expect(new Set(all.map(({ title }) => title)).size).toBe(all.length);
  for (const { uid } of all) expect(uid).toMatch(/^toolspan-[a-z-]{1,31}$/);
});

describe.each(files)("%s", (file) => {
  const board = JSON.parse(read(join(FOLDER, file))) as Board;
  const { panels, templating } = board;

  test("has a schema version, panels with ids of their own, and none over another", () => {
    expect(board.schemaVersion).toBe(42);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const taken = new Set<string>();
    for (const { title, gridPos } of panels) {
      const { x, y, w, h } = gridPos;
      expect(x + w, title).toBeLessThanOrEqual(24);
      for (let column = x; column < x + w; column += 1) {
        for (let row = y; row < y + h; row += 1) {
          expect(taken.has(`${column} ${row}`), `${title} lies over another panel`).toBe(false);
          taken.add(`${column} ${row}`);
        }
      }
    }
  });

  test("says of each panel what it shows, under a title of its own", () => {
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
    for (const { title, description } of panels) expect(description, title).toMatch(/^[A-Zp].+\.$/);
  });

  test("asks only for metrics that telemetry makes", () => {
    for (const { title, targets } of panels) {
      for (const { expr } of targets) {
        const names = metricsIn(expr);
        expect(names.length, title).toBeGreaterThan(0);
        expect(
          names.filter((name) => !known.has(name)),
          title,
        ).toEqual([]);
      }
    }
    for (const { name, query } of templating.list.filter(({ type }) => type === "query")) {
      const [metric = ""] = /(?<=label_values\()\w+/.exec((query as { query: string }).query) ?? [];
      expect(known, name).toContain(metric);
    }
  });

  test("gives 0 where there is nothing, in every query", () => {
    for (const { title, targets } of panels) {
      for (const { expr } of targets) expect(expr, title).toMatch(/ or on\(\) vector\(0\)$/);
    }
  });

  test("defines every variable that it uses, and uses every one that it defines", () => {
    const defined = templating.list.map(({ name }) => name);
    const used = new Set([...variablesIn(JSON.stringify(panels)), ...variablesIn(JSON.stringify(templating))]);
    expect([...used].sort()).toEqual([...defined].sort());
  });

  test("takes its figures from a data source that is provisioned, and links to one", () => {
    const provisioned = (
      parse(read(join(root, "collector/grafana/datasources/datasources.yaml"))) as {
        readonly datasources: readonly { readonly uid: string; readonly type: string }[];
      }
    ).datasources.map(({ uid, type }) => `${type} ${uid}`);
    expect(provisioned).toEqual(expect.arrayContaining([`prometheus ${PROMETHEUS_UID}`, `jaeger ${JAEGER_UID}`]));
    const [source] = templating.list.filter(({ type }) => type === "datasource");
    expect(source).toMatchObject({ name: "datasource", query: "prometheus", current: { value: PROMETHEUS_UID } });
    for (const { title, datasource } of panels) {
      expect(datasource, title).toEqual({ type: "prometheus", uid: "$datasource" });
    }
    const explored = panels.flatMap(({ fieldConfig }) =>
      (fieldConfig.defaults.links ?? []).filter(({ url }) => url.startsWith("/explore")),
    );
    for (const { url } of explored) {
      const panes = new URL(url, "http://grafana").searchParams.get("panes") ?? "";
      expect(JSON.parse(panes)).toMatchObject({
        traces: { datasource: JAEGER_UID, queries: [{ datasource: { type: "jaeger", uid: JAEGER_UID } }] },
      });
    }
  });
});

describe("alert rules", () => {
  const rules = (
    parse(read(join(RULES, "alerts.rules.yaml"))) as { readonly groups: readonly { readonly rules: readonly Rule[] }[] }
  ).groups.flatMap((group) => group.rules);
  const names = rules.map(({ alert }) => alert);
  const cases = parse(read(join(RULES, "alerts.tests.yaml"))) as RuleCases;

  test("ask only for metrics that telemetry makes", () => {
    for (const { alert, expr } of rules) {
      expect(
        metricsIn(expr).filter((name) => !known.has(name)),
        alert,
      ).toEqual([]);
      // What Prometheus itself says of a scrape is no metric of ours.
      if (alert !== "ToolspanScrapeDown") expect(metricsIn(expr).length, alert).toBeGreaterThan(0);
    }
  });

  test("take no call for a failure that has no status, as the overflow of an SDK's series has none", () => {
    const queries = files.flatMap((file) =>
      (JSON.parse(read(join(FOLDER, file))) as Board).panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    );
    const excluding = [...queries, ...rules.map(({ expr }) => expr)].flatMap(
      (expr) => expr.match(/\{[^}]*toolspan_status!~[^}]*\}/g) ?? [],
    );
    expect(excluding.length).toBeGreaterThan(0);
    for (const labels of excluding) expect(labels).toContain('toolspan_status!=""');
  });

  test("keep environments apart", () => {
    for (const { alert, expr } of rules) {
      for (const [, labels] of expr.matchAll(/\bby \(([^)]*)\)/g)) {
        expect(labels, alert).toContain("service_name, deployment_environment_name");
      }
    }
  });

  test("watch the scrape of the job that prometheus.yaml names", () => {
    const { scrape_configs } = parse(read(join(root, "collector/prometheus.yaml"))) as {
      readonly scrape_configs: readonly { readonly job_name: string }[];
    };
    const { expr } = rules.find(({ alert }) => alert === "ToolspanScrapeDown") ?? { expr: "" };
    for (const { job_name } of scrape_configs) expect(expr).toContain(`absent(up{job="${job_name}"})`);
  });

  test("denials are statuses that a layer gives to nothing but a denial", () => {
    const named = DENIALS.split("|");
    const tables = read(join(root, "docs/layers/README.md")).matchAll(
      /^\| \[`(with_\w+)`\][^|]*\|[^|]*\|[^|]*\|([^|]*)\|/gm,
    );
    const deniers = [...tables].flatMap(([, layer, statuses = ""]) =>
      [...statuses.matchAll(/`(\w+)`/g)].flatMap(([, status = ""]) =>
        named.includes(status) ? [`${layer} ${status}`] : [],
      ),
    );
    expect(deniers).toEqual([
      "with_consent denied",
      "with_rate_limit rate_limited",
      "with_required_reason rejected",
      "with_scoped_executor violation",
    ]);
  });

  test("have a name, a wait, a severity, two sentences and the address of their section in the runbook", () => {
    const sections = [...read(join(root, "docs/runbook.md")).matchAll(/^## (.+)$/gm)].map(([, title]) => title);
    expect(sections).toEqual(names);
    expect(new Set(names).size).toBe(names.length);
    for (const { alert, for: wait, labels, annotations } of rules) {
      expect(alert).toMatch(/^Toolspan[A-Z][A-Za-z]+$/);
      expect(wait, alert).toMatch(/^\d+m$/);
      expect(["warning", "critical"], alert).toContain(labels.severity);
      expect(annotations.summary.length, alert).toBeGreaterThan(0);
      expect(annotations.description, alert).toMatch(/\.$/);
      expect(annotations.runbook).toBe(`docs/runbook.md#${alert.toLowerCase()}`);
    }
  });

  test("each have a case in which they fire and one in which they are silent", () => {
    expect(cases.rule_files).toEqual(["alerts.rules.yaml"]);
    const checks = cases.tests.flatMap((one) => one.alert_rule_test);
    const firing = (fires: boolean): ReadonlySet<string> =>
      new Set(
        checks.filter((check) => (check.exp_alerts ?? []).length > 0 === fires).map(({ alertname }) => alertname),
      );
    expect([...firing(true)].sort()).toEqual([...names].sort());
    expect([...firing(false)].sort()).toEqual([...names].sort());
  });
});

test("the page on telemetry names every metric, and none that does not exist", () => {
  const page = read(join(root, "docs/telemetry.md"));
  const table = /## Metrics\n([\s\S]*?)\n## /.exec(page)?.[1] ?? "";
  const named = [...table.matchAll(/^\| `([a-z_.]+)` \|/gm)].map(([, name]) => name);
  expect(named.toSorted()).toEqual(Object.keys(DEFINITIONS).toSorted());
});
