/** Replacing a small file whole, so that readers and power cuts meet the old one or the new one. */

import { closeSync, fsyncSync, renameSync } from "node:fs";
import { join } from "node:path";
import { uuidv7 } from "@toolspan/core";
import { createPrivate, syncFolder, writeAll } from "../log/private-file.ts";

/** Puts `text` in the place of `<folder>/<name>`, durably. */
export function replaceFile(folder: string, name: string, text: string): void {
  const next = join(folder, `${name}.${uuidv7()}.next`);
  const fd = createPrivate(next);
  try {
    writeAll(fd, Buffer.from(text));
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(next, join(folder, name));
  syncFolder(folder);
}
