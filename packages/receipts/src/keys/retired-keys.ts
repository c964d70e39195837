/** Private keys that a rotation has ended: kept while a log is open under them, then destroyed. */

import { closeSync, fsyncSync, ftruncateSync, openSync, readdirSync, statSync, unlinkSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { inspectOpening } from "../log/predecessor.ts";
import { syncFolder } from "../log/private-file.ts";
import { stateOf } from "../log/writer-identity.ts";
import { readSigningKey } from "./signing-key.ts";

export interface RetiredKeys {
  /** Verifier keys whose private half is gone from the disk. */
  readonly destroyed: readonly string[];
  /** Those that are still there, with the logs that are open under each. */
  readonly kept: readonly { readonly verifierKey: string; readonly logs: readonly string[] }[];
}

/** Where the key `id` of `path` waits for the end of its logs. */
export function retiredPath(path: string, id: string): string {
  return `${path}.retired-${id}`;
}

/** Destroys the retired keys of `path` under which no log of `folder` is open; all of them with `force`. */
export function destroyRetiredKeys(path: string, folder: string, force: boolean): RetiredKeys {
  const destroyed: string[] = [];
  const kept: { verifierKey: string; logs: readonly string[] }[] = [];
  for (const file of retiredFiles(path)) {
    const verifierKey = readSigningKey(file).verifier.text;
    const logs = force ? [] : openLogsUnder(verifierKey, folder);
    if (logs.length > 0) kept.push({ verifierKey, logs });
    else if (destroy(file)) destroyed.push(verifierKey);
  }
  return { destroyed, kept };
}

function retiredFiles(path: string): readonly string[] {
  const start = `${basename(path)}.retired-`;
  const names = readdirSync(dirname(path)).filter(
    (name) => name.startsWith(start) && /^[0-9a-f]{8}$/.test(name.slice(start.length)),
  );
  return names.map((name) => join(dirname(path), name));
}

/** Logs without a closing line whose writer may still run. */
function openLogsUnder(verifierKey: string, folder: string): readonly string[] {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(folder).filter((name) => {
    if (!name.endsWith(".jsonl")) return false;
    const opening = inspectOpening(folder, name);
    return opening?.open === true && opening.verifierKey === verifierKey && stateOf(opening.writer) !== "gone";
  });
}

/** Overwrites and removes a file. On copying file systems and flash the old blocks may outlive that. */
function destroy(path: string): boolean {
  try {
    const fd = openSync(path, "r+");
    try {
      const { size } = statSync(path);
      writeSync(fd, Buffer.alloc(size), 0, size, 0);
      fsyncSync(fd);
      ftruncateSync(fd, 0);
    } finally {
      closeSync(fd);
    }
    unlinkSync(path);
    syncFolder(dirname(path));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false; // another process was first
    throw error;
  }
}
