// The driver of a program under `programs/`: orders go in a line each, answers come back a line each.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { root } from "../support/workspace.ts";

export const CONVERSATIONS: string = join(root, "examples/airline/airline-gpt4o-28.jsonl");

export interface AgentProgram {
  readonly pid: number;
  /** Sends an order and waits for its answer. @throws Error with what the program wrote on stderr where it ends before. */
  ask<T>(order: unknown): Promise<T>;
  /** Lets it close everything and end by itself; its last answer. @throws Error where it ends with anything but 0. */
  end(): Promise<{ readonly complete: boolean; readonly lost: Readonly<Record<string, number>> }>;
  kill(): Promise<void>;
}

const running = new Set<ChildProcessWithoutNullStreams>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Starts a program of this folder with an environment of its own and waits for its first line. */
export async function startAgentProgram(
  name: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [CONVERSATIONS],
): Promise<AgentProgram> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "programs", name), ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, ...env },
  });
  running.add(child);
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaints += text;
  });
  const ended = once(child, "close").then(([code]) => {
    running.delete(child);
    return code as number | null;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const answer = async <T>(): Promise<T> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`${name} ended with ${await ended}\n${complaints}`);
    return JSON.parse(value) as T;
  };
  await answer();
  return {
    pid: child.pid ?? 0,
    ask<T>(order: unknown) {
      child.stdin.write(`${JSON.stringify(order)}\n`);
      return answer<T>();
    },
    async end() {
      child.stdin.end(`${JSON.stringify({ end: true })}\n`);
      const last = await answer<{ complete: boolean; lost: Record<string, number> }>();
      const code = await ended;
      if (code !== 0) throw new Error(`${name} ended with ${code}\n${complaints}`);
      return last;
    },
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
