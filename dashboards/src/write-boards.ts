/** Writes every board into the folder that is given: `npm run dashboards`. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { boards, boardText } from "./boards.ts";

const folder = process.argv[2];
if (folder === undefined) throw new Error("write-boards: expected the folder for the boards as its argument");
mkdirSync(folder, { recursive: true });
for (const [file, board] of boards()) writeFileSync(join(folder, file), boardText(board));
