// The registry of error codes and the page that explains them are one list.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ERROR_CODES } from "@toolspan/core";
import { expect, test } from "vitest";
import { filesBelow, root, workspaces } from "../support/workspace.ts";

const rows = readFileSync(join(root, "docs/errors.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((line) => line.split("|").map((cell) => cell.trim()));

test("docs/errors.md lists every code of the registry, no other, in alphabetical order", () => {
  expect(rows.map(([, code]) => code?.replaceAll("`", ""))).toEqual([...ERROR_CODES].sort());
});

test("every row says what happened and what to do", () => {
  for (const [, code, happened, todo] of rows) {
    expect(happened?.length, code).toBeGreaterThan(20);
    expect(todo?.length, code).toBeGreaterThan(10);
  }
});

test("every code that a source file names is in the registry", () => {
  const known = new Set<string>(ERROR_CODES);
  const unknown = workspaces.flatMap(({ path }) =>
    filesBelow(join(path, "src")).flatMap((file) =>
      [...readFileSync(file, "utf8").matchAll(/new ToolspanError\(\s*"(\w+)"/g)]
        .filter(([, code]) => code !== undefined && !known.has(code))
        .map(([, code]) => `${file}: ${code}`),
    ),
  );
  expect(unknown).toEqual([]);
});
