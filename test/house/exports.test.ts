// The border: which names each entry exports, and that `exports`, sources and `dist` describe the same files.
import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { build, closureOf, entriesOf, filesBelow, parseFile, workspaces } from "../support/workspace.ts";

beforeAll(build);

/** Export names of a source file, types marked; every entry names what it exports, so one file is enough. */
function exportedNames(path: string): readonly string[] {
  return parseFile(path)
    .module.staticExports.flatMap((found) => found.entries)
    .map(({ exportName, isType }) => `${isType ? "type " : ""}${exportName.name}`)
    .sort((a, b) => (a < b ? -1 : 1));
}

test("the surface changes on purpose only: run vitest with -u and read the difference", async () => {
  const lines = workspaces.flatMap((workspace) =>
    entriesOf(workspace).flatMap(({ specifier, target }) => [
      specifier,
      ...exportedNames(join(workspace.path, target["@toolspan/source"])).map((name) => `  ${name}`),
      "",
    ]),
  );
  await expect(lines.join("\n")).toMatchFileSnapshot("./exports.txt");
});

describe.each(workspaces)("$folder", (workspace) => {
  const { path, manifest } = workspace;
  const entries = entriesOf(workspace);

  test("every path of `exports` and `bin` exists", () => {
    const named = [...entries.flatMap(({ target }) => Object.values(target)), ...Object.values(manifest.bin ?? {})];
    expect(named.filter((file) => !existsSync(join(path, file)))).toEqual([]);
    expect(manifest.exports["./package.json"]).toBe("./package.json");
  });

  test("every entry names the same file three times: source, types, code", () => {
    for (const { specifier, target } of entries) {
      const stem = /^\.\/src\/(.+)\.ts$/.exec(target["@toolspan/source"])?.[1];
      expect(target, specifier).toEqual({
        "@toolspan/source": `./src/${stem}.ts`,
        types: `./dist/${stem}.d.ts`,
        default: `./dist/${stem}.js`,
      });
      expect(Object.keys(target), "order decides which condition wins").toEqual([
        "@toolspan/source",
        "types",
        "default",
      ]);
    }
  });

  test("`dist` holds the build of each source file and nothing else", () => {
    const built = filesBelow(join(path, "dist")).map((file) => relative(join(path, "dist"), file));
    const expected = filesBelow(join(path, "src"))
      .map((file) => relative(join(path, "src"), file).replace(/\.ts$/, ""))
      .flatMap((stem) => [".d.ts", ".d.ts.map", ".js", ".js.map"].map((ending) => stem + ending));
    expect(built).toEqual(expected.sort());
  });

  test("every source file is reached from an entry", () => {
    const reached = new Set(entries.flatMap(({ target }) => [...closureOf(join(path, target["@toolspan/source"]))]));
    const lonely = filesBelow(join(path, "src")).filter((file) => !reached.has(file));
    expect(lonely.map((file) => relative(path, file))).toEqual([]);
  });
});
