// Runs every example in a process of its own and ends with the counting line; an example is a folder with a main.mjs that asserts and exits.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

const here = import.meta.dirname;
let passed = 0;
let failed = 0;

for (const entry of readdirSync(here, { withFileTypes: true })) {
  const program = join(here, entry.name, "main.mjs");
  if (!entry.isDirectory() || !existsSync(program)) continue;
  const run = spawnSync(process.execPath, [program], { encoding: "utf8", timeout: 120_000 });
  if (run.status === 0) {
    passed += 1;
    console.log(`ok    examples/${entry.name}`);
  } else {
    failed += 1;
    console.log(`FAIL  examples/${entry.name} (exit ${run.status ?? run.signal})\n${run.stdout}${run.stderr}`);
  }
}

console.log(`${passed} passed, ${failed} failed, 0 skipped`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
