// What this machine lets the suite do, found out by doing it once; what it does not let is a visible skip.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "vitest";
import { Ext4Disk, memoryDisk } from "./disks.ts";

/** Null when it can be done, else why not. */
export type Probe = () => string | null;

export const asRoot: Probe = () => (process.getuid?.() === 0 ? null : "only root can do this");

export const canTrace: Probe = once(() =>
  inFolder((folder) => {
    const inject = ["-f", "-o", join(folder, "trace"), "-e", "inject=write:error=EIO:when=1", "-P", "/dev/null"];
    const { status, error } = spawnSync("strace", [...inject, "true"], { stdio: "ignore" });
    return error === undefined && status === 0 ? null : "strace cannot inject faults here";
  }),
);

export const canMount: Probe = once(() =>
  inFolder((folder) => {
    try {
      memoryDisk(join(folder, "disk"), "64k").remove();
      return null;
    } catch {
      return "nothing can be mounted here";
    }
  }),
);

export const canCutPower: Probe = once(() =>
  inFolder((folder) => {
    try {
      const disk = new Ext4Disk(folder);
      try {
        disk.cutPower();
        disk.restart();
        return null;
      } finally {
        disk.remove();
      }
    } catch (error) {
      return `no ext4 image can be mounted and shut down here (${(error as Error).message.split("\n", 1)[0]})`;
    }
  }),
);

export function canRun(command: string): Probe {
  return once(() =>
    spawnSync(command, ["--version"], { stdio: "ignore" }).error ? `there is no ${command} here` : null,
  );
}

/** Skips the test, with the reason, where one of `probes` says no. */
export function skipUnless({ skip }: TestContext, ...probes: readonly Probe[]): void {
  for (const probe of probes) {
    const reason = probe();
    if (reason !== null) skip(reason);
  }
}

function once(probe: Probe): Probe {
  let found: string | null | undefined;
  return () => {
    if (found === undefined) found = probe();
    return found;
  };
}

function inFolder(probe: (folder: string) => string | null): string | null {
  const folder = mkdtempSync(join(tmpdir(), "toolspan-probe-"));
  try {
    return probe(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
