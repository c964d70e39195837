/** The Python that plays the outsider, and why there is none if there is none. */
import { spawnSync } from "node:child_process";

const python = process.env.TOOLSPAN_PYTHON ?? "python3";

/** Undefined when Python and its package `rfc8785` are there. */
export const whyNoPython: string | undefined = (() => {
  const { error, status, stderr } = spawnSync(python, ["-c", "import rfc8785"], { encoding: "utf8" });
  if (error !== undefined) return `${python} does not start`;
  return status === 0 ? undefined : `${python} has no rfc8785: ${stderr.trim().split("\n").at(-1)}`;
})();

/** Runs a script of this folder. */
export function runPython(script: string, args: readonly string[], input = "") {
  const path = new URL(script, import.meta.url).pathname;
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: "1" };
  return spawnSync(python, [path, ...args], { input, encoding: "utf8", env, maxBuffer: 2 ** 28 });
}
