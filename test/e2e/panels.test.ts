// The boards on the real programs: every query of every panel gives the figure that receipts and spans give.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { telemetryLost } from "@toolspan/telemetry";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Collector,
  type Jaeger,
  type Prometheus,
  startCollector,
  startJaeger,
  startPrometheus,
} from "../peers/peers.ts";
import { until } from "../peers/program.ts";
import { panelLinks, panelQueries, withChoices } from "./board-panels.ts";
import { type Facts, factsIn, type Sealed, sealedIn, unsealedIn, waitingIn } from "./call-facts.ts";
import { collectedReceipts } from "./collected-receipts.ts";
import { BROKEN, MeasuredAgent, SERVICE, SLOW } from "./measured-agent.ts";
import { type Expected, FIGURES, type Moment } from "./panel-figures.ts";
import { figure, labelValues, pointsOver, query, type Sample } from "./prometheus-api.ts";

const INTERVAL_MS = 500;
const PHASE_MS = 8000;
/** Long beside a scrape: what a window cannot see at its ends stays below 5 %. */
const WINDOW_SECONDS = 40;
const TOLERANCE = 0.05;
const DAY_SECONDS = 86_400;
const folder = mkdtempSync(join(tmpdir(), "toolspan-panels-"));

let jaeger: Jaeger;
let collector: Collector;
/** Another one, which takes the receipts and goes away with the last of them outstanding. */
let receiver: Collector;
let prometheus: Prometheus;
let agent: MeasuredAgent;
let release: () => Promise<unknown> = async () => {};
/** Between the two phases. */
let middle: { readonly ns: bigint; readonly sealed: Sealed; readonly lost: number };
/** When Prometheus is asked about, seconds, and what was so then. */
let asked: number;
let whole: Window;
let second: Window;

beforeAll(async () => {
  const place = (name: string): string => {
    mkdirSync(join(folder, name));
    return join(folder, name);
  };
  jaeger = await startJaeger({ folder: place("jaeger") });
  const env = { TOOLSPAN_JAEGER_OTLP_GRPC: jaeger.otlpGrpc };
  collector = await startCollector({ folder: place("collector"), env });
  receiver = await startCollector({ folder: place("receiver") });
  const targets = [collector.metrics];
  prometheus = await startPrometheus({ targets, folder: place("prometheus"), intervalMs: INTERVAL_MS });
  const { otlpHttp } = collector;
  agent = new MeasuredAgent({ folder: place("state"), otlpHttp, receipts: receiver.receipts });

  await phase(0, 14);
  middle = { ns: BigInt(Date.now()) * 1_000_000n, sealed: sealedIn(state()), lost: lost() };
  // The window of the second phase begins where nothing moves.
  await setTimeout(4 * INTERVAL_MS);
  await phase(14, 28);
  await receiver.stop();
  // One call that is under way, and some lines beyond the last head, which nobody takes.
  let held: () => void = () => {};
  const holding = agent.call(SLOW, () => new Promise<void>((resolve) => (held = resolve)));
  release = () => {
    held();
    return holding;
  };
  for (let i = 0; i < 4; i += 1) await agent.call("plain_tool", () => i);
  await agent.telemetry.forceFlush({ timeoutMs: 30_000 });
  await setTimeout(Math.max(3 * INTERVAL_MS, Number(middle.ns / 1_000_000n) + WINDOW_SECONDS * 1000 - Date.now()));
  asked = Date.now() / 1000;
  whole = { facts: factsIn(state()), moment: await moment(0), seconds: DAY_SECONDS };
  second = {
    facts: factsIn(state(), middle.ns, middle.sealed),
    moment: await moment(middle.lost),
    seconds: Math.round(asked - Number(middle.ns / 1_000_000n) / 1000),
  };
}, 300_000);

afterAll(async () => {
  await release();
  await receiver?.restart();
  await agent?.dispatcher.close();
  await agent?.telemetry.shutdown({ timeoutMs: 10_000 });
  for (const program of [prometheus, collector, receiver, jaeger]) await program?.stop();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

const state = (): string => join(folder, "state");
const lost = (): number => [...telemetryLost().values()].reduce((sum, count) => sum + count, 0);

/** Traffic over some seconds, then quiet until three scrapes have seen all of it. */
async function phase(from: number, to: number): Promise<void> {
  const started = Date.now();
  await Promise.all([agent.replay(from, to, PHASE_MS), agent.callOthers()]);
  await agent.dispatcher.flush();
  expect(await agent.telemetry.forceFlush({ timeoutMs: 30_000 })).toMatchObject({ complete: true });
  const flushed = Date.now();
  const scrapes = (since: number): Promise<number> =>
    figure(prometheus.url, `count_over_time(up{job="toolspan"}[${Date.now() - since}ms])`);
  await until("three scrapes after the traffic", async () => ((await scrapes(flushed)) >= 3 ? true : undefined));
  expect(await scrapes(started)).toBeGreaterThanOrEqual(6);
}

async function moment(since: number): Promise<Moment> {
  const [sample] = await query(prometheus.url, "toolspan_receipts_unsealed");
  const arrived = new Set([...collectedReceipts(receiver.folder).lines.values()].flat());
  const { bytes, oldest } = waitingIn(state(), arrived);
  const age = asked - oldest;
  return {
    inFlight: SLOW,
    unsealed: unsealedIn(state()),
    spoolBytes: bytes,
    // Read some time before it was scraped.
    spoolAge: { low: age - 2, high: age },
    instance: sample?.labels.instance ?? "none",
    lost: lost() - since,
    ever: factsIn(state()),
  };
}

interface Window {
  readonly facts: Facts;
  readonly moment: Moment;
  readonly seconds: number;
}

/** What is wrong with an answer; empty where nothing is. */
function faults(name: string, samples: readonly Sample[], expected: readonly Expected[]): readonly string[] {
  const keyOf = (labels: object): string => JSON.stringify(Object.entries(labels).toSorted());
  const found = new Map(samples.map((sample) => [keyOf(sample.labels), sample.value]));
  const wrong: string[] = [];
  if (expected.length === 0) wrong.push("no figure is expected");
  for (const { labels, low, high } of expected) {
    const value = found.get(keyOf(labels));
    found.delete(keyOf(labels));
    const shown = low === high ? `${low}` : `${low} to ${high}`;
    if (value === undefined) wrong.push(`${keyOf(labels)} is missing; expected ${shown}`);
    else if (!(value >= low * (1 - TOLERANCE) - 1e-9 && value <= high * (1 + TOLERANCE) + 1e-9)) {
      wrong.push(`${keyOf(labels)} is ${value}; expected ${shown}`);
    }
  }
  // Series that exist at 0 are no fault.
  for (const [key, value] of found) if (value !== 0) wrong.push(`${key} is ${value}; expected none`);
  if (samples.every(({ value }) => !(Math.abs(value) > 0))) wrong.push("everything is zero");
  return wrong.map((fault) => `${name}: ${fault}`);
}

async function check(window: Window, rename: (expr: string) => string = (expr) => expr): Promise<readonly string[]> {
  const choices = { rangeSeconds: window.seconds, pointSeconds: window.seconds };
  const all = await Promise.all(
    panelQueries().map(async ({ name, expr }) => {
      const expected = FIGURES[name]?.(window.facts, window.moment, window.seconds);
      if (expected === undefined) return [`${name}: no figure is known for this query`];
      return faults(name, await query(prometheus.url, rename(withChoices(expr, choices)), asked), expected);
    }),
  );
  return all.flat();
}

test("no figure is kept for a query that no panel asks", () => {
  expect(Object.keys(FIGURES).toSorted()).toEqual(
    panelQueries()
      .map(({ name }) => name)
      .toSorted(),
  );
});

test("every query gives the figure of receipts and spans over a day, in which every series is new", async () => {
  expect(whole.facts.calls.filter(({ tool }) => tool === BROKEN).length).toBe(12);
  expect(await check(whole)).toEqual([]);
});

test("every query gives the figure of the second phase alone, in series that were there before", async () => {
  expect(second.seconds).toBeGreaterThanOrEqual(WINDOW_SECONDS);
  expect(await check(second)).toEqual([]);
});

test("a metric that has another name makes each of these queries fail", async () => {
  const wrong = await check(whole, (expr) => expr.replace(/\b(toolspan|gen_ai)_(?=\w+\{)/g, "$1_renamed_"));
  const failed = new Set(wrong.map((fault) => fault.split(":")[0]));
  expect([...failed].toSorted()).toEqual(
    panelQueries()
      .map(({ name }) => name)
      .toSorted(),
  );
});

test("a graph over 24 hours has numbers at all of its points, within five seconds", async () => {
  const began = performance.now();
  for (const { expr } of panelQueries().filter(({ graph }) => graph)) {
    const points = await pointsOver(
      prometheus.url,
      withChoices(expr, { rangeSeconds: DAY_SECONDS, pointSeconds: 315 }),
      24,
    );
    expect(points, expr).toBeGreaterThan(280);
  }
  expect(performance.now() - began).toBeLessThan(5000);
});

test("a board on which nothing was chosen that exists shows 0 everywhere", async () => {
  const choices = { rangeSeconds: 3600, pointSeconds: 60, service: "nobody" };
  for (const { name, expr } of panelQueries()) {
    expect(await query(prometheus.url, withChoices(expr, choices)), name).toEqual([{ labels: {}, value: 0 }]);
  }
});

test("the choices offer service, environment, tools and agents, and choosing narrows", async () => {
  const offered = (label: string): Promise<readonly string[]> =>
    labelValues(prometheus.url, "toolspan_tool_calls_total", label);
  expect(await offered("service_name")).toEqual([SERVICE]);
  expect(await offered("deployment_environment_name")).toEqual(["test"]);
  expect(await offered("gen_ai_agent_name")).toEqual([SERVICE, "desk"]);
  expect(await offered("gen_ai_tool_name")).toEqual(expect.arrayContaining([BROKEN, SLOW, "never_called"]));

  const calls = panelQueries().find(({ name }) => name === "tool-calls / Calls / A");
  const chosen = async (more: object): Promise<number> =>
    figure(prometheus.url, withChoices(calls?.expr ?? "", { rangeSeconds: DAY_SECONDS, pointSeconds: 60, ...more }));
  const { facts } = whole;
  expect(await chosen({ tool: BROKEN })).toBe(12);
  expect(await chosen({ agent: "desk" })).toBe(facts.calls.filter((call) => call.agent === "desk").length);
  expect(await chosen({ environment: "test", service: SERVICE })).toBe(facts.calls.length);
  expect(await chosen({ environment: "production" })).toBe(0);
});

test("a bar's link finds the traces behind it in Jaeger", async () => {
  const links = panelLinks().filter(({ title }) => title === "Traces in Jaeger");
  expect(links.length).toBeGreaterThan(5);
  const clicked: Readonly<Record<string, string>> = {
    service_name: SERVICE,
    gen_ai_tool_name: BROKEN,
    toolspan_status: "exception",
    error_type: "TypeError",
    toolspan_layer_name: "with_consent",
    toolspan_layer_status: "denied",
    gen_ai_agent_name: SERVICE,
  };
  for (const { name, url } of links) {
    // A failed run ended at its limit.
    const labels = name.startsWith("agent-runs / Failed") ? { ...clicked, error_type: failedRun() } : clicked;
    const found = await until(name, async () => (await tracesBehind(url, labels)) || undefined);
    expect(found, name).toBeGreaterThan(0);
    if (!name.includes("by tool and status")) continue;
    // Each of its calls is a trace of its own.
    expect(found).toBe(12);
    expect(await tracesBehind(url, { ...clicked, toolspan_status: "ok" })).toBe(0);
  }
});

/** How many traces the page would show: it asks Jaeger's API with the parameters of its own address. */
async function tracesBehind(url: string, labels: Readonly<Record<string, string>>): Promise<number> {
  const address = url
    .replaceAll(`\${jaeger}`, jaeger.url)
    .replaceAll(`\${__from}`, String(Date.now() - 600_000))
    .replaceAll(`\${__to}`, String(Date.now()))
    .replaceAll(/\$\{__field\.labels\.(\w+)\}/g, (_, label: string) => encodeURIComponent(labels[label] ?? ""));
  const response = await fetch(address.replace("/search?", "/api/traces?"));
  const { data } = (await response.json()) as { readonly data: readonly unknown[] };
  return data.length;
}

function failedRun(): string {
  const [run] = whole.facts.runs.filter(({ errorType }) => errorType !== undefined);
  return run?.errorType ?? "none";
}
