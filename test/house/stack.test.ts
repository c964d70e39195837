// The shipped stack as data: what may stand on the receipts' path, what would lose or widen something, and that it pins what is tested.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { root } from "../support/workspace.ts";

interface CollectorConfig {
  readonly extensions?: Readonly<Record<string, Settings | null>>;
  readonly receivers?: Readonly<Record<string, unknown>>;
  readonly processors?: Readonly<Record<string, unknown>>;
  readonly connectors?: Readonly<Record<string, unknown>>;
  readonly exporters?: Readonly<Record<string, Settings | null>>;
  readonly service: { readonly pipelines: Readonly<Record<string, Pipeline>> };
}

interface Settings {
  readonly fsync?: boolean;
  readonly rotation?: { readonly max_megabytes?: number; readonly max_backups?: number };
  readonly retry_on_failure?: { readonly max_elapsed_time?: number };
  readonly resource_constant_labels?: { readonly included: readonly string[] };
  readonly sending_queue?: { readonly storage?: string; readonly block_on_overflow?: boolean };
}

interface Pipeline {
  readonly receivers: readonly string[];
  readonly processors?: readonly string[];
  readonly exporters: readonly string[];
}

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly image: string;
        readonly ports?: readonly string[];
        readonly environment?: Readonly<Record<string, string | number>>;
        readonly healthcheck?: unknown;
        readonly volumes?: readonly string[];
        readonly command?: readonly string[];
      }
    >
  >;
}

const read = (path: string): string => readFileSync(join(root, path), "utf8");
const kind = (id: string): string => id.split("/")[0] ?? "";
const names = readdirSync(join(root, "collector")).filter((name) => /^config.*\.yaml$/.test(name));
const compose = parse(read("docker-compose.yml")) as Compose;

/** What is wrong with a Collector's configuration; `base` is the one that it is laid over. */
function faultsOf(config: CollectorConfig, base: CollectorConfig = config): readonly string[] {
  const pipelines = Object.entries(config.service.pipelines);
  const connectors = new Set(Object.keys({ ...base.connectors, ...config.connectors }));
  const onReceipts = pipelines.filter(
    ([name, { receivers }]) => /receipts/.test(name) || receivers.some((receiver) => receiver === "otlp/receipts"),
  );
  return [
    ...onReceipts.flatMap(([name, { processors = [] }]) =>
      processors.filter((id) => kind(id) !== "memory_limiter").map((id) => `${name}: ${id} may alter receipts`),
    ),
    ...onReceipts.flatMap(([name, { receivers, exporters }]) =>
      [...receivers, ...exporters].filter((id) => connectors.has(id)).map((id) => `${name}: ${id} is a connector`),
    ),
    ...onReceipts
      .filter(([, { receivers }]) => receivers.some((id) => id !== "otlp/receipts"))
      .map(([name]) => `${name}: other logs get in`),
    ...[...Object.keys(config.processors ?? {}), ...pipelines.flatMap(([, { processors = [] }]) => processors)]
      .filter((id) => kind(id) === "batch")
      .map((id) => `${id} loses what it has acknowledged`),
    ...Object.entries(config.exporters ?? {}).flatMap(([id, settings]) => exporterFaults(id, settings ?? {})),
  ];
}

function exporterFaults(id: string, { rotation, retry_on_failure, sending_queue }: Settings): readonly string[] {
  if (kind(id) === "prometheus") return [];
  if (kind(id) === "file") {
    if (!((rotation?.max_megabytes ?? 0) > 0)) return [`${id}: a restart empties a file without rotation`];
    return rotation?.max_backups === 0 ? [] : [`${id}: old files are deleted`];
  }
  return [
    ...(sending_queue?.storage === "file_storage/queue" ? [] : [`${id}: its queue is in memory`]),
    ...(sending_queue?.block_on_overflow === true ? [] : [`${id}: a full queue drops`]),
    ...(retry_on_failure?.max_elapsed_time === 0 ? [] : [`${id}: gives up`]),
  ];
}

const base = parse(read("collector/config.yaml")) as CollectorConfig;

describe("the Collector", () => {
  test("has a configuration and files to lay over it", () => {
    expect(names).toEqual([
      "config.forward.yaml",
      "config.langfuse.yaml",
      "config.replay.yaml",
      "config.scale.yaml",
      "config.yaml",
    ]);
  });

  test.each(names)("%s alters no receipt, holds no batch processor, and loses nothing", (name) => {
    expect(faultsOf(parse(read(`collector/${name}`)) as CollectorConfig, base)).toEqual([]);
  });

  test("keeps its queues on disk with fsync", () => {
    expect(base.extensions?.["file_storage/queue"]?.fsync).toBe(true);
  });

  test("is refused with a processor, a connector, another log or a batch on the receipts' path, and with a lossy exporter", () => {
    const spoilt = (change: (config: Record<string, never> & CollectorConfig) => void): readonly string[] => {
      const copy = structuredClone(base) as Record<string, never> & CollectorConfig;
      change(copy);
      return faultsOf(copy);
    };
    const receipts = (config: CollectorConfig): { processors: string[]; exporters: string[]; receivers: string[] } =>
      config.service.pipelines["logs/receipts"] as never;
    expect(spoilt((config) => receipts(config).processors.push("transform/tidy"))).toHaveLength(1);
    expect(
      spoilt((config) => {
        Object.assign(config, { connectors: { "count/receipts": {} } });
        receipts(config).exporters.push("count/receipts");
      }),
    ).toHaveLength(1);
    expect(spoilt((config) => receipts(config).receivers.push("otlp"))).toHaveLength(1);
    expect(spoilt((config) => Object.assign(config.processors ?? {}, { batch: null }))).toHaveLength(1);
    expect(spoilt((config) => Object.assign(config.exporters?.["file/receipts"] ?? {}, { rotation: {} }))).toHaveLength(
      1,
    );
    expect(
      spoilt((config) =>
        Object.assign(config.exporters?.["otlp_grpc/jaeger"] ?? {}, { sending_queue: {}, retry_on_failure: {} }),
      ),
    ).toHaveLength(3);
  });

  test("is extended, never changed, by what is laid over it", () => {
    const of = (config: CollectorConfig): readonly string[] => [
      ...(["extensions", "receivers", "processors", "exporters"] as const).flatMap((part) =>
        Object.keys(config[part] ?? {}).map((id) => `${part} ${id}`),
      ),
      ...Object.keys(config.service.pipelines),
    ];
    const all = names.flatMap((name) => of(parse(read(`collector/${name}`)) as CollectorConfig));
    expect(all.filter((id, at) => all.indexOf(id) !== at)).toEqual([]);
  });

  test("gives metrics no resource attribute but those that are named", () => {
    const included = base.exporters?.prometheus?.resource_constant_labels?.included;
    expect(included?.length).toBeGreaterThan(0);
    expect(included?.filter((name) => /[*?]/.test(name))).toEqual([]);
  });
});

test("Jaeger has no batch processor", () => {
  expect(parse(read("collector/jaeger.yaml")).processors).toBeUndefined();
});

describe("docker-compose.yml", () => {
  test("pins the versions that test/peers builds", () => {
    const pinned = (folder: string, module: string): string =>
      new RegExp(`^\\s*${module} v(\\S+)`, "m").exec(read(`test/peers/${folder}/go.mod`))?.[1] ?? "none";
    const image = (service: string): string | undefined => compose.services[service]?.image;
    const collector = pinned("collector", "go.opentelemetry.io/collector/otelcol");
    expect(image("collector")).toBe(`otel/opentelemetry-collector-contrib:${collector}`);
    expect(read("test/peers/collector/main.go")).toContain(`const version = "${collector}"`);
    const components = read("test/peers/collector/main.go").match(
      /"[^"]*(?:receiver|exporter|processor|extension|filestorage)"/g,
    );
    for (const path of components ?? []) {
      const module = path.slice(1, -1);
      if (/\/(receiver|exporter|processor|extension)$/.test(module)) continue;
      expect(pinned("collector", module), module).toBe(collector);
    }
    // Jaeger 2.13 is tagged v1.76.0 for Go, Prometheus 3.16 v0.316.0: their modules' numbers run beside the products'.
    const jaeger = /^1\.(\d+)\.(\d+)$/.exec(pinned("jaeger", "github.com/jaegertracing/jaeger"));
    expect(image("jaeger")).toBe(`jaegertracing/jaeger:2.${Number(jaeger?.[1]) - 63}.${jaeger?.[2]}`);
    const prometheus = /^0\.(\d)(\d\d)\.(\d+)$/.exec(pinned("prometheus", "github.com/prometheus/prometheus"));
    expect(image("prometheus")).toBe(
      `prom/prometheus:v${prometheus?.[1]}.${Number(prometheus?.[2])}.${prometheus?.[3]}`,
    );
  });

  test("names an exact version for every image", () => {
    for (const { image } of Object.values(compose.services)) expect(image).toMatch(/:v?\d+\.\d+\.\d+$/);
  });

  test("binds every port to the loopback address", () => {
    const ports = Object.values(compose.services).flatMap(({ ports = [] }) => ports);
    expect(ports.length).toBeGreaterThan(5);
    expect(ports.filter((port) => !/^127\.0\.0\.1:\d+:\d+$/.test(port))).toEqual([]);
  });

  test("asks for health inside a container only where its image has a shell", () => {
    const asked = Object.entries(compose.services).filter(([, { healthcheck }]) => healthcheck !== undefined);
    expect(asked.map(([name]) => name).sort()).toEqual(["clickhouse", "grafana", "jaeger", "kafka", "prometheus"]);
  });

  test("sets the variables that the configurations read, and no others", () => {
    const used = (files: readonly string[]): Set<string> =>
      new Set(files.flatMap((file) => [...read(file).matchAll(/\$\{env:(\w+)/g)].map(([, name]) => name ?? "")));
    const laid = names.filter((name) => name !== "config.replay.yaml").map((name) => `collector/${name}`);
    const optional = ["TOOLSPAN_COLLECTOR_MEMORY_MIB", "TOOLSPAN_CLICKHOUSE_USER", "TOOLSPAN_CLICKHOUSE_PASSWORD"];
    const set = (service: string): readonly string[] => Object.keys(compose.services[service]?.environment ?? {});
    expect([...set("collector"), ...optional].sort()).toEqual([...used(laid)].sort());
    expect([...set("jaeger")].sort()).toEqual([...used(["collector/jaeger.yaml"])].sort());
  });
});

test("every address of the shipped configurations is a loopback one unless a variable says otherwise", () => {
  for (const name of [...names, "jaeger.yaml"]) {
    const defaults = [...read(`collector/${name}`).matchAll(/:-([^}]*:\d+)\}/g)].map(([, address]) => address);
    expect(
      defaults.filter((address) => !/^(tcp:\/\/)?127\.0\.0\.1:\d+$/.test(address ?? "")),
      name,
    ).toEqual([]);
  }
});

test("collector/README.md explains every variable", () => {
  const page = read("collector/README.md");
  const used = new Set(
    [...names, "jaeger.yaml"].flatMap((name) =>
      [...read(`collector/${name}`).matchAll(/\$\{env:(\w+)/g)].map(([, variable]) => variable ?? ""),
    ),
  );
  expect([...used].filter((variable) => !page.includes(`\`${variable}\``))).toEqual([]);
});
