/** Checks `state_folder` and `disk`: whether receipts and spans can be written, only by us, and for how long. */

import type { Stats } from "node:fs";
import { lstat, open, readdir, rm, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { systemProblem } from "../command-error.ts";
import { exists, oddJsonlFiles } from "../files/files.ts";
import { count, counted } from "../terminal/quantity.ts";
import { type Finding, type Patient, variable } from "./finding.ts";

const CHECK = "state_folder";
const OTHERS = 0o077;
/** Files whose rights are looked at, of each folder. */
const MAX_FILES = 10_000;
const MIB = 1024 * 1024;
const LITTLE_BYTES = 1024 * MIB;
const NOTHING_BYTES = 64 * MIB;

export async function checkStateFolder(patient: Patient): Promise<readonly Finding[]> {
  const { stateFolder } = patient;
  const findings = [...(await rightsOf(stateFolder)), ...(await signingKey(patient)), ...(await oddFiles(stateFolder))];
  const disk = await space(stateFolder);
  return [...(findings.length === 0 ? [sound(stateFolder, await exists(stateFolder))] : findings), disk];
}

function sound(folder: string, isThere: boolean): Finding {
  return isThere
    ? { check: CHECK, status: "ok", message: `${folder} can be written, by its owner alone` }
    : { check: CHECK, status: "ok", message: `${folder} is not there yet, and can be made` };
}

async function rightsOf(folder: string): Promise<readonly Finding[]> {
  if (!(await exists(folder))) return writable(await nearest(folder), folder);
  const open = await openToOthers([folder, join(folder, "spans"), join(folder, "receipts"), join(folder, "keys")]);
  const shared: readonly Finding[] =
    open.length === 0
      ? []
      : [
          {
            check: CHECK,
            status: "problem",
            message: `${counted(open.length, "path")} open to other users, first ${open[0]}; run chmod -R go-rwx ${folder}`,
          },
        ];
  return [...shared, ...(await writable(folder, folder))];
}

/** Files and folders that more than their owner can read or write, or that somebody else owns. */
async function openToOthers(folders: readonly string[]): Promise<readonly string[]> {
  const uid = process.getuid?.();
  const open: string[] = [];
  for (const folder of folders) {
    for (const path of [folder, ...(await entriesOf(folder))]) {
      const found = await lookAt(path);
      if (found === undefined || found.isSymbolicLink()) continue;
      const foreign = uid !== undefined && uid !== 0 && found.uid !== uid;
      if (process.platform !== "win32" && ((found.mode & OTHERS) !== 0 || foreign)) open.push(path);
    }
  }
  return [...new Set(open)];
}

async function entriesOf(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).slice(0, MAX_FILES).map((name) => join(folder, name));
  } catch {
    return []; // not there, or not ours to read: `writable` says so
  }
}

async function lookAt(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch {
    return undefined; // gone since, or never there
  }
}

/** Writes a file and takes it away again: nothing else proves that writing works. */
async function writable(folder: string, subject: string): Promise<readonly Finding[]> {
  const path = join(folder, `.doctor-${process.pid}-${Date.now()}`);
  try {
    const file = await open(path, "wx", 0o600);
    await file.close();
    await rm(path);
    return [];
  } catch (thrown) {
    const why = systemProblem(thrown) ?? "it cannot be written";
    return [{ check: CHECK, status: "problem", message: `${subject} cannot be written: ${why}` }];
  }
}

async function nearest(folder: string): Promise<string> {
  for (let at = folder; ; at = dirname(at)) if ((await exists(at)) || at === dirname(at)) return at;
}

/** A writer makes no such thing; readers pass it over. */
async function oddFiles(folder: string): Promise<readonly Finding[]> {
  const odd = [...(await oddJsonlFiles(join(folder, "spans"))), ...(await oddJsonlFiles(join(folder, "receipts")))];
  return odd.map(({ path, what }) => ({
    check: CHECK,
    status: "warning",
    message: `${path} is ${what}, not a file: nothing reads it; take it away`,
  }));
}

/** A key that others can read signs for others. */
async function signingKey(patient: Patient): Promise<readonly Finding[]> {
  const path = variable(patient, "TOOLSPAN_SIGNING_KEY");
  if (path === undefined) return [];
  const found = await lookAt(path);
  if (found === undefined)
    return [
      { check: CHECK, status: "problem", message: `the signing key ${path} is not there; run toolspan keys init` },
    ];
  if (process.platform === "win32" || (found.mode & OTHERS) === 0) return [];
  return [
    {
      check: CHECK,
      status: "problem",
      message: `the signing key ${path} is open to other users; run chmod 600 ${path}`,
    },
  ];
}

async function space(folder: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(await nearest(folder));
  const free = bavail * bsize;
  const message = `${count(Math.floor(free / MIB))} MiB free for ${folder}`;
  if (free < NOTHING_BYTES) return { check: "disk", status: "problem", message: `${message}: receipts will soon fail` };
  return { check: "disk", status: free < LITTLE_BYTES ? "warning" : "ok", message };
}
