// Runs the real command, as a user would, and gives back all that it said.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { root } from "../support/workspace.ts";

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** Beside the environment of the tests, less what steers telemetry; undefined takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Words for Node itself. */
  readonly node?: readonly string[];
}

/** The command's own file, as npm links it. */
export const BIN: string = join(root, "packages/toolspan/bin/toolspan.js");

/** Runs `toolspan` with these words to its end. */
export function toolspan(words: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { env = {}, cwd = root, node = [] } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...node, BIN, ...words], {
      cwd,
      env: { ...cleanEnvironment(), ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => {
        said[name] += text;
      });
    }
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, ...said }));
  });
}

/** The environment without what a developer may have set to steer telemetry. */
export function cleanEnvironment(): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(OTEL_|TOOLSPAN_|NODE_OPTIONS$|NODE_V8_COVERAGE$|FORCE_COLOR$)/.test(name),
    ),
  );
}
