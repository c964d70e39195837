// The bar: drawn where a person looks, at most so often, on one line, and gone at the end.
import { expect, test } from "vitest";
import type { Screen } from "../../packages/toolspan/src/terminal/console.ts";
import { noPaint } from "../../packages/toolspan/src/terminal/paint.ts";
import { progressBar } from "../../packages/toolspan/src/terminal/progress-bar.ts";

function screen(live: boolean, columns = 80): Screen & { readonly written: string[] } {
  const written: string[] = [];
  return { written, live, columns, paint: noPaint, write: (text) => void written.push(text) };
}

test("nothing is drawn where nobody looks", () => {
  const quiet = screen(false);
  const bar = progressBar(quiet, "replaying", 100);
  bar.update(50, "1 run");
  bar.clear();
  expect(quiet.written).toEqual([]);
});

test("a live screen sees share and note on one line, and nothing of it afterwards", () => {
  let now = 0;
  const live = screen(true);
  const bar = progressBar(live, "replaying", 200, () => now);
  bar.update(50, "7 runs");
  now = 40;
  bar.update(60, "too soon");
  now = 100;
  bar.update(200, "28 runs");
  bar.clear();
  expect(live.written).toEqual([
    `\r\u001B[Kreplaying ${"█".repeat(7)}${"░".repeat(21)}  25 % 7 runs`,
    `\r\u001B[Kreplaying ${"█".repeat(28)} 100 % 28 runs`,
    "\r\u001B[K",
  ]);
});

test("a whole of unknown size shows the note alone", () => {
  const live = screen(true);
  progressBar(live, "replaying", 0, () => 0).update(1234, "9 runs");
  expect(live.written).toEqual(["\r\u001B[Kreplaying 9 runs"]);
});

test("a narrow screen gets a shorter line, so that it never wraps", () => {
  const live = screen(true, 40);
  progressBar(live, "replaying", 100, () => 0).update(10, "1,234 runs, 5,678 tool calls");
  expect([...(live.written[0] ?? "").replace("\r\u001B[K", "")].length).toBeLessThan(40);
});
