// Every shipped configuration before its own program, the compose file before Compose's own rules, and the Collector as the user that compose gives it.
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { peerBinary } from "../peers/build.mjs";
import { CONFIGS, startCollector, startJaeger } from "../peers/peers.ts";
import { until } from "../peers/program.ts";
import { root } from "../support/workspace.ts";
import { collectedReceipts, receiptFiles } from "./collected-receipts.ts";

const folder = mkdtempSync(join(tmpdir(), "toolspan-configs-"));
afterAll(() => rmSync(folder, { recursive: true }));

const run = (binary: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  spawnSync(binary, args, { encoding: "utf8", env: { PATH: process.env.PATH, ...env } });
const configs = (...names: readonly string[]): readonly string[] =>
  names.map((name) => `--config=${join(CONFIGS, name)}`);

const GIVEN = {
  TOOLSPAN_RECEIPTS_FORWARD_ENDPOINT: "http://127.0.0.1:9",
  LANGFUSE_BASE_URL: "http://127.0.0.1:9",
  TOOLSPAN_LANGFUSE_AUTH: "cGs6c2s=",
};
const OVER = ["config.forward.yaml", "config.langfuse.yaml", "config.scale.yaml"];

describe("the Collector", () => {
  test.each([[[]], ...OVER.map((name) => [[name]]), [OVER]])("accepts config.yaml with %j over it", (over) => {
    const { status, stderr } = run(peerBinary("otelcol"), ["validate", ...configs("config.yaml", ...over)], GIVEN);
    expect(stderr).toBe("");
    expect(status).toBe(0);
  });

  test("accepts what stands in the place of files that no profile asked for", () => {
    const nothing = join(folder, "nothing.yaml");
    writeFileSync(nothing, "{}\n");
    const { status, stderr } = run(peerBinary("otelcol"), [
      "validate",
      ...configs("config.yaml"),
      `--config=${nothing}`,
    ]);
    expect(stderr).toBe("");
    expect(status).toBe(0);
  });

  test("refuses a setting that does not exist", () => {
    const wrong = join(folder, "wrong.yaml");
    writeFileSync(wrong, "exporters:\n  file/receipts:\n    rotate: true\n");
    const { status } = run(peerBinary("otelcol"), ["validate", ...configs("config.yaml"), `--config=${wrong}`]);
    expect(status).toBe(1);
  });

  // The receiver of config.replay.yaml is in the contrib image alone: its text is held by the house tests.
  test("knows every component of its configurations but the one for the contrib image", () => {
    const { status, stderr } = run(peerBinary("otelcol"), [
      "validate",
      ...configs("config.yaml", "config.replay.yaml"),
    ]);
    expect(status).toBe(1);
    expect(stderr).toContain("otlpjsonfile");
  });

  test.skipIf(process.getuid?.() !== 0)(
    "starts as user 10001 in folders as compose makes them, and keeps them to itself",
    async () => {
      // What the service `init` does to a new volume.
      const state = join(folder, "state");
      for (const path of [state, join(state, "queue"), join(state, "receipts")]) {
        mkdirSync(path);
        chmodSync(path, path.endsWith("queue") ? 0o700 : 0o750);
        chownSync(path, 10001, 10001);
      }
      chmodSync(folder, 0o755);
      const collector = await startCollector({
        folder: state,
        through: [
          "setpriv",
          "--reuid=10001",
          "--regid=10001",
          "--clear-groups",
          "--inh-caps=-all",
          "--bounding-set=-all",
        ],
      });
      const body = JSON.stringify({ record: "receipt", chain: { log: "a", seq: 0, prev: null } });
      await sendLine(collector.receipts, body);
      expect(collectedReceipts(state).lines).toEqual(new Map([["a", [body]]]));
      expect(await collector.stop()).toBe(0);
      expect(statSync(join(state, "receipts/receipts.jsonl")).uid).toBe(10001);
      expect(statSync(join(state, "receipts")).mode & 0o777).toBe(0o750);
    },
  );

  test.skipIf(process.getuid?.() !== 0)("does not start as user 10001 in a folder that is root's", async () => {
    const state = join(folder, "roots");
    mkdirSync(state, { mode: 0o755 });
    chmodSync(folder, 0o755);
    const through = ["setpriv", "--reuid=10001", "--regid=10001", "--clear-groups"];
    await expect(startCollector({ folder: state, through })).rejects.toThrow(/permission denied/);
  });
});

test("Jaeger accepts and starts its configuration", async () => {
  const { status, stderr } = run(peerBinary("jaeger"), ["validate", ...configs("jaeger.yaml")]);
  expect(status, stderr).toBe(0);
  const wrong = join(folder, "wrong-jaeger.yaml");
  writeFileSync(wrong, "extensions:\n  jaeger_query:\n    storage:\n      trace: disk\n");
  expect(run(peerBinary("jaeger"), ["validate", ...configs("jaeger.yaml"), `--config=${wrong}`]).status).toBe(1);
  const state = join(folder, "jaeger");
  mkdirSync(state);
  const jaeger = await startJaeger({ folder: state });
  expect(await jaeger.stop()).toBe(0);
});

test("promtool accepts Prometheus's configuration", () => {
  const { status, stdout, stderr } = run(peerBinary("promtool"), ["check", "config", join(CONFIGS, "prometheus.yaml")]);
  expect(status, stdout + stderr).toBe(0);
});

test("what is laid over config.yaml with an address sends receipts on, byte for byte", async () => {
  const [near, far] = ["near", "far"].map((name) => {
    const path = join(folder, name);
    mkdirSync(path);
    return path;
  }) as [string, string];
  const second = await startCollector({ folder: far });
  const first = await startCollector({
    folder: near,
    configs: [join(CONFIGS, "config.yaml"), join(CONFIGS, "config.forward.yaml")],
    env: { TOOLSPAN_RECEIPTS_FORWARD_ENDPOINT: second.receipts },
  });
  try {
    const lines = Array.from({ length: 20 }, (_, seq) =>
      JSON.stringify({ record: "receipt", chain: { log: "a", seq, prev: null }, text: "ä\u2028<é>\u0001" }),
    );
    for (const line of lines) await sendLine(first.receipts, line);
    const arrived = await until("the second Collector has all lines", () => {
      const found = receiptFiles(far).length > 0 ? collectedReceipts(far).lines.get("a") : undefined;
      return found?.length === lines.length ? found : undefined;
    });
    expect(arrived).toEqual(lines);
    expect(collectedReceipts(near).lines.get("a")).toEqual(lines);
  } finally {
    await first.stop();
    await second.stop();
  }
});

async function sendLine(endpoint: string, line: string): Promise<void> {
  const logRecords = [{ eventName: "toolspan.tool_call.receipt", body: { stringValue: line } }];
  const sent = await fetch(`${endpoint}/v1/logs`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
  });
  expect(sent.status).toBe(200);
}

describe("Compose", () => {
  const file = join(root, "docker-compose.yml");
  const services = (...profiles: readonly string[]): readonly string[] => {
    const { status, stdout, stderr } = run(peerBinary("checks"), ["compose", file, ...profiles]);
    expect(status, stderr).toBe(0);
    return Object.keys((JSON.parse(stdout) as { services: object }).services).sort();
  };
  const always = ["collector", "grafana", "init", "jaeger", "prometheus"];

  test("accepts the file, with every profile and with none", () => {
    expect(services()).toEqual(always);
    expect(services("langfuse")).toEqual([...always, "langfuse"].sort());
    expect(services("forward")).toEqual([...always, "forward"].sort());
    expect(services("scale")).toEqual([...always, "clickhouse", "kafka", "scale"].sort());
    expect(services("langfuse", "forward", "scale")).toHaveLength(10);
  });

  test("refuses a service with a setting that does not exist", () => {
    const wrong = join(folder, "compose.yaml");
    writeFileSync(wrong, "services:\n  a:\n    image: x\n    portz: []\n");
    expect(run(peerBinary("checks"), ["compose", wrong]).status).toBe(1);
  });
});
