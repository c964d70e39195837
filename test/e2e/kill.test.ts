// The Collector dies twenty times, at random moments, while an agent works: neither a trace nor a receipt is missing afterwards.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BIN, cleanEnvironment, toolspan } from "../suite/command.ts";
import { startAgentProgram } from "./agent-program.ts";
import { collectedReceipts, localReceipts } from "./collected-receipts.ts";
import { wholeTrace } from "./jaeger-traces.ts";
import { fileSpans, spanFiles } from "./span-files.ts";
import { startWorkbench, type Workbench } from "./workbench.ts";

const KILLS = 20;
/** Kills come so far apart at most that the Collector is at every stage of its work, starting included. */
const MAX_PAUSE_MS = 900;

let bench: Workbench;
beforeAll(async () => {
  bench = await startWorkbench();
});
afterAll(() => bench?.close());

test(`neither a trace nor a receipt is lost to a Collector that is killed ${KILLS} times`, {
  timeout: 300_000,
}, async () => {
  const { collector, jaeger } = bench;
  const stateDir = bench.stateDir("airline");
  const env = bench.environmentFor("airline");
  const airline = await startAgentProgram("airline.mjs", env);
  const exporter = spawn(process.execPath, [BIN, "export", stateDir, "--follow", "--endpoint", collector.receipts], {
    env: { ...cleanEnvironment(), TOOLSPAN_STATE_DIR: stateDir },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let complaints = "";
  exporter.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaints += text;
  });
  const exporterEnded = once(exporter, "close");

  let killed = 0;
  let dispatches = 0;
  const killing = (async () => {
    for (; killed < KILLS; killed += 1) {
      await setTimeout(Math.random() * MAX_PAUSE_MS);
      await collector.kill();
      await collector.restart();
    }
  })();
  for (let round = 1; killed < KILLS; round += 1) {
    dispatches += (await airline.ask<{ dispatches: number }>({ play: { from: 0, to: 28, overMs: 2000, round } }))
      .dispatches;
  }
  await killing;
  const ended = await airline.end();
  exporter.kill("SIGTERM");
  await exporterEnded;
  expect(ended, collector.logs()).toEqual({ complete: true, lost: {} });

  // What the follower had not sent when it was stopped: a last call sends it, and says so with its exit code.
  const last = await toolspan(["export", stateDir, "--endpoint", collector.receipts]);
  expect(last, last.stderr + complaints).toMatchObject({ code: 0 });

  const local = localReceipts(stateDir);
  const { lines, duplicates } = collectedReceipts(collector.folder);
  expect([...local.values()].flat().filter((line) => line.includes('"record":"receipt"'))).toHaveLength(dispatches);
  for (const [log, expected] of local) expect(lines.get(log), log).toEqual(expected);

  const traces = new Map<string, number>();
  for (const { traceId } of spanFiles(stateDir).flatMap(fileSpans)) traces.set(traceId, (traces.get(traceId) ?? 0) + 1);
  for (const [id, spans] of traces) expect(await wholeTrace(jaeger.url, id, spans)).toHaveLength(spans);
  process.stdout.write(
    `${KILLS} kills: ${dispatches} tool calls, ${traces.size} traces, ${[...traces.values()].reduce((a, b) => a + b, 0)} spans, ` +
      `${[...local.values()].flat().length} receipt lines, ${duplicates} of them twice\n`,
  );
});
