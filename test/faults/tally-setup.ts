// Begins the tally before the first test, and prints it after the last one.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { FULL } from "./scale.ts";
import { sumOf } from "./tally.ts";

export function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "toolspan-tally-"));
  const path = join(folder, "tally.jsonl");
  writeFileSync(path, "");
  project.provide("tally", path);
  return () => {
    const { runs, claims, falseClaims, lost, effects, effectsUnseen } = sumOf(path);
    rmSync(folder, { recursive: true });
    const lines = [
      `faults, ${FULL ? "the whole" : "the usual part (FAULTS=full for the whole)"}`,
      `runs ${runs}`,
      `claims checked ${claims}`,
      `false claims ${falseClaims}`,
      `lost durable receipts ${lost}`,
      `started effects ${effects}, without a trace ${effectsUnseen}`,
    ];
    process.stdout.write(`\n${lines.join("\n")}\n`);
  };
}
