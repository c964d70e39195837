// The plan of the house: which package may import what, read from every import in every source file.
import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join, relative, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import {
  closureOf,
  entriesOf,
  filesBelow,
  importsOf,
  loadedBy,
  parseFile,
  root,
  type Workspace,
  workspaces,
} from "../support/workspace.ts";

interface Rule {
  readonly floor: 1 | 2 | 3 | 4;
  /** Folders under `packages/`. */
  readonly packages: readonly string[];
  /** Node built-ins anywhere in the package. */
  readonly builtins: "none" | "any" | readonly string[];
  /** Entries from which no built-in may be reachable: they run at the edge and in browsers. */
  readonly edgeClean: readonly string[];
}

const GROUND = ["core", "canonical"];

const PLAN: Readonly<Record<string, Rule>> = {
  core: { floor: 1, packages: [], builtins: "none", edgeClean: [".", "./testing"] },
  canonical: { floor: 1, packages: [], builtins: ["node:crypto"], edgeClean: ["."] },
  middleware: { floor: 2, packages: GROUND, builtins: "none", edgeClean: ["."] },
  receipts: { floor: 2, packages: GROUND, builtins: "any", edgeClean: [] },
  telemetry: { floor: 2, packages: GROUND, builtins: "any", edgeClean: ["."] },
  agent: { floor: 3, packages: GROUND, builtins: "none", edgeClean: ["."] },
  toolspan: {
    floor: 4,
    packages: [...GROUND, "middleware", "receipts", "telemetry", "agent"],
    builtins: "any",
    edgeClean: [],
  },
};

const sources = ({ path }: Workspace): readonly string[] => filesBelow(join(path, "src"));
const packageName = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
const folderOf = (name: string): string | undefined =>
  workspaces.find(({ manifest }) => manifest.name === name)?.folder;

test("every package has its place in the plan, and the plan has no other", () => {
  expect(workspaces.map(({ folder }) => folder)).toEqual(Object.keys(PLAN).sort());
});

test("the plan allows imports downward only, and the ground floor none", () => {
  for (const [folder, rule] of Object.entries(PLAN)) {
    for (const other of rule.packages) {
      expect(PLAN[other]?.floor, `${folder} → ${other}`).toBeLessThan(rule.floor);
    }
  }
});

test("core and canonical depend on nothing", () => {
  for (const { folder, manifest } of workspaces.filter((workspace) => GROUND.includes(workspace.folder))) {
    const all = { ...manifest.dependencies, ...manifest.peerDependencies, ...manifest.optionalDependencies };
    expect(Object.keys(all), folder).toEqual([]);
  }
});

describe.each(workspaces)("$folder", (workspace) => {
  const { folder, manifest, path } = workspace;
  const rule = PLAN[folder];
  if (rule === undefined) throw new Error(`structure.test: packages/${folder} is missing in PLAN`);
  const declared = new Set(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }));

  test("imports other packages of the house downward only, by name", () => {
    const wrong = sources(workspace).flatMap((file) =>
      importsOf(file)
        .filter((specifier) => {
          if (specifier.startsWith(".")) return relative(path, resolve(file, "..", specifier)).startsWith("..");
          const other = folderOf(packageName(specifier));
          return other !== undefined && !rule.packages.includes(other);
        })
        .map((specifier) => `${relative(root, file)} → ${specifier}`),
    );
    expect(wrong).toEqual([]);
  });

  test("imports nothing that its manifest does not name", () => {
    const wrong = sources(workspace).flatMap((file) =>
      importsOf(file)
        .filter((specifier) => !specifier.startsWith(".") && !isBuiltin(specifier))
        .filter((specifier) => !declared.has(packageName(specifier)))
        .map((specifier) => `${relative(root, file)} → ${specifier}`),
    );
    expect(wrong).toEqual([]);
  });

  test("imports Node built-ins only where the plan allows them", () => {
    const found = sources(workspace).flatMap((file) =>
      importsOf(file)
        .filter((specifier) => isBuiltin(specifier))
        .map((specifier) => ({ file: relative(root, file), specifier })),
    );
    const wrong = found.filter(
      ({ specifier }) =>
        !specifier.startsWith("node:") ||
        (rule.builtins !== "any" && (rule.builtins === "none" || !rule.builtins.includes(specifier))),
    );
    expect(wrong).toEqual([]);
  });

  test("exports by name: no default export, no `export *`", () => {
    const wrong = sources(workspace).flatMap((file) =>
      parseFile(file)
        .module.staticExports.flatMap((found) => found.entries)
        .filter(({ exportName, importName }) => exportName.kind === "Default" || importName.kind === "AllButDefault")
        .map(({ exportName }) => `${relative(root, file)}: ${exportName.name ?? exportName.kind}`),
    );
    expect(wrong).toEqual([]);
  });

  test("names its siblings in the exact version that they have", () => {
    for (const [name, range] of Object.entries(manifest.dependencies ?? {})) {
      const sibling = workspaces.find((other) => other.manifest.name === name);
      if (sibling !== undefined) expect(range, name).toBe(sibling.manifest.version);
    }
  });
});

describe.each(workspaces.filter(({ folder }) => (PLAN[folder]?.edgeClean.length ?? 0) > 0))("$folder", (workspace) => {
  test("loads no built-in from an entry that must run without Node", () => {
    const { folder, manifest, path } = workspace;
    const subpaths = PLAN[folder]?.edgeClean ?? [];
    const entries = entriesOf(workspace).filter(({ specifier }) =>
      subpaths.some((subpath) => join(manifest.name, subpath) === specifier),
    );
    expect(entries).toHaveLength(subpaths.length);
    const wrong = entries.flatMap(({ specifier, target }) =>
      [...closureOf(join(path, target["@toolspan/source"]), loadedBy)].flatMap((file) =>
        loadedBy(file)
          .filter((name) => isBuiltin(name))
          .map((name) => `${specifier}: ${relative(root, file)} → ${name}`),
      ),
    );
    expect(wrong).toEqual([]);
  });
});

test("one file of core alone asks the runtime for a built-in: the owner of async context", () => {
  const asking = filesBelow(join(root, "packages/core/src")).filter((file) =>
    readFileSync(file, "utf8").includes("getBuiltinModule"),
  );
  expect(asking.map((file) => relative(root, file))).toEqual(["packages/core/src/context.ts"]);
});
