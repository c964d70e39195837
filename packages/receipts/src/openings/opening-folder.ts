/** The folder that openings lie in: private, with the key that turns subjects into pseudonyms. */

import { createHmac, randomBytes } from "node:crypto";
import { closeSync, existsSync, fsyncSync, linkSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { ToolspanError, uuidv7 } from "@toolspan/core";
import { createPrivate, syncFolder, writeAll } from "../log/private-file.ts";
import { readSmallFile, type SmallFile } from "../log/read-small-file.ts";
import { privateFolder } from "../log/receipt-folder.ts";

export const OPENINGS_FOLDER = "openings";

const KEY_FILE = "subjects.key";
const KEY_BYTES = 32;
const LABEL = "toolspan.subject/v1\0";
const ENDING = ".jsonl";
const OTHERS = 0o077;

export class OpeningFolder {
  /** Absolute, links resolved. */
  readonly path: string;
  readonly #key: Buffer;

  private constructor(path: string, key: Buffer) {
    this.path = path;
    this.#key = key;
  }

  /**
   * Makes `<root>/openings` and its key where they are missing.
   *
   * @throws TOOLSPAN_RECEIPT_STORE when folder or key are not private, or of no use.
   */
  static make(root: string): OpeningFolder {
    const path = privateFolder(root, OPENINGS_FOLDER);
    return new OpeningFolder(path, readKey(path) ?? createKey(path));
  }

  /** The folder as it is; null where no opening was ever kept. */
  static find(root: string): OpeningFolder | null {
    if (!existsSync(join(root, OPENINGS_FOLDER))) return null;
    const path = privateFolder(root, OPENINGS_FOLDER);
    const key = readKey(path);
    return key === null ? null : new OpeningFolder(path, key);
  }

  /** Name of the subject's file without its ending: HMAC-SHA-256 of the subject, so that names alone give nobody away. */
  pseudonym(subject: string): string {
    return createHmac("sha256", this.#key).update(LABEL).update(subject).digest("hex");
  }

  /** Path of the file of `pseudonym`. */
  file(pseudonym: string): string {
    return join(this.path, pseudonym + ENDING);
  }
}

/** Written under another name and linked into place by whoever is first, so that nobody reads half a key. */
function createKey(folder: string): Buffer {
  const path = join(folder, KEY_FILE);
  const own = join(folder, `.key-${uuidv7()}`);
  const key = randomBytes(KEY_BYTES);
  const fd = createPrivate(own);
  try {
    writeAll(fd, key);
    fsyncSync(fd);
    linkSync(own, path);
  } catch (error) {
    const found = (error as NodeJS.ErrnoException).code === "EEXIST" ? readKey(folder) : null;
    if (found !== null) return found;
    throw error;
  } finally {
    closeSync(fd);
    unlinkSync(own);
  }
  syncFolder(folder);
  return key;
}

function readKey(folder: string): Buffer | null {
  const path = join(folder, KEY_FILE);
  let file: SmallFile;
  try {
    file = readSmallFile(path, KEY_BYTES);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  const { bytes: key, stats } = file;
  if (process.platform !== "win32" && (stats.mode & OTHERS) !== 0) {
    throw refused(path, "a key that only its user may read", `mode ${(stats.mode & 0o777).toString(8)}`);
  }
  if (key.length !== KEY_BYTES) throw refused(path, `a key of ${KEY_BYTES} bytes`, `${key.length} bytes`);
  return key;
}

function refused(path: string, expected: string, received: string): ToolspanError {
  return new ToolspanError("TOOLSPAN_RECEIPT_STORE", { path, expected, received });
}
