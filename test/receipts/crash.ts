// Programs of their own process, to be killed, to exit, or to run under another umask or user.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("./program.mjs", import.meta.url));
const root = fileURLToPath(new URL("../..", import.meta.url));

export interface Ran {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs one of the scenarios of `program.mjs`; `prefix` runs it through another command. */
export async function runProgram(args: readonly string[], prefix: readonly string[] = []): Promise<Ran> {
  const { child, ended } = startProgram(args, prefix);
  child.stdin?.end();
  return ended;
}

export function startProgram(
  args: readonly string[],
  prefix: readonly string[] = [],
): { readonly child: ChildProcess; readonly ended: Promise<Ran> } {
  const command = [...prefix, process.execPath, program, ...args];
  const child = spawn(command[0] as string, command.slice(1), { cwd: root, stdio: ["pipe", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    stderr += chunk;
  });
  const ended = once(child, "close").then(([code, signal]) => ({ code, signal, stdout, stderr }) as Ran);
  return { child, ended };
}

/** Resolves with what the program has said once it has said `count` lines. */
export async function linesFrom(child: ChildProcess, count: number): Promise<readonly string[]> {
  let text = "";
  for await (const chunk of child.stdout ?? []) {
    text += chunk;
    if (text.split("\n").length > count) return text.split("\n").slice(0, -1);
  }
  return text.split("\n").slice(0, -1);
}
