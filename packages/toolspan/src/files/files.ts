/** The files of a state folder: `spans/*.jsonl`, `receipts/*.jsonl`. */

import type { Stats } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

export interface OddFile {
  readonly path: string;
  /** What it is in place of a file: `a folder`, `a pipe`, … */
  readonly what: string;
}

/** Paths of the JSONL files in a folder, sorted by name; none where there is no such folder. What only has the name of one is left out. */
export async function jsonlFiles(folder: string): Promise<readonly string[]> {
  return (await jsonlEntries(folder)).flatMap(({ path, what }) => (what === undefined ? [path] : []));
}

/** What has the name of a JSONL file and is none: reading it would fail, or never end. */
export async function oddJsonlFiles(folder: string): Promise<readonly OddFile[]> {
  return (await jsonlEntries(folder)).flatMap(({ path, what }) => (what === undefined ? [] : [{ path, what }]));
}

async function jsonlEntries(
  folder: string,
): Promise<readonly { readonly path: string; readonly what: string | undefined }[]> {
  const names = (await namesIn(folder)).filter((name) => name.endsWith(".jsonl")).sort();
  const paths = names.map((name) => join(folder, name));
  return Promise.all(paths.map(async (path) => ({ path, what: await oddityOf(path) })));
}

/** Undefined for a regular file, also behind a link. */
async function oddityOf(path: string): Promise<string | undefined> {
  let found: Stats;
  try {
    found = await stat(path);
  } catch {
    return "a link that leads nowhere, or gone by now";
  }
  if (found.isFile()) return undefined;
  if (found.isDirectory()) return "a folder";
  if (found.isFIFO()) return "a pipe";
  return found.isSocket() ? "a socket" : "a device";
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
