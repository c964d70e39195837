// The Collector, Jaeger and Prometheus with the configurations that are shipped, each on loopback ports of its own.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { freePort } from "../support/free-port.ts";
import { root } from "../support/workspace.ts";
import { peerBinary } from "./build.mjs";
import { type Program, startProgram, until } from "./program.ts";

/** The folder of the shipped configurations. */
export const CONFIGS: string = join(root, "collector");

export interface Collector extends Program {
  /** `OTEL_EXPORTER_OTLP_ENDPOINT` of a program. */
  readonly otlpHttp: string;
  /** Host and port. */
  readonly otlpGrpc: string;
  /** `TOOLSPAN_RECEIPTS_OTLP_ENDPOINT` of a program. */
  readonly receipts: string;
  /** Host and port that Prometheus scrapes. */
  readonly metrics: string;
  /** Holds `queue/` and `receipts/receipts.jsonl`. */
  readonly folder: string;
  /** Starts it again, after `stop` or `kill`, on the same ports and folder. */
  restart(): Promise<void>;
}

export interface CollectorOptions {
  /** Paths, merged in their order. The shipped `config.yaml` where none is given. */
  readonly configs?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Keeps its queues and receipts; exists. */
  readonly folder: string;
  /** A command line that the program's is appended to, such as `["setpriv", "--reuid=10001", …]`. */
  readonly through?: readonly string[];
}

export async function startCollector({ configs, env, folder, through = [] }: CollectorOptions): Promise<Collector> {
  const [grpc, http, receipts, metrics, health] = await freePorts(5);
  const [binary = "", ...args] = [...through, peerBinary("otelcol")];
  const start = (): Promise<Program> =>
    startProgram({
      name: "the Collector",
      binary,
      args: [...args, ...(configs ?? [join(CONFIGS, "config.yaml")]).map((path) => `--config=${path}`)],
      env: {
        TOOLSPAN_COLLECTOR_STATE: folder,
        TOOLSPAN_COLLECTOR_OTLP_GRPC: address(grpc),
        TOOLSPAN_COLLECTOR_OTLP_HTTP: address(http),
        TOOLSPAN_COLLECTOR_RECEIPTS_HTTP: address(receipts),
        TOOLSPAN_COLLECTOR_METRICS: address(metrics),
        TOOLSPAN_COLLECTOR_HEALTH: address(health),
        ...env,
      },
      readyUrl: `http://${address(health)}/`,
    });
  let program = await start();
  let former = "";
  return {
    otlpHttp: `http://${address(http)}`,
    otlpGrpc: address(grpc),
    receipts: `http://${address(receipts)}`,
    metrics: address(metrics),
    folder,
    get pid() {
      return program.pid;
    },
    logs: () => former + program.logs(),
    stop: () => program.stop(),
    kill: () => program.kill(),
    async restart() {
      former = (former + program.logs()).slice(-64 * 1024);
      program = await start();
    },
  };
}

export interface Jaeger extends Program {
  /** Of its pages and its API, without a slash at the end. */
  readonly url: string;
  /** Host and port for `TOOLSPAN_JAEGER_OTLP_GRPC`. */
  readonly otlpGrpc: string;
}

export async function startJaeger({ folder }: { readonly folder: string }): Promise<Jaeger> {
  const [otlp, http, grpc, health] = await freePorts(4);
  const program = await startProgram({
    name: "Jaeger",
    binary: peerBinary("jaeger"),
    args: [`--config=${join(CONFIGS, "jaeger.yaml")}`],
    env: {
      TOOLSPAN_JAEGER_STATE: folder,
      TOOLSPAN_JAEGER_OTLP_GRPC: address(otlp),
      TOOLSPAN_JAEGER_HTTP: address(http),
      TOOLSPAN_JAEGER_GRPC: address(grpc),
      TOOLSPAN_JAEGER_HEALTH: address(health),
    },
    readyUrl: `http://${address(http)}/api/services`,
  });
  return { ...program, url: `http://${address(http)}`, otlpGrpc: address(otlp) };
}

export interface Prometheus extends Program {
  /** Of its pages and its API, without a slash at the end. */
  readonly url: string;
  /** The configuration that it runs with. */
  readonly config: string;
}

export interface PrometheusOptions {
  /** Host and port of what is scraped, in place of the shipped configuration's. */
  readonly targets: readonly string[];
  /** Paths of rule files. */
  readonly rules?: readonly string[];
  /** Keeps its configuration and its data; exists. */
  readonly folder: string;
  /** Between two scrapes and two evaluations, milliseconds. */
  readonly intervalMs?: number;
}

/** Runs the shipped configuration with other targets, rule files and intervals. */
export async function startPrometheus(options: PrometheusOptions): Promise<Prometheus> {
  const { targets, rules = [], folder, intervalMs = 1000 } = options;
  const [http] = await freePorts(1);
  const shipped = parse(readFileSync(join(CONFIGS, "prometheus.yaml"), "utf8")) as {
    scrape_configs: Record<string, unknown>[];
  };
  const interval = `${intervalMs}ms`;
  const config = join(folder, "prometheus.yaml");
  const own = {
    ...shipped,
    global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
    rule_files: rules,
    scrape_configs: shipped.scrape_configs.map((job) => ({ ...job, static_configs: [{ targets }] })),
  };
  mkdirSync(join(folder, "data"), { recursive: true });
  writeFileSync(config, stringify(own));
  const program = await startProgram({
    name: "Prometheus",
    binary: peerBinary("prometheus"),
    args: [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=${address(http)}`,
      "--web.enable-lifecycle",
    ],
    readyUrl: `http://${address(http)}/-/ready`,
  });
  const url = `http://${address(http)}`;
  // Ready comes seconds before the first scrape.
  await until(`Prometheus has scraped ${targets.join(", ")}`, () => allScraped(url));
  return { ...program, url, config };
}

async function allScraped(url: string): Promise<true | undefined> {
  const response = await fetch(`${url}/api/v1/targets?state=active`);
  const { data } = (await response.json()) as { data: { activeTargets: { health: string }[] } };
  return data.activeTargets.length > 0 && data.activeTargets.every(({ health }) => health === "up") ? true : undefined;
}

/** The path of `promtool`. */
export function promtool(): string {
  return peerBinary("promtool");
}

function address(port: number | undefined): string {
  return `127.0.0.1:${port}`;
}

function freePorts(count: number): Promise<readonly number[]> {
  return Promise.all(Array.from({ length: count }, freePort));
}
