// Runs a writer under strace: which of its system calls on receipt files fail, and what it did, in order.
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

/** System calls that a writer makes on the files of a log, by the names that they have on some machine. */
export const CALLS = {
  openat: "openat",
  write: "write",
  fdatasync: "fdatasync",
  fsync: "fsync",
  rename: "?rename,?renameat,?renameat2",
} as const;

export type Call = keyof typeof CALLS;
export type Fault = "EIO" | "ENOSPC" | "EDQUOT" | "EINTR" | "KILL";

export interface Injection {
  readonly call: Call;
  /** The how-manieth of them, 1-based, of each thread. */
  readonly position: number;
  readonly fault: Fault;
}

/** Of each thread, and so that there are only two of them that write: the counts say something. */
export const TRACED_ENV: NodeJS.ProcessEnv = { UV_THREADPOOL_SIZE: "1", UV_USE_IO_URING: "0" };

/** @param paths Absolute, without links; other files do not count. */
export function straceArgs(output: string, paths: readonly string[], injection?: Injection): readonly string[] {
  const args = ["-f", "-y", "-s", "200", "-o", output, ...paths.flatMap((path) => ["-P", path])];
  args.push("-e", `trace=${Object.values(CALLS).join(",")},close`);
  if (injection === undefined) return args;
  const { call, position, fault } = injection;
  const what = fault === "KILL" ? "signal=KILL" : `error=${fault}`;
  return [...args, "-e", `inject=${CALLS[call]}:${what}:when=${position}`];
}

/** Attaches to a process that runs already; strace ends with it. */
export async function attachStrace(pid: number, args: readonly string[]): Promise<void> {
  const strace = spawn("strace", [...args, "-p", String(pid)], { stdio: ["ignore", "ignore", "pipe"] });
  let heard = "";
  for await (const text of strace.stderr.setEncoding("utf8")) {
    heard += text;
    if (heard.includes("attached")) break;
  }
  if (!heard.includes("attached")) throw new Error(`strace did not attach: ${heard}`);
}

/** A system call that returned, in the order of their returns. */
export interface Traced {
  readonly call: string;
  readonly fd: number | null;
  /** The file of the descriptor, or the first path. */
  readonly path: string;
  readonly text: string;
  readonly result: number;
  /** The error that was injected. */
  readonly injected: string | null;
}

/** Reads what strace wrote; calls that never returned are not there. */
export function readTrace(output: string): readonly Traced[] {
  if (!existsSync(output)) return [];
  const begun = new Map<string, string>();
  return readFileSync(output, "utf8")
    .split("\n")
    .flatMap((line) => {
      const [, thread = "", rest = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
      const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest);
      if (rest.endsWith("<unfinished ...>")) {
        begun.set(thread, rest.slice(0, -"<unfinished ...>".length));
        return [];
      }
      const whole = resumed === null ? rest : (begun.get(thread) ?? "") + resumed[1];
      const parsed = /^(\w+)\((.*)\) += (-?\d+|\?)[^ ]* ?(\w*)/.exec(whole);
      if (parsed === null) return [];
      const [, call = "", text = "", result = "", error = ""] = parsed;
      const [, fd, path] = /^(\d+)<([^>]*)>/.exec(text) ?? [undefined, null, /"([^"]*)"/.exec(text)?.[1]];
      const injected = whole.includes("(INJECTED)") ? error : null;
      return [{ call, fd: fd === null ? null : Number(fd), path: path ?? "", text, result: Number(result), injected }];
    });
}
