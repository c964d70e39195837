// What users get: the tarballs in an empty folder, with nothing of this repository around them.
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { command, installTarballs, packWorkspaces } from "../support/packed.mjs";
import { entriesOf, root, workspaces } from "../support/workspace.ts";

const folder = mkdtempSync(join(tmpdir(), "toolspan-packed-"));
const specifiers = workspaces.flatMap((workspace) => entriesOf(workspace).map(({ specifier }) => specifier));
let tarballs: readonly string[] = [];

beforeAll(() => {
  tarballs = packWorkspaces(join(folder, "tarballs"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "somebody", private: true, type: "module" }));
  installTarballs(folder, tarballs);
}, 180_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("there is one tarball per package, each with its licence, sources and build", () => {
  expect(tarballs).toHaveLength(workspaces.length);
  for (const { manifest } of workspaces) {
    const inside = readdirSync(join(folder, "node_modules", manifest.name));
    expect(inside, manifest.name).toEqual(
      expect.arrayContaining(["LICENSE", "README.md", "dist", "package.json", "src"]),
    );
    expect(
      inside.filter((name) => /tsbuildinfo|test|tsconfig/.test(name)),
      manifest.name,
    ).toEqual([]);
  }
});

test("every entry loads from the installed packages", () => {
  const program = `for (const name of ${JSON.stringify(specifiers)}) {
    await import(name);
    if (!import.meta.resolve(name).includes("/node_modules/")) throw new Error(name);
  }`;
  expect(command(folder, process.execPath, ["--input-type=module", "--eval", program])).toBe("");
});

test("the declarations type-check in a strict program with library checks on", () => {
  const lines = specifiers.map((name, index) => `import * as entry${index} from ${JSON.stringify(name)};`);
  const uses = specifiers.map((_, index) => `void entry${index};`);
  writeFileSync(join(folder, "consumer.ts"), [...lines, ...uses, "export {};", ""].join("\n"));
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        module: "nodenext",
        target: "es2023",
        lib: ["es2023", "dom", "esnext.disposable"],
        types: ["node"],
        strict: true,
        skipLibCheck: false,
        noEmit: true,
      },
      files: ["consumer.ts"],
    }),
  );
  // The types of Node itself are the program's own; a link to ours stands for them.
  if (!existsSync(join(folder, "node_modules/@types"))) {
    symlinkSync(join(root, "node_modules/@types"), join(folder, "node_modules/@types"));
  }
  expect(command(folder, join(root, "node_modules/.bin/tsc"), ["-p", "."])).toBe("");
});

test("the first example runs there", () => {
  cpSync(join(root, "examples/first-call/main.mjs"), join(folder, "main.mjs"));
  expect(command(folder, process.execPath, ["main.mjs"])).toContain("execute_tool add");
});

test("the command is linked and explains itself", () => {
  const help = command(folder, join(folder, "node_modules/.bin/toolspan"), ["--help"]);
  expect(help).toMatch(/Usage: toolspan/);
  expect(help).toMatch(/demo/);
  expect(help).toMatch(/verify/);
});

test("the demo finds its recorded runs in the installed package", () => {
  const words = ["demo", "--out", join(folder, "demo"), "--json"];
  const said: unknown = JSON.parse(command(folder, join(folder, "node_modules/.bin/toolspan"), words));
  expect(said).toMatchObject({ runs: 28, dispatches: 146, spans: 146, receipts: 146 });
});
