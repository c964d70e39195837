// The pages of the layers say what the layers do: their examples run, their tables name every option and status.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ToolspanError } from "@toolspan/core";
import * as middleware from "@toolspan/middleware";
import { describe, expect, it } from "vitest";
import { root } from "../support/workspace.ts";

const folder = join(root, "docs/layers");
const pages = readdirSync(folder).map((file) => [file, readFileSync(join(folder, file), "utf8")] as const);
const layerPages = pages.filter(([file]) => file !== "README.md" && file !== "redactors.md");
const overview = pages.find(([file]) => file === "README.md")?.[1] ?? "";

/** Layers whose first argument is a function; `withSummary` takes nothing else. */
const FUNCTION_FIRST = new Set(["withConsent", "withIdempotency", "withRedaction", "withSummary"]);
/** Words that a layer reports by name of a decision. */
const BY_DECISION: Readonly<Record<string, readonly string[]>> = {
  with_retry: ["ok", "retried", "refused", "exhausted", "budget_spent"],
};

/** Code spans of the first cell of each row in the table that is headed by `head`. */
function firstCells(page: string, head: string): readonly string[] {
  const [, table = ""] = page.split(`| ${head} |`);
  const rows = table.split("\n\n")[0]?.split("\n").slice(2) ?? [];
  return rows.map((row) => /^\| `([^`]+)`/.exec(row)?.[1] ?? row);
}

/** The option names that a layer knows, from what it says about one that it does not. */
function knownOptions(layer: string): readonly string[] {
  const make = new Map<string, unknown>(Object.entries(middleware)).get(layer) as (...args: unknown[]) => unknown;
  const stranger = { stranger: true };
  try {
    make(...(FUNCTION_FIRST.has(layer) ? [() => true, stranger] : [stranger]));
  } catch (thrown) {
    if (ToolspanError.is(thrown, "TOOLSPAN_INVALID_OPTION")) {
      return thrown.details.expected.replace("left out; the options are ", "").split(", ");
    }
  }
  return [];
}

it("every layer has a page, and every page a layer", () => {
  const layers = Object.keys(middleware).filter((name) => name.startsWith("with"));
  const files = layers.map((name) => `${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.md`);
  expect(layerPages.map(([file]) => file)).toEqual(files.sort());
});

it.each(pages)("the example of %s runs and its assertions hold", async (file, page) => {
  const examples = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code ?? "");
  expect(examples).toHaveLength(1);
  const target = join(root, ".build/pages");
  mkdirSync(target, { recursive: true });
  const path = join(target, file.replace(/\.md$/, ".ts"));
  writeFileSync(path, examples[0] ?? "");
  expect(examples[0]).toContain("assert.");
  await import(/* @vite-ignore */ path);
});

describe.each(layerPages)("%s", (file, page) => {
  const layer = /^# (\w+)$/m.exec(page)?.[1] ?? "";
  const wireName = file.replace(/\.md$/, "").replaceAll("-", "_");
  const source = readFileSync(join(root, "packages/middleware/src", file.replace(/\.md$/, ".ts")), "utf8");
  const row = overview.split("\n").find((line) => line.startsWith(`| [\`${wireName}\`]`)) ?? "";

  it("names every option, and none that does not exist", () => {
    expect([...firstCells(page, "option")].sort()).toEqual([...knownOptions(layer)].sort());
  });

  it("has a row in the table of layers, with every status that the layer reports", () => {
    const reported = [...source.matchAll(/report\(\{ status: ([^}]*?)[,}]/g)].flatMap(([, words = ""]) =>
      [...words.matchAll(/"(\w+)"/g)].map(([, word]) => word),
    );
    const said = [...(row.split("|")[4] ?? "").matchAll(/`(\w+)`/g)].map(([, word]) => word);
    const usual = said.filter((word) => word === "ok");
    expect(said.sort()).toEqual([...new Set([...reported, ...usual, ...(BY_DECISION[wireName] ?? [])])].sort());
    for (const word of said) expect(page).toContain(`\`${word}\``);
  });
});
