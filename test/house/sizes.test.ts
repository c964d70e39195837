// Prints what has grown: files over 200 lines, functions over 40, core over 900 code lines. A question to the reader, not a failure.
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { filesBelow, parseFile, root, workspaces } from "../support/workspace.ts";

const FILE_LINES = 200;
const FUNCTION_LINES = 40;
const CORE_CODE_LINES = 900;
const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);

/** Lines that hold something else than comment and space. */
function codeLines(path: string): number {
  let text = readFileSync(path, "utf8");
  for (const { start, end } of [...parseFile(path).comments].reverse()) {
    text = text.slice(0, start) + text.slice(start, end).replace(/[^\n]/g, " ") + text.slice(end);
  }
  return text.split("\n").filter((line) => line.trim() !== "").length;
}

/** Functions and their length in lines, nested ones too. */
function functionsIn(path: string): readonly { line: number; lines: number }[] {
  const text = readFileSync(path, "utf8");
  const lineAt = (offset: number): number => text.slice(0, offset).split("\n").length;
  const found: { line: number; lines: number }[] = [];
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) {
      node.forEach(visit);
      return;
    }
    if (typeof node !== "object" || node === null) return;
    if ("type" in node && FUNCTIONS.has(String(node.type)) && "start" in node && "end" in node) {
      const line = lineAt(Number(node.start));
      found.push({ line, lines: lineAt(Number(node.end)) - line + 1 });
    }
    Object.values(node).forEach(visit);
  };
  visit(parseFile(path).program.body);
  return found;
}

test("prints what is larger than the house likes", () => {
  const files = workspaces.flatMap(({ path }) => filesBelow(join(path, "src")));
  expect(files.length).toBeGreaterThan(0);
  const report: string[] = [];
  for (const file of files) {
    const lines = readFileSync(file, "utf8").split("\n").length - 1;
    if (lines > FILE_LINES) report.push(`${relative(root, file)}: ${lines} lines`);
    for (const { line, lines: length } of functionsIn(file)) {
      if (length > FUNCTION_LINES) report.push(`${relative(root, file)}:${line}: a function of ${length} lines`);
    }
  }
  const core = filesBelow(join(root, "packages/core/src"))
    .filter((file) => !/\/testing[./]/.test(file))
    .reduce((sum, file) => sum + codeLines(file), 0);
  report.push(`packages/core: ${core} code lines (aim: under ${CORE_CODE_LINES})`);
  console.log(report.join("\n"));
});
