// Lines of a file: split by newline alone, numbered, and the one without its end told apart.
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import {
  type FileLine,
  hasMoreLinesThan,
  MAX_LINE_BYTES,
  readLines,
} from "../../packages/toolspan/src/files/read-lines.ts";

const folder = mkdtempSync(join(tmpdir(), "toolspan-lines-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(text: string): string {
  const path = join(folder, "lines.jsonl");
  writeFileSync(path, text);
  return path;
}

async function all(path: string): Promise<readonly FileLine[]> {
  const lines: FileLine[] = [];
  for await (const line of readLines(path)) lines.push(line);
  return lines;
}

test("line separators of Unicode and lone carriage returns end no line", async () => {
  expect(await all(file('"a\u2028b"\n\n"c\rd"\n'))).toEqual([
    { number: 1, text: '"a\u2028b"', tooLong: false, ended: true },
    { number: 3, text: '"c\rd"', tooLong: false, ended: true },
  ]);
});

test("a last line that nobody ended is given and said to be so", async () => {
  expect(await all(file("one\ntwo"))).toEqual([
    { number: 1, text: "one", tooLong: false, ended: true },
    { number: 2, text: "two", tooLong: false, ended: false },
  ]);
});

test("characters across the borders of chunks stay whole", async () => {
  const long = "ü".repeat(400_000);
  expect((await all(file(`x${long}\n${long}\n`))).map(({ text }) => text)).toEqual([`x${long}`, long]);
});

test("a line beyond the bound is told of and not kept, whether it ends or not, and the next one is read", async () => {
  const path = file("");
  const long = Buffer.alloc(MAX_LINE_BYTES + 1, "x");
  appendFileSync(path, long);
  appendFileSync(path, "\nshort\n");
  appendFileSync(path, long);
  expect(await all(path)).toEqual([
    { number: 1, text: "", tooLong: true, ended: true },
    { number: 2, text: "short", tooLong: false, ended: true },
    { number: 3, text: "", tooLong: true, ended: false },
  ]);
});

test("more lines than a limit are noticed, as many are not", async () => {
  const path = file("a\nb\nc\n");
  expect(await hasMoreLinesThan(path, 3)).toBe(false);
  expect(await hasMoreLinesThan(path, 2)).toBe(true);
});
