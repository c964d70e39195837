/** Where this project keeps its files on disk. */

import type { FileSystem } from "./built-ins.ts";
import { type Environment, readText } from "./start/environment.ts";

/** `TOOLSPAN_STATE_DIR`, else `.toolspan` under the project root: the nearest `package.json` upward, else the working directory. */
export function stateRoot({ fs, path, process }: FileSystem, env: Environment): string {
  const given = readText(env, "TOOLSPAN_STATE_DIR");
  if (given !== undefined) return path.resolve(given);
  const start = process.cwd();
  for (let folder = start; ; folder = path.dirname(folder)) {
    if (fs.existsSync(path.join(folder, "package.json"))) return path.join(folder, ".toolspan");
    if (folder === path.dirname(folder)) return path.join(start, ".toolspan");
  }
}
