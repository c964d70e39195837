// Programs in processes of their own, against the built packages: what exits, signals and missing packages really do.
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../..");

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** From start to end, milliseconds. */
  readonly ms: number;
}

export interface ChildOptions {
  readonly args?: readonly string[];
  readonly nodeArgs?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Called when the child has written a whole line. */
  readonly onLine?: (line: string, kill: (signal: NodeJS.Signals) => void) => void;
}

/** Brings the built packages up to date where there are sources; installed tarballs are what they are. */
export function buildPackages(): void {
  const compiler = join(root, "node_modules/.bin/tsc");
  if (existsSync(join(root, "packages/telemetry/tsconfig.json"))) {
    spawnSync(compiler, ["-b", join(root, "packages/telemetry")], { cwd: root, stdio: "inherit" });
  }
}

/** Runs `children/<name>` to its end. */
export function runChild(name: string, options: ChildOptions = {}): Promise<Ended> {
  return runFile(join(here, "children", name), options);
}

export function runFile(
  file: string,
  { args = [], nodeArgs = [], env = {}, cwd, onLine }: ChildOptions = {},
): Promise<Ended> {
  const started = performance.now();
  const child = spawn(process.execPath, [...nodeArgs, file, ...args], {
    cwd: cwd ?? dirname(file),
    env: { PATH: process.env.PATH ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  let seen = 0;
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    stdout += chunk;
    for (let end = stdout.indexOf("\n", seen); end !== -1; end = stdout.indexOf("\n", seen)) {
      onLine?.(stdout.slice(seen, end), (signal) => child.kill(signal));
      seen = end + 1;
    }
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk;
  });
  return new Promise((done, failed) => {
    child.on("error", failed);
    child.on("close", (code, signal) => done({ code, signal, stdout, stderr, ms: performance.now() - started }));
  });
}
