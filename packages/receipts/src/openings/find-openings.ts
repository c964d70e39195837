/** Finds what opens the hashes of one receipt, among all that a state folder keeps. */

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { LoggedReceipt } from "../records/record.ts";
import { readLines } from "../verify/lines/read-lines.ts";
import { OPENINGS_FOLDER } from "./opening-folder.ts";
import { isOpeningLine, type OpenedField, type OpeningLine } from "./opening-line.ts";

/** An opening holds all that was hashed; what is longer than this is not read. */
const MAX_LINE_BYTES = 256 * 1024 * 1024;

/** One opening for each field of `receipt` that has one; none where they were never kept, or were erased. */
export async function findOpenings(root: string, receipt: LoggedReceipt): Promise<readonly OpeningLine[]> {
  const folder = join(root, OPENINGS_FOLDER);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  const needle = Buffer.from(JSON.stringify(receipt.dispatch_id));
  const found = new Map<OpenedField, OpeningLine>();
  for (const name of readdirSync(folder).sort()) {
    if (!name.endsWith(".jsonl")) continue;
    await readLines(
      join(folder, name),
      ({ bytes, overlong }) => {
        if (overlong || !bytes.includes(needle)) return;
        const opening = parsed(bytes);
        // Attempts may have had arguments of their own; the receipt names the last ones.
        if (opening !== null && belongsTo(opening, receipt)) found.set(opening.field, opening);
      },
      { maxBytes: MAX_LINE_BYTES },
    );
  }
  return [...found.values()].sort((a, b) => (a.field < b.field ? -1 : 1));
}

/** True when `opening` says that it opens the hash that stands in `receipt`. */
export function belongsTo(opening: OpeningLine, receipt: LoggedReceipt): boolean {
  return opening.dispatch_id === receipt.dispatch_id && opening.hash === receipt[opening.field];
}

function parsed(bytes: Buffer): OpeningLine | null {
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    return isOpeningLine(value) ? value : null;
  } catch {
    return null; // torn, or none of ours
  }
}
