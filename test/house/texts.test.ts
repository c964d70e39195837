// What the repository's texts must not hold: hosts of package registries, a lock file that binds to one, notes to self.
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { filesBelow, root } from "../support/workspace.ts";

const SKIP = ["node_modules", "dist", ".git", ".build", ".toolspan", "coverage"];
const TEXT = /\.(ts|mjs|js|json|jsonc|md|yml|yaml|sh|txt|npmrc)$|\/(run|LICENSE|\.gitignore|\.npmrc)$/;
/** Hosts that serve packages begin like this, whoever runs them. */
const PACKAGE_HOST = /\b(?:https?:\/\/)(?:registry|proxy|index|files|pypi|static|deb|repo\d?)\.[a-z0-9-]+\.[a-z]+/i;

const texts = filesBelow(root, SKIP).filter((file) => TEXT.test(file) && file !== import.meta.filename);

test("no text names the host of a package registry", () => {
  const found = texts.filter((file) => PACKAGE_HOST.test(readFileSync(file, "utf8")));
  expect(found.map((file) => relative(root, file))).toEqual([]);
});

test("no lock file says where a package was fetched from", () => {
  const locks = texts.filter((file) => file.endsWith("package-lock.json"));
  expect(locks.length).toBeGreaterThan(0);
  for (const lock of locks) {
    const bound = readFileSync(lock, "utf8")
      .split("\n")
      .filter((line) => line.includes('"resolved": "http'));
    expect(bound, relative(root, lock)).toEqual([]);
  }
});

test("no source holds a note to self", () => {
  const found = filesBelow(join(root, "packages"), SKIP)
    .filter((file) => /\b(TODO|FIXME|XXX|HACK)\b/.test(readFileSync(file, "utf8")))
    .map((file) => relative(root, file));
  expect(found).toEqual([]);
});
