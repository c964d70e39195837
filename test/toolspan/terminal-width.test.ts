// Columns: what stands in a table has exactly its width, whatever the script.
import fc from "fast-check";
import { expect, test } from "vitest";
import { terminalText } from "../../packages/toolspan/src/terminal/terminal-text.ts";
import { alignRight, inColumns, widthOf } from "../../packages/toolspan/src/terminal/terminal-width.ts";

test("wide characters take two columns, combining marks none", () => {
  expect(widthOf("abc")).toBe(3);
  expect(widthOf("予約")).toBe(4);
  expect(widthOf("e\u0301")).toBe(1);
  expect(widthOf("\u{1F6EB}")).toBe(2);
});

test("text is filled up or cut with an ellipsis", () => {
  expect(inColumns("abc", 5)).toBe("abc  ");
  expect(inColumns("abcdef", 5)).toBe("abcd…");
  expect(inColumns("予約する", 6)).toBe("予約… ");
  expect(alignRight("7 ms", 6)).toBe("  7 ms");
});

test("for all texts and widths the result has that width", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 2, max: 60 }), (text, columns) => {
      expect(widthOf(inColumns(terminalText(text), columns))).toBe(columns);
    }),
  );
});
