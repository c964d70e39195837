// docs/trust.md lists forty hostile tests: each names tests that are there, or a sentence why it has none.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseFile, root } from "../support/workspace.ts";

interface Row {
  readonly number: number;
  readonly done: string;
  readonly shown: string;
  readonly named: readonly { readonly file: string; readonly title: string }[];
}

const page = readFileSync(join(root, "docs/trust.md"), "utf8");
const section = page.split("\n## The forty tests\n")[1]?.split("\n## ")[0] ?? "";
const rows: readonly Row[] = section.split("\n").flatMap((line) => {
  const [, number, done, shown] = /^\| (\d+) \| (.+?) \| (.+) \|$/.exec(line) ?? [];
  if (number === undefined || done === undefined || shown === undefined) return [];
  const named = [...shown.matchAll(/`(test\/[^`]+)` › “([^”]+)”/g)].map(([, file = "", title = ""]) => ({
    file,
    title,
  }));
  return [{ number: Number(number), done, shown, named }];
});

const titlesOf = new Map<string, ReadonlySet<string>>();

/** Titles of the tests and suites of a file; of a title with parts that are computed, what stands between them. */
function titlesIn(file: string): ReadonlySet<string> {
  const known = titlesOf.get(file);
  if (known !== undefined) return known;
  const titles = new Set<string>();
  titlesOf.set(file, titles);
  const walk = (node: unknown): void => {
    if (Array.isArray(node)) for (const item of node) walk(item);
    if (typeof node !== "object" || node === null) return;
    const {
      type,
      callee,
      arguments: given,
    } = node as { type?: string; callee?: unknown; arguments?: readonly unknown[] };
    if (type === "CallExpression" && isTest(callee)) for (const text of textsOf(given?.[0])) titles.add(text);
    for (const value of Object.values(node)) if (typeof value === "object") walk(value);
  };
  walk(parseFile(join(root, file)).program);
  return titles;
}

/** `test`, `it`, `describe`, and what they are called with before the title: `test.each(…)`, `describe.skipIf(…)`. */
function isTest(callee: unknown): boolean {
  const {
    type,
    name,
    object,
    callee: inner,
  } = callee as {
    type: string;
    name?: string;
    object?: unknown;
    callee?: unknown;
  };
  if (type === "Identifier") return name === "test" || name === "it" || name === "describe";
  if (type === "MemberExpression") return isTest(object);
  return type === "CallExpression" && isTest(inner);
}

function textsOf(node: unknown): readonly string[] {
  const { type, value, quasis } = (node ?? {}) as {
    type?: string;
    value?: unknown;
    quasis?: readonly { readonly value: { readonly cooked: string } }[];
  };
  if (type === "Literal" && typeof value === "string") return [value];
  if (type !== "TemplateLiteral") return [];
  return (quasis ?? []).map(({ value: { cooked } }) => cooked.replace(/\($/, "").replace(/^\) */, "").trim());
}

describe("the forty tests of docs/trust.md", () => {
  test("are forty, in order", () => {
    expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
  });

  test("each name a test, or say why there is none", () => {
    for (const { number, shown, named } of rows) {
      const words = shown
        .replace(/`test\/[^`]+` › “[^”]+”/g, "")
        .replace(/[;.\s]+/g, " ")
        .trim();
      expect(named.length > 0 || words.split(" ").length > 5, `${number}: ${shown}`).toBe(true);
    }
  });

  test("are each where the page says", { timeout: 120_000 }, () => {
    const missing = rows.flatMap(({ number, named }) =>
      named
        .filter(({ file, title }) => !existsSync(join(root, file)) || !titlesIn(file).has(title))
        .map(({ file, title }) => `${number}: ${file} › ${title}`),
    );
    expect(missing).toEqual([]);
  });

  test("a test that is not there would be missed", () => {
    const titles = titlesIn("test/house/forty.test.ts");
    expect(titles).toContain("are forty, in order");
    expect(titles).not.toContain("are forty");
  });
});
