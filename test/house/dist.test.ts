// The built packages as a program gets them: Node's own resolution, `import` and `require`, no test runner between.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { build, entriesOf, root, workspaces } from "../support/workspace.ts";

const run = promisify(execFile);
const specifiers = workspaces.flatMap((workspace) => entriesOf(workspace).map(({ specifier }) => specifier));

beforeAll(build);

async function node(program: string): Promise<string> {
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", program], { cwd: root });
  return stdout;
}

test("every entry can be imported and required, with the same names and the same objects", async () => {
  const stdout = await node(`
    import { createRequire } from "node:module";
    const require = createRequire(process.cwd() + "/");
    const report = {};
    for (const name of ${JSON.stringify(specifiers)}) {
      const imported = await import(name);
      const required = require(name);
      report[name] = {
        from: import.meta.resolve(name).includes("/dist/"),
        names: Object.keys(imported).length,
        same: Object.keys(imported).every((key) => Object.is(imported[key], required[key])),
      };
    }
    console.log(JSON.stringify(report));
  `);
  const report = JSON.parse(stdout) as Record<string, { from: boolean; names: number; same: boolean }>;
  expect(Object.keys(report)).toEqual(specifiers);
  for (const [name, { from, names, same }] of Object.entries(report)) {
    expect({ name, from, same, empty: names === 0 }).toEqual({ name, from: true, same: true, empty: false });
  }
});

test("importing every library writes nothing and lets the process end at once", async () => {
  const libraries = specifiers.filter((name) => name.startsWith("@toolspan/"));
  const stdout = await node(libraries.map((name) => `import ${JSON.stringify(name)};`).join("\n"));
  expect(stdout).toBe("");
});

test("the built dispatcher runs a call", async () => {
  const stdout = await node(`
    import { createDispatcher } from "@toolspan/core";
    const dispatch = createDispatcher([]);
    const call = { toolName: "add", toolArgs: { a: 1, b: 2 }, callId: "c1", known: true, turn: { iteration: 1 } };
    const result = await dispatch(call, ({ toolArgs }) => toolArgs.a + toolArgs.b);
    console.log(result.status, result.result);
  `);
  expect(stdout).toBe("ok 3\n");
});
