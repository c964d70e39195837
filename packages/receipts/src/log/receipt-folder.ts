/** The folder that receipt logs lie in: made private, tried once when a sink is made, and asked for new names. */

import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  type Stats,
  statfsSync,
  statSync,
  unlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { diagnostics, ToolspanError, uuidv7 } from "@toolspan/core";
import { compressedName, fileNameOf, parseFileName } from "./file-name.ts";
import { createPrivate, writeAll } from "./private-file.ts";

export const RECEIPTS_FOLDER = "receipts";

const PRIVATE_FOLDER = 0o700;
const WRITABLE_BY_ALL = 0o002;
const STICKY = 0o1000;
const PROBE_BYTES = 4096;
const MAX_REMEMBERED = 65_536;

/** Magic numbers (statfs(2)) of file systems whose exclusive create, rename and sync are not those of a local disk. */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, "nfs"],
  [0x517b, "smb"],
  [0xff534d42, "cifs"],
  [0xfe534d42, "smb2"],
  [0x01021997, "9p"],
  [0x5346414f, "afs"],
  [0x00c36400, "ceph"],
  [0x0bd00bd0, "lustre"],
]);

export interface CreatedLog {
  readonly fd: number;
  readonly file: string;
  /** The log of the same stem with the next lower number. */
  readonly before: string | null;
  readonly number: number;
}

export class ReceiptFolder {
  /** Absolute, links resolved. */
  readonly path: string;
  readonly #root: string;
  #numbers: Map<string, number> | undefined;

  /**
   * Makes `<root>/receipts` where it is missing and tries to write there.
   *
   * @throws TOOLSPAN_RECEIPT_STORE when it is not a private folder of this user, or cannot be written and synced.
   */
  constructor(root: string) {
    this.#root = root;
    this.path = privateFolder(root, RECEIPTS_FOLDER);
    attempt(this.path, () => probe(this.path));
    warnOfNetwork(this.path);
  }

  /** Creates the next log of `stem`, exclusively; the folder as well where somebody has removed it. */
  create(stem: string): CreatedLog {
    try {
      return this.#create(stem);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    this.#numbers = undefined;
    const path = privateFolder(this.#root, RECEIPTS_FOLDER);
    if (path !== this.path) throw refused(this.path, "the folder that was there", `one at ${path}`);
    return this.#create(stem);
  }

  /** Numbers are not used again: a log of a lower number may be compressed, or removed on purpose, and others name it. */
  #create(stem: string): CreatedLog {
    const last = this.#lastKnown(stem);
    let before = last === 0 ? null : fileNameOf(stem, last);
    for (let number = last + 1; ; number++) {
      const file = fileNameOf(stem, number);
      const fd = existsSync(join(this.path, compressedName(file))) ? null : this.#tryCreate(file);
      if (fd !== null) {
        if (number > 1) this.#numbers?.set(stem, number);
        return { fd, file, before: this.#newest(stem, number, before), number };
      }
      before = file;
    }
  }

  /** Null where something has that name. */
  #tryCreate(file: string): number | null {
    try {
      return createPrivate(join(this.path, file));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return null;
      throw error;
    }
  }

  /** The log before `number`; the one that was last known may be gone: pruned, or it failed before anything was in it. */
  #newest(stem: string, number: number, before: string | null): string | null {
    if (before === null || existsSync(join(this.path, before))) return before;
    const numbers = readdirSync(this.path).flatMap((name) => {
      const parsed = parseFileName(name);
      return parsed?.stem === stem && parsed.number < number ? [parsed.number] : [];
    });
    return numbers.length === 0 ? null : fileNameOf(stem, Math.max(...numbers));
  }

  /** Highest number of `stem` when the folder was read, or taken since, 0 where trying finds it; those of other processes are found by trying. */
  #lastKnown(stem: string): number {
    if (this.#numbers !== undefined && this.#numbers.size > MAX_REMEMBERED) this.#numbers = undefined;
    this.#numbers ??= highestNumbers(readdirSync(this.path));
    return this.#numbers.get(stem) ?? 0;
  }
}

/** Of sessions with more than one log: a folder may hold very many that have one. */
function highestNumbers(names: readonly string[]): Map<string, number> {
  const numbers = new Map<string, number>();
  for (const name of names) {
    const parsed = parseFileName(name);
    if (parsed !== null && parsed.number > 1)
      numbers.set(parsed.stem, Math.max(parsed.number, numbers.get(parsed.stem) ?? 1));
  }
  return numbers;
}

/**
 * Makes `<root>/<name>` where it is missing, 0700, and checks what is there.
 *
 * @returns Its absolute path, links resolved.
 * @throws TOOLSPAN_RECEIPT_STORE when it is not a private folder of this user.
 */
export function privateFolder(root: string, name: string): string {
  return attempt(join(root, name), () => makeFolder(root, name));
}

function makeFolder(root: string, name: string): string {
  makePrivate(root);
  const real = realpathSync(root);
  checkFolder(dirname(real), statSync(dirname(real)), { sticky: true, own: false });
  checkFolder(real, statSync(real), { sticky: false, own: true });
  const path = join(real, name);
  makePrivate(path);
  const found = lstatSync(path);
  checkFolder(path, found, { sticky: false, own: true });
  if (process.platform !== "win32" && (found.mode & 0o777) !== PRIVATE_FOLDER) chmodSync(path, PRIVATE_FOLDER);
  return path;
}

/** Makes what is missing, 0700 whatever the umask. */
function makePrivate(path: string): void {
  if (existsSync(path)) return;
  makePrivate(dirname(path));
  try {
    mkdirSync(path, PRIVATE_FOLDER);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return; // another process was first
    throw error;
  }
  chmodSync(path, PRIVATE_FOLDER);
}

function checkFolder(path: string, found: Stats, allowed: { readonly sticky: boolean; readonly own: boolean }): void {
  if (!found.isDirectory()) throw refused(path, "a folder", kindOf(found));
  if (process.platform === "win32") return;
  const user = process.geteuid?.();
  if (allowed.own && user !== undefined && found.uid !== user) {
    throw refused(path, "a folder of this user", "one that belongs to somebody else");
  }
  const shared = (found.mode & WRITABLE_BY_ALL) !== 0;
  if (shared && !(allowed.sticky && (found.mode & STICKY) !== 0)) {
    throw refused(path, "a folder that not everybody may change", `mode ${(found.mode & 0o7777).toString(8)}`);
  }
}

/** Writes, syncs and removes a file: what a read-only or full file system refuses, it refuses now. */
function probe(folder: string): void {
  const path = join(folder, `.probe-${uuidv7()}`);
  const fd = createPrivate(path);
  try {
    writeAll(fd, Buffer.alloc(PROBE_BYTES, 0x20));
    fsyncSync(fd);
  } finally {
    closeSync(fd);
    unlinkSync(path);
  }
}

function warnOfNetwork(path: string): void {
  const kind = NETWORK_FILE_SYSTEMS.get(Number(statfsSync(path).type) >>> 0);
  if (kind === undefined) return;
  const advice = "set TOOLSPAN_STATE_DIR to a local disk";
  diagnostics.report(
    "receipts.local",
    "network_file_system",
    `${path} lies on ${kind}: durable is what it says; ${advice}`,
  );
}

function attempt<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (ToolspanError.is(error)) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? "an error";
    throw new ToolspanError(
      "TOOLSPAN_RECEIPT_STORE",
      { path, expected: "a folder that can be written and synced", received: code },
      { cause: error },
    );
  }
}

function refused(path: string, expected: string, received: string): ToolspanError {
  return new ToolspanError("TOOLSPAN_RECEIPT_STORE", { path, expected, received });
}

function kindOf(found: Stats): string {
  if (found.isSymbolicLink()) return "a link";
  if (found.isFIFO()) return "a fifo";
  return found.isFile() ? "a file" : "something else";
}
