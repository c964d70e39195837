// Before the tests: the programs under `programs/` run the built packages, as users do, so these are brought up to date.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { root } from "../support/workspace.ts";

export function setup(): void {
  const { status, stdout } = spawnSync(join(root, "node_modules/.bin/tsc"), ["-b"], { cwd: root, encoding: "utf8" });
  if (status !== 0) throw new Error(`the packages do not build:\n${stdout}`);
}
