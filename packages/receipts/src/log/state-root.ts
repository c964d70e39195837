/** Where state lives: one folder per project unless the environment or an option names another. */

import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const STATE_FOLDER = ".toolspan";

/**
 * The state root: `explicit`, else `TOOLSPAN_STATE_DIR`, else `.toolspan` beside the nearest `package.json` upward, else in the working directory.
 *
 * @returns An absolute path; nothing is created.
 */
export function stateRoot(explicit?: string): string {
  const named = explicit ?? process.env.TOOLSPAN_STATE_DIR;
  if (named !== undefined && named !== "") return resolve(named);
  return join(projectRoot(process.cwd()), STATE_FOLDER);
}

function projectRoot(start: string): string {
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) return folder;
    if (dirname(folder) === folder) return start;
  }
}
