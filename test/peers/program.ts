// A real program as a child process: started, waited for until it answers, stopped by its id, its last words kept.
import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout } from "node:timers/promises";

export interface ProgramOptions {
  /** As failure messages name it. */
  readonly name: string;
  readonly binary: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Answers 2xx once the program is ready. */
  readonly readyUrl: string;
}

export interface Program {
  readonly pid: number;
  /** What it has printed last, at most 64 KiB. */
  logs(): string;
  /** SIGTERM; resolves with the exit code, null where it had to be killed after 20 s. */
  stop(): Promise<number | null>;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
}

const READY_MS = 60_000;
const STOP_MS = 20_000;
const KEPT = 64 * 1024;
const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Starts a program and waits until it is ready. @throws Error with its last words where it is not within a minute, or ends. */
export async function startProgram({ name, binary, args, env, cwd, readyUrl }: ProgramOptions): Promise<Program> {
  const child = spawn(binary, args, {
    cwd,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-KEPT);
    });
  }
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve(code));
  }).finally(() => running.delete(child));
  ended.catch(() => {});

  const program: Program = {
    pid: child.pid ?? 0,
    logs: () => said,
    async stop() {
      child.kill("SIGTERM");
      const late = new AbortController();
      const timer = setTimeout(STOP_MS, undefined, { signal: late.signal, ref: false }).then(
        () => child.kill("SIGKILL"),
        () => {},
      );
      const code = await ended;
      late.abort();
      await timer;
      return code;
    },
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
  try {
    await Promise.race([
      until(`${name} answers at ${readyUrl}`, () => answers(readyUrl), READY_MS),
      ended.then((code) => Promise.reject(new Error(`${name} ended with ${code}`))),
    ]);
  } catch (error) {
    await program.kill().catch(() => {});
    throw new Error(`${error instanceof Error ? error.message : String(error)}\n${said}`);
  }
  return program;
}

async function answers(url: string): Promise<true | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2000) });
    await response.arrayBuffer();
    return response.ok ? true : undefined;
  } catch {
    return undefined; // nobody listens yet
  }
}

/**
 * Asks again and again until there is an answer: the programs here have no event to wait for.
 *
 * @throws Error that names `what`, and the last error of `ask`, after `ms`.
 */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined> | T | undefined,
  ms = 30_000,
): Promise<T> {
  const deadline = performance.now() + ms;
  let last: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined) return answer;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline) {
      throw new Error(`not within ${ms} ms: ${what}${last === undefined ? "" : `; ${String(last)}`}`);
    }
    await setTimeout(50);
  }
}
