/** Node's built-in modules, taken when needed, so that this package also loads where there are none. */

import type * as NodeFs from "node:fs";
import type * as NodeHttp from "node:http";
import type * as NodeHttps from "node:https";
import type * as NodePath from "node:path";
import type * as NodeZlib from "node:zlib";
import { ToolspanError } from "@toolspan/core";

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

export interface Network {
  readonly http: typeof NodeHttp;
  readonly https: typeof NodeHttps;
  readonly zlib: typeof NodeZlib;
}

/** @throws TOOLSPAN_INVALID_OPTION where the runtime has no sockets of its own. */
export function neededNetwork(subject: string): Network {
  const found = network();
  if (found !== undefined) return found;
  throw new ToolspanError("TOOLSPAN_INVALID_OPTION", {
    subject,
    option: "runtime",
    expected: "one with a network",
    received: "one without node:http",
  });
}

function network(): Network | undefined {
  const { process } = globalThis as { process?: NodeJS.Process };
  if (process?.getBuiltinModule === undefined) return undefined;
  const http = process.getBuiltinModule("node:http");
  const https = process.getBuiltinModule("node:https");
  const zlib = process.getBuiltinModule("node:zlib");
  return http === undefined || https === undefined || zlib === undefined ? undefined : { http, https, zlib };
}
