// The repository as data: its packages, their manifests and their source files, for the tests of the house.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "vite";
import { command } from "./packed.mjs";

export const root: string = resolve(dirname(fileURLToPath(import.meta.url)), "../..");

/** One entry of an `exports` map, as this repository writes it. */
export interface ExportTarget {
  readonly "@toolspan/source": string;
  readonly types: string;
  readonly default: string;
}

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly bin?: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, ExportTarget | string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

export interface Workspace {
  /** Folder under `packages/`. */
  readonly folder: string;
  readonly path: string;
  readonly manifest: Manifest;
}

/** Every package of the repository, by folder name. */
export const workspaces: readonly Workspace[] = readdirSync(join(root, "packages"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => {
    const path = join(root, "packages", entry.name);
    return { folder: entry.name, path, manifest: readManifest(path) };
  })
  .sort((a, b) => (a.folder < b.folder ? -1 : 1));

/** The public entries of a package: subpath, specifier and targets; `./package.json` is not one. */
export function entriesOf({ manifest }: Workspace): readonly { specifier: string; target: ExportTarget }[] {
  return Object.entries(manifest.exports).flatMap(([subpath, target]) =>
    typeof target === "string" ? [] : [{ specifier: join(manifest.name, subpath), target }],
  );
}

/** Absolute paths of all files below a folder, sorted. */
export function filesBelow(folder: string, skip: readonly string[] = []): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => {
      if (skip.includes(entry.name)) return [];
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return filesBelow(path, skip);
      return entry.isFile() ? [path] : [];
    })
    .sort();
}

export type ParsedFile = ReturnType<typeof parseSync>;

const parsedFiles = new Map<string, ParsedFile>();

/** Parses a TypeScript file, once, with the parser that vite carries; a syntax error throws. */
export function parseFile(path: string): ParsedFile {
  const known = parsedFiles.get(path);
  if (known !== undefined) return known;
  const parsed = parseSync(path, readFileSync(path, "utf8"));
  if (parsed.errors.length > 0) throw new Error(`${relative(root, path)}: ${parsed.errors[0]?.message}`);
  parsedFiles.set(path, parsed);
  return parsed;
}

/** Every module that a file names: imports and re-exports, types too, and `import("…")` of a literal. */
export function importsOf(path: string): readonly string[] {
  return [...new Set([...namedBy(path, () => true), ...dynamicImportsOf(path)])].sort();
}

/** The modules that are loaded when a file runs: a whole `import type` is erased, `import { type A }` is not. */
export function loadedBy(path: string): readonly string[] {
  return [...new Set([...namedBy(path, (kind) => kind !== "type"), ...dynamicImportsOf(path)])].sort();
}

/** The source files that loading `entry` loads, itself included, over relative imports. */
export function closureOf(
  entry: string,
  modulesOf: (path: string) => readonly string[] = importsOf,
): ReadonlySet<string> {
  const seen = new Set<string>();
  const waiting = [entry];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    for (const name of modulesOf(path)) if (name.startsWith(".")) waiting.push(resolve(dirname(path), name));
  }
  return seen;
}

function namedBy(path: string, wanted: (kind: "type" | "value") => boolean): readonly string[] {
  return parseFile(path).program.body.flatMap((node) => {
    if (node.type === "ImportDeclaration") return wanted(node.importKind ?? "value") ? [node.source.value] : [];
    if (node.type !== "ExportNamedDeclaration" && node.type !== "ExportAllDeclaration") return [];
    return node.source && wanted(node.exportKind ?? "value") ? [node.source.value] : [];
  });
}

function dynamicImportsOf(path: string): readonly string[] {
  const text = readFileSync(path, "utf8");
  return parseFile(path).module.dynamicImports.flatMap(({ moduleRequest: { start, end } }) => {
    const literal = /^["'`]([^"'`$]+)["'`]$/.exec(text.slice(start, end));
    return literal?.[1] === undefined ? [] : [literal[1]];
  });
}

/** Builds what is out of date, so that tests of `dist` see the sources as they are. */
export function build(): void {
  command(root, join(root, "node_modules/.bin/tsc"), ["-b"]);
}

function readManifest(path: string): Manifest {
  return JSON.parse(readFileSync(join(path, "package.json"), "utf8")) as Manifest;
}
