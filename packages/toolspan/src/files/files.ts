/** The files of a state folder: `spans/*.jsonl`, `receipts/*.jsonl`. */

import type { Stats } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** Paths of the JSONL files in a folder, sorted by name; none where there is no such folder. */
export async function jsonlFiles(folder: string): Promise<readonly string[]> {
  const names = await namesIn(folder);
  return names
    .filter((name) => name.endsWith(".jsonl"))
    .sort()
    .map((name) => join(folder, name));
}

/** True for a file that can be read more than once and has a size. */
export async function isRegularFile(path: string): Promise<boolean> {
  return (await statOf(path))?.isFile() === true;
}

export async function isFolder(path: string): Promise<boolean> {
  return (await statOf(path))?.isDirectory() === true;
}

/** Bytes of a regular file; 0 for pipes and devices, whose size nobody knows. */
export async function sizeOf(path: string): Promise<number> {
  const found = await statOf(path);
  return found?.isFile() === true ? found.size : 0;
}

export async function exists(path: string): Promise<boolean> {
  return (await statOf(path)) !== undefined;
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENOTDIR";
}
