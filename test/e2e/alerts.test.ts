// The alert rules on the real Prometheus: silent in a healthy run, and each fires after its own fault. Only the waits are shortened.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createDispatcher, type Dispatcher } from "@toolspan/core";
import { fileSigner, withAuditLog } from "@toolspan/receipts";
import { withTelemetry } from "@toolspan/telemetry";
import { startTelemetry, type Telemetry } from "@toolspan/telemetry/node";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { parse, stringify } from "yaml";
import { type Collector, type Prometheus, promtool, startCollector, startPrometheus } from "../peers/peers.ts";
import { until } from "../peers/program.ts";
import { newKey } from "../receipts/signing.ts";
import { freePort } from "../support/free-port.ts";
import { root } from "../support/workspace.ts";
import { panelQueries, withChoices } from "./board-panels.ts";
import { MeasuredAgent } from "./measured-agent.ts";
import { figure, firing, query } from "./prometheus-api.ts";

interface RuleFile {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}

const RULES = join(root, "dashboards/prometheus/alerts.rules.yaml");
const SHIPPED = parse(readFileSync(RULES, "utf8")) as RuleFile;
const ALERTS = SHIPPED.groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
/** No head is due over a log's first lines, and nothing was scraped when Prometheus has just begun. */
const PATIENT: ReadonlySet<string> = new Set(["ToolspanReceiptsUnsealed", "ToolspanScrapeDown"]);
const INTERVAL_MS = 500;
const folder = mkdtempSync(join(tmpdir(), "toolspan-alerts-"));
let collector: Collector;
let prometheus: Prometheus;

const place = (name: string): string => {
  mkdirSync(join(folder, name));
  return join(folder, name);
};

beforeAll(async () => {
  const rules = join(folder, "alerts.rules.yaml");
  const hasty = SHIPPED.groups.map((group) => ({
    ...group,
    rules: group.rules.map((rule) => ({ ...rule, for: PATIENT.has(rule.alert) ? "15s" : "1s" })),
  }));
  writeFileSync(rules, stringify({ groups: hasty }));
  collector = await startCollector({ folder: place("collector") });
  prometheus = await startPrometheus({
    targets: [collector.metrics],
    rules: [rules],
    folder: place("prometheus"),
    intervalMs: INTERVAL_MS,
  });
});

afterAll(async () => {
  await prometheus?.stop();
  await collector?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function tool(...args: readonly string[]): { readonly status: number | null; readonly said: string } {
  const { status, stdout, stderr } = spawnSync(promtool(), args, { encoding: "utf8", cwd: join(RULES, "..") });
  return { status, said: stdout + stderr };
}

test("promtool accepts the rules, and every case of them holds", () => {
  expect(tool("check", "rules", "--lint=all", "--lint-fatal", RULES)).toMatchObject({ status: 0 });
  expect(tool("test", "rules", "alerts.tests.yaml")).toMatchObject({
    status: 0,
    said: expect.stringContaining("SUCCESS"),
  });
});

test("a threshold that nothing passes makes the cases fail", () => {
  const elsewhere = place("deaf");
  const rules = readFileSync(RULES, "utf8").replaceAll(") > 0\n", ") > 1e9\n");
  writeFileSync(join(elsewhere, "alerts.rules.yaml"), rules);
  writeFileSync(join(elsewhere, "alerts.tests.yaml"), readFileSync(join(RULES, "../alerts.tests.yaml"), "utf8"));
  expect(tool("test", "rules", join(elsewhere, "alerts.tests.yaml")).status).not.toBe(0);
});

test("Prometheus reads every query of every board", async () => {
  for (const { name, expr } of panelQueries()) {
    const asked = new URLSearchParams({ query: withChoices(expr, { rangeSeconds: 3600, pointSeconds: 75 }) });
    const response = await fetch(`${prometheus.url}/api/v1/format_query?${asked}`);
    expect(await response.json(), name).toMatchObject({ status: "success" });
  }
});

test("a healthy run of all conversations raises nothing", async () => {
  const agent = new MeasuredAgent({
    folder: place("healthy"),
    otlpHttp: collector.otlpHttp,
    receipts: collector.receipts,
    faults: false,
  });
  await agent.replay(0, 28, 8000, false);
  await agent.dispatcher.flush();
  await agent.telemetry.forceFlush({ timeoutMs: 30_000 });
  await setTimeout(6 * INTERVAL_MS);
  expect(await figure(prometheus.url, "sum(toolspan_tool_calls_total)")).toBeGreaterThan(100);
  expect(await figure(prometheus.url, "sum(toolspan_receipts_heads_total)")).toBeGreaterThan(0);
  await agent.dispatcher.close();
  await agent.telemetry.shutdown({ timeoutMs: 10_000 });
  expect([...(await firing(prometheus.url)).keys()]).toEqual([]);
  expect(await query(prometheus.url, 'count_over_time(ALERTS{alertstate="firing"}[10m])')).toEqual([]);

  const answer = (await (await fetch(`${prometheus.url}/api/v1/rules`)).json()) as {
    readonly data: { readonly groups: readonly { readonly rules: readonly { name: string; health: string }[] }[] };
  };
  const health = answer.data.groups.flatMap(({ rules }) => rules.map((rule) => [rule.name, rule.health]));
  expect(health).toEqual(ALERTS.map((alert) => [alert, "ok"]));
});

/** A program of its own name, which has the fault; it is ended at the end of the test. */
interface Faulty {
  readonly telemetry: Telemetry;
  readonly state: string;
}

function startFaulty(service: string, metricIntervalMs = 250): Faulty {
  const telemetry = startTelemetry({
    serviceName: service,
    resourceAttributes: { "service.instance.id": service },
    otlp: { endpoint: collector.otlpHttp },
    metricIntervalMs,
    signals: false,
    environment: {},
  });
  return { telemetry, state: place(service) };
}

async function expectAlert(alert: string, service: string): Promise<void> {
  const found = await until(
    `${alert} of ${service}`,
    async () => (await firing(prometheus.url)).get(alert)?.find(({ service_name }) => service_name === service),
    60_000,
  );
  expect(found.service_name).toBe(service);
  const others = [...(await firing(prometheus.url))].filter(([, all]) =>
    all.some(({ service_name }) => service_name === service),
  );
  expect(others.map(([name]) => name)).toEqual([alert]);
}

async function calls(dispatcher: Dispatcher, count: number, handler: () => unknown = () => "done"): Promise<void> {
  for (let from = 0; from < count; from += 100) {
    const batch = Array.from({ length: Math.min(100, count - from) }, (_, i) =>
      dispatcher(
        { toolName: "work", toolArgs: { number: from + i }, turn: { iteration: 1, sessionId: "one" } },
        handler,
      ),
    );
    await Promise.all(batch);
  }
}

const injected = new Set<string>();
const fault = (alert: string, what: string, inject: () => Promise<void>): void => {
  injected.add(alert);
  test(`${alert} fires when ${what}`, inject);
};

fault("ToolspanTelemetryLost", "a sink of span records fails", async () => {
  const { telemetry } = startFaulty("loses");
  const failing = (): void => {
    throw new Error("full");
  };
  const dispatcher = createDispatcher([withTelemetry({ sinks: ["otel", failing], env: {} })]);
  await calls(dispatcher, 3);
  await expectAlert("ToolspanTelemetryLost", "loses");
  await telemetry.shutdown();
});

fault("ToolspanReceiptsFailing", "a store refuses one receipt", async () => {
  const { telemetry } = startFaulty("refused");
  const full = (): void => {
    throw new Error("full");
  };
  const dispatcher = createDispatcher([withAuditLog(full), withTelemetry({ sink: "otel", env: {} })]);
  await calls(dispatcher, 1);
  await expectAlert("ToolspanReceiptsFailing", "refused");
  await telemetry.shutdown();
});

fault("ToolspanReceiptsUnsealed", "a signer does not answer", async () => {
  const { telemetry, state } = startFaulty("unsealed");
  const key = newKey();
  const signer = { ...signerParts(key.path), sign: () => new Promise<Uint8Array>(() => {}) };
  const audit = withAuditLog({ policy: "intent_first", stateDir: state, hash: "sha256", signer, flushTimeoutMs: 500 });
  const dispatcher = createDispatcher([audit, withTelemetry({ sink: "otel", env: {} })]);
  await calls(dispatcher, 400);
  await expectAlert("ToolspanReceiptsUnsealed", "unsealed");
  await telemetry.shutdown();
  await audit.close().catch(() => {}); // it waits for the signer
});

function signerParts(path: string): { readonly keyName: string; readonly verifierKey: string } {
  const { keyName, verifierKey } = fileSigner(path);
  return { keyName, verifierKey };
}

fault("ToolspanReceiptSpoolOld", "a receipt of an hour ago has not been taken", async () => {
  const { telemetry, state } = startFaulty("waits");
  const delivery = { endpoint: `http://127.0.0.1:${await freePort()}` };
  const audit = withAuditLog({ sink: "both", stateDir: state, hash: "sha256", delivery, flushTimeoutMs: 500 });
  const dispatcher = createDispatcher([audit, withTelemetry({ sink: "otel", env: {} })]);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - 3_600_000 });
  await calls(dispatcher, 3);
  vi.useRealTimers();
  await expectAlert("ToolspanReceiptSpoolOld", "waits");
  await telemetry.shutdown();
  await audit.close();
});

fault("ToolspanReceiptSpoolGrowing", "an endpoint is away and more than a mebibyte waits", async () => {
  // Its first figure is that of the full spool: a quarter of an hour ago there is nothing to be compared with.
  const { telemetry, state } = startFaulty("grows", 3_600_000);
  const delivery = { endpoint: `http://127.0.0.1:${await freePort()}` };
  const audit = withAuditLog({ sink: "both", stateDir: state, hash: "sha256", delivery, flushTimeoutMs: 500 });
  const dispatcher = createDispatcher([audit, withTelemetry({ sink: "otel", env: {} })]);
  await calls(dispatcher, 1500);
  await telemetry.forceFlush();
  const waiting = 'toolspan_receipts_spool_bytes{service_name="grows"}';
  const before = await until(
    "the spool in Prometheus",
    async () => (await figure(prometheus.url, waiting)) || undefined,
  );
  expect(before).toBeGreaterThan(1 << 20);
  await setTimeout(2 * INTERVAL_MS);
  await calls(dispatcher, 200);
  await telemetry.forceFlush();
  await expectAlert("ToolspanReceiptSpoolGrowing", "grows");
  await telemetry.shutdown();
  await audit.close();
});

fault("ToolspanToolFailing", "a tool throws each time", async () => {
  const { telemetry } = startFaulty("throws");
  const dispatcher = createDispatcher([withTelemetry({ sink: "otel", env: {} })]);
  await calls(dispatcher, 6, () => {
    throw new TypeError("always");
  });
  await expectAlert("ToolspanToolFailing", "throws");
  await telemetry.shutdown();
});

// The last fault: nothing is scraped after it.
fault("ToolspanScrapeDown", "the Collector is away", async () => {
  await collector.stop();
  const found = await until("the alert", async () => (await firing(prometheus.url)).get("ToolspanScrapeDown"), 60_000);
  expect(found).toEqual([expect.objectContaining({ job: "toolspan", severity: "critical" })]);
});

test("every alert has a fault here", () => {
  expect([...injected]).toEqual(ALERTS);
});
