/** What a path stands for: one log, a state root, or a folder of logs. */

import { existsSync, lstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isLogName, parseFileName } from "../../log/file-name.ts";
import { logOfHeadFile } from "../../log/head-files.ts";
import { RECEIPTS_FOLDER } from "../../log/receipt-folder.ts";
import type { Findings } from "../findings.ts";
import { wordOf } from "../lines/word-of.ts";

export const SPANS_FOLDER = "spans";
const LINES = ".jsonl";

/** A file of spans, as long as it was before any log was looked at. */
export interface SpanFile {
  readonly name: string;
  readonly bytes: number;
}

/**
 * What is looked at.
 *
 * A writer may be at work meanwhile. A receipt lies in its log before its span is written, and a log before its heads, so spans and heads are listed first: whatever they name has to be in logs that are listed and read after them.
 */
export interface Scope {
  /** Where the logs lie. */
  readonly folder: string;
  /** Names of logs that are verified. */
  readonly files: readonly string[];
  /** Names of logs whose claims count. */
  readonly known: readonly string[];
  /** Prefix of names in findings. */
  readonly prefix: string;
  readonly spans: readonly SpanFile[];
  /** Names of files of heads. */
  readonly heads: readonly string[];
  readonly root: string | null;
}

/** Looks at `path`; null, and a finding, where nothing can be looked at. */
export function scopeOf(path: string, findings: Findings): Scope | null {
  try {
    if (!statSync(path).isDirectory()) return scopeOfFile(linkTarget(path));
    const scope = scopeOfFolder(path);
    if (scope.files.length === 0)
      findings.add("EMPTY", scope.prefix === "" ? path : RECEIPTS_FOLDER, null, "there is no receipt log here");
    return scope;
  } catch (error) {
    findings.add("UNREADABLE", path, null, wordOf(error));
    return null;
  }
}

/** A link that somebody names is followed; one that lies among logs is none. */
export function linkTarget(path: string): string {
  return lstatSync(path).isSymbolicLink() ? realpathSync(path) : path;
}

function scopeOfFile(path: string): Scope {
  const folder = dirname(path);
  const file = basename(path);
  const stem = parseFileName(file)?.stem;
  const siblings = readdirSync(folder).filter((name) => stem !== undefined && parseFileName(name)?.stem === stem);
  return {
    folder,
    files: [file],
    known: siblings.includes(file) ? siblings : [file],
    prefix: "",
    spans: [],
    heads: [],
    root: null,
  };
}

function scopeOfFolder(root: string): Scope {
  const inside = existsSync(join(root, RECEIPTS_FOLDER));
  const spansThere = existsSync(join(root, SPANS_FOLDER));
  const folder = inside ? join(root, RECEIPTS_FOLDER) : root;
  const spans = spansThere ? spansIn(join(root, SPANS_FOLDER)) : [];
  const heads = readdirSync(folder).filter((name) => logOfHeadFile(name) !== null);
  const files = inside || !spansThere ? readdirSync(folder).filter(isLogName).sort() : [];
  return { folder, files, known: files, prefix: inside ? `${RECEIPTS_FOLDER}/` : "", spans, heads, root };
}

function spansIn(folder: string): readonly SpanFile[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(LINES));
  return names.sort().map((name) => {
    const found = statSync(join(folder, name), { throwIfNoEntry: false });
    return { name, bytes: found?.size ?? 0 };
  });
}
