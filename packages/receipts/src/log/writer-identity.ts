/** Who writes a log, and whether such a writer still runs. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { createClock, toRfc3339 } from "@toolspan/core";
import type { Writer } from "../records/segment-open.ts";

/** How far two readings of one process's start may lie apart: clocks are stepped, ticks are coarse. */
const SAME_START_SECONDS = 30;

let own: Writer | undefined;

/** This process. */
export function thisWriter(): Writer {
  own ??= { host: hostDigest(), boot: bootId(), pid: process.pid, started_at: processStart() };
  return own;
}

/** Whether `writer`'s process still runs; "unknown" when it ran on another host or nobody can tell. */
export function stateOf(writer: Writer): "running" | "gone" | "unknown" {
  const self = thisWriter();
  if (writer.host !== self.host || writer.boot === null || self.boot === null) return "unknown";
  if (writer.boot !== self.boot) return "gone";
  if (!exists(writer.pid)) return "gone";
  const started = startOf(writer.pid);
  if (started === null) return "running";
  // The number may have been given to another process since.
  return Math.abs(started - Date.parse(writer.started_at) / 1000) <= SAME_START_SECONDS ? "running" : "gone";
}

function hostDigest(): string {
  return `sha256:${createHash("sha256").update(`toolspan/host\0${hostname()}`).digest("hex")}`;
}

function bootId(): string | null {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return null; // not Linux
  }
}

function processStart(): string {
  // Not `performance.timeOrigin`, which a worker thread counts from its own start.
  const milliseconds = Math.floor(Date.now() - process.uptime() * 1000);
  return `${new Date(milliseconds).toISOString().slice(0, 23)}000000Z`;
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Unix seconds at which process `pid` started; null where /proc does not say. */
function startOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may hold anything, so fields count from its end; clock ticks are 100 a second on Linux.
    const ticks = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
    const boot = /^btime (\d+)$/m.exec(readFileSync("/proc/stat", "utf8"))?.[1];
    return boot === undefined || !Number.isFinite(ticks) ? null : Number(boot) + ticks / 100;
  } catch {
    return null;
  }
}

/** RFC 3339 of now, nine decimals. */
export function nowText(): string {
  const clock = createClock();
  return toRfc3339(clock, clock.now());
}
