/** `eraseSubject`: destroys what opens a subject's commitments, and says so in the log. */

import {
  closeSync,
  constants,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
} from "node:fs";
import { join } from "node:path";
import { kindOf, type ToolspanError, uuidv7 } from "@toolspan/core";
import type { Signer } from "../keys/signer.ts";
import { signerOf } from "../keys/signer-of.ts";
import { LocalOutlet } from "../log/local-outlet.ts";
import { syncFolder } from "../log/private-file.ts";
import { openRegularFile } from "../log/read-small-file.ts";
import { DEFAULT_LIMITS } from "../log/segment-limits.ts";
import { stateRoot } from "../log/state-root.ts";
import { invalidOption, stateDirOf } from "../options.ts";
import { OpeningFolder } from "./opening-folder.ts";
import { countOpenings } from "./opening-line.ts";

export interface EraseOptions {
  /** State root; default `TOOLSPAN_STATE_DIR`, else `.toolspan` under the project root. */
  readonly stateDir?: string;
  /** Stands in the log; it should not name the subject. */
  readonly reason?: string;
}

export interface Erased {
  /** How many openings are gone; 0 where there were none, and then nothing was written. */
  readonly openings: number;
  /** Where the `erasure` line stands: `file://…#<log>:<seq>`; null when nothing was written. */
  readonly line: string | null;
}

/**
 * Destroys the openings of one subject, and logs an `erasure` line that counts them.
 *
 * The subject's hashes then say nothing: they cannot be opened, guessed or compared. Lines, chain and heads stay as they are. The line names neither subject nor dispatches. What is kept in backups, and what a disk keeps of deleted blocks, is not reached.
 * Interrupted, it is finished by calling it again; then the line may stand twice.
 *
 * @param subject As the `subject` of `withAuditLog` names it; a session id where that was not given.
 * The line is signed where `TOOLSPAN_SIGNING_KEY` names a key, as the logs of the folder are.
 *
 * @throws TOOLSPAN_RECEIPT_STORE or the system's error when a file cannot be destroyed or the line not written; TOOLSPAN_SIGNING_KEY, before anything is destroyed, for a key that cannot be used; TOOLSPAN_INVALID_OPTION for a bad subject or option.
 */
export async function eraseSubject(subject: string, options: EraseOptions = {}): Promise<Erased> {
  const { reason, stateDir } = options;
  if (typeof subject !== "string") throw invalid("subject", kindOf(subject));
  if (reason !== undefined && typeof reason !== "string") throw invalid("reason", kindOf(reason));
  const root = stateRoot(stateDirOf("eraseSubject", stateDir));
  const folder = OpeningFolder.find(root);
  if (folder === null) return { openings: 0, line: null };
  const signer = signerOf(undefined); // a key that is of no use is said before anything is gone
  const doomed = emptied(folder, folder.pseudonym(subject));
  if (doomed.length === 0) return { openings: 0, line: null };
  const openings = doomed.reduce((sum, { count }) => sum + count, 0);
  const line = await writeErasure(root, signer, openings, reason ?? null);
  for (const { path } of doomed) unlinkSync(path);
  syncFolder(folder.path);
  return { openings, line };
}

interface Emptied {
  readonly path: string;
  readonly count: number;
}

/** Takes the subject's file away under a name that holds its count, and empties it, with what an interrupted erasure left. */
function emptied(folder: OpeningFolder, pseudonym: string): readonly Emptied[] {
  const count = countIn(folder.file(pseudonym));
  if (count !== null) renameSync(folder.file(pseudonym), join(folder.path, `${pseudonym}.${count}.${uuidv7()}.erased`));
  const found = readdirSync(folder.path).flatMap((name) => {
    const [owner, counted, , ending] = name.split(".");
    return owner === pseudonym && ending === "erased"
      ? [{ path: join(folder.path, name), count: Number(counted) }]
      : [];
  });
  for (const { path } of found) empty(path);
  if (found.length > 0) syncFolder(folder.path);
  return found;
}

function countIn(path: string): number | null {
  let fd: number;
  try {
    fd = openRegularFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  try {
    return countOpenings(readFileSync(fd, "utf8"));
  } finally {
    closeSync(fd);
  }
}

function empty(path: string): void {
  // Never through a link: what it leads to is none of the subject's.
  const fd = openSync(path, constants.O_RDWR | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  try {
    ftruncateSync(fd);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

async function writeErasure(
  root: string,
  signer: Signer | null,
  openings: number,
  reason: string | null,
): Promise<string> {
  const outlet = new LocalOutlet({
    stateDir: root,
    scope: "process",
    addresses: "absolute",
    layers: "compact",
    limits: DEFAULT_LIMITS,
    signer,
  });
  try {
    return await outlet.erasure(openings, reason);
  } finally {
    await outlet.close();
  }
}

function invalid(option: string, received: string): ToolspanError {
  return invalidOption("eraseSubject", option, "a string", received);
}
