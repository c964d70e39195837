/** Node's built-in modules, taken when needed, so that this package also loads where there are none. */

import type * as NodeFs from "node:fs";
import type * as NodePath from "node:path";

export interface FileSystem {
  readonly fs: typeof NodeFs;
  readonly path: typeof NodePath;
  readonly process: NodeJS.Process;
}

/** Undefined in a runtime without a file system. */
export function fileSystem(): FileSystem | undefined {
  const { process } = globalThis as { process?: NodeJS.Process };
  if (process?.getBuiltinModule === undefined) return undefined;
  const fs = process.getBuiltinModule("node:fs");
  const path = process.getBuiltinModule("node:path");
  return fs === undefined || path === undefined ? undefined : { fs, path, process };
}
