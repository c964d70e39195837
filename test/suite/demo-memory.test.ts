// The demo streams: how many runs there are does not show in its memory.
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { build } from "../support/workspace.ts";
import { toolspan } from "./command.ts";
import { recordedRuns } from "./transcripts.ts";

const RUNS = 2500;
const MAX_MB = 200;

const folder = mkdtempSync(join(tmpdir(), "toolspan-memory-"));
beforeAll(build);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("twenty-five hundred runs take less than 200 MB, with equal counts", { timeout: 300_000 }, async () => {
  const runs = join(folder, "runs.jsonl");
  const recorded = recordedRuns();
  const dispatches = Array.from({ length: RUNS }, (_, n) => {
    const run = recorded[n % recorded.length];
    appendFileSync(runs, `${JSON.stringify({ ...run, id: `run-${n}` })}\n`);
    return (run?.messages ?? []).reduce((sum, { tool_calls = [] }) => sum + tool_calls.length, 0);
  }).reduce((sum, calls) => sum + calls, 0);
  const peak = join(folder, "peak");
  const { code, stdout } = await toolspan(["demo", "--runs", runs, "--out", join(folder, "out"), "--json"], {
    node: ["--import", new URL("peak-memory.mjs", import.meta.url).pathname],
    env: { PEAK_MEMORY_FILE: peak },
  });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ runs: RUNS, dispatches, spans: dispatches, receipts: dispatches });
  expect(Number(readFileSync(peak, "utf8"))).toBeGreaterThan(40);
  expect(Number(readFileSync(peak, "utf8"))).toBeLessThan(MAX_MB);
});
