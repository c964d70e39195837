// What a writer asks of the operating system, and in which order, against what it says meanwhile.
import { spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { stateFolder } from "./state-folder.ts";
import { readTrace, straceArgs, TRACED_ENV, type Traced } from "./traced-writer.ts";
import type { WriterOrders } from "./writer.ts";

export interface OrderFound {
  readonly claims: number;
  /** Claims since whose lines were written no sync has returned. */
  readonly early: readonly string[];
}

/** One call after the other: before each claim its line was written, and after that a sync of the log has returned. */
export function orderOfCalls(program: string): OrderFound {
  const root = stateFolder();
  const stateDir = join(root, "state");
  const said = join(root, "said");
  const log = join(stateDir, "receipts", "session_0.jsonl");
  const trace = join(root, "trace");
  const orders: WriterOrders = {
    stateDir,
    tag: "o",
    policy: "required",
    log: "session",
    sessions: 1,
    key: null,
    steps: [{ calls: 60 }, "close"],
  };
  const mouth = openSync(said, "wx");
  const args = [...straceArgs(trace, [log, said]), process.execPath, program, JSON.stringify(orders)];
  const ran = spawnSync("strace", args, {
    stdio: ["ignore", mouth, "inherit"],
    env: { ...process.env, ...TRACED_ENV },
  });
  closeSync(mouth);
  if (ran.status !== 0) throw new Error(`the writer ended with ${ran.status}`);
  let written = false;
  let synced = false;
  let claims = 0;
  const early: string[] = [];
  for (const { call, path, text, result } of readTrace(trace)) {
    if (path === log && call === "write") [written, synced] = [true, false];
    else if (path === log && call === "fdatasync" && result === 0) synced = written;
    else if (path === said && text.includes("claim")) {
      claims++;
      if (!synced) early.push(text);
      [written, synced] = [false, false];
    }
  }
  return { claims, early };
}

/** System calls on a descriptor that had failed before: after an error nobody knows what a second sync would be worth. */
export function askedAgain(trace: readonly Traced[]): readonly string[] {
  const dead = new Map<string, string>();
  const again: string[] = [];
  for (const { call, fd, path, text, injected } of trace) {
    if (fd === null) continue;
    const key = `${fd}<${path}>`;
    if (call === "close") dead.delete(key);
    else if (dead.has(key)) again.push(`${call}(${text}) after a failed ${dead.get(key)}`);
    // What a signal interrupted has not failed, and is asked again by Node itself.
    else if (injected !== null && injected !== "EINTR") dead.set(key, call);
  }
  return again;
}
