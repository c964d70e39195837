// The lock of an endpoint has one holder, whoever contends and whoever is killed while holding it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { build } from "../support/workspace.ts";
import { temporaryFolder } from "./parts.ts";

const CONTENDER = new URL("lock-contender.mjs", import.meta.url).pathname;

beforeAll(build);

test("six processes that contend, some of them killed at any moment, never hold it two at a time", {
  timeout: 120_000,
}, async () => {
  const folder = temporaryFolder();
  const file = join(temporaryFolder(), "owner");
  const said: string[] = [];
  const start = (times: number) => {
    const child = spawn(process.execPath, [CONTENDER, folder, file, String(times)]);
    child.stdout.setEncoding("utf8").on("data", (text: string) => said.push(...text.split("\n").filter(Boolean)));
    child.stderr.setEncoding("utf8").on("data", (text: string) => said.push(`stderr ${text}`));
    return { child, ended: once(child, "close") };
  };
  const steady = Array.from({ length: 4 }, () => start(60));
  for (let kills = 0; kills < 8; kills++) {
    const { child, ended } = start(100_000);
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await ended;
  }
  await Promise.all(steady.map(({ ended }) => ended));
  expect(said.filter((line) => line !== "held")).toEqual([]);
  expect(said.length).toBeGreaterThanOrEqual(240);
});
