// Laws of what evidence is written as: text that came from a tool or a model means nothing to whoever reads the report.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { csvField } from "../../packages/toolspan/src/report/evidence-csv.ts";
import { markdownText } from "../../packages/toolspan/src/report/evidence-markdown.ts";
import { inertJson } from "../../packages/toolspan/src/terminal/inert-json.ts";

const HOSTILE = [
  "=cmd|' /C calc'!A0",
  "+1+1",
  "-2+3",
  "@SUM(A1)",
  "\t=1+1",
  "\r=1+1",
  "  =1+1",
  '"=1+1',
  "＝1+1",
  "|calc",
  "%0A=1",
];

describe("CSV", () => {
  test.each(HOSTILE)("%j is no formula", (text) => {
    const field = csvField(text);
    expect(field.replace(/^"/, "")[0]).toBe("'");
  });

  test("a field reads back as its text on one line, whatever stands in it", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const field = csvField(text);
        const quoted = field.startsWith('"');
        const inside = quoted ? field.slice(1, -1) : field;
        return !/[\r\n]/.test(field) && (quoted ? !/(^|[^"])"("")*([^"]|$)/.test(inside) : !/[",]/.test(inside));
      }),
    );
  });

  test("numbers, flags, lists and nothing stand as they are", () => {
    expect([1.5, true, null, undefined, ["a", "b"]].map(csvField)).toEqual(["1.5", "true", "", "", "a b"]);
    expect(csvField("plain text")).toBe("plain text");
  });
});

describe("Markdown", () => {
  test.each([
    ["a table cell", "a | b", "a \\| b"],
    ["HTML", "<img src=x onerror=alert(1)>", "\\<img src\\=x onerror\\=alert\\(1\\)\\>"],
    ["a link", "[click](javascript:x)", "\\[click\\]\\(javascript\\:x\\)"],
    [
      "an address by itself",
      "https://evil.example www.evil.example a@b.c",
      "https\\://evil.example www\\.evil.example a\\@b.c",
    ],
    ["an entity", "&lt;b&gt;", "\\&lt;b\\&gt;"],
    ["code and emphasis", "`x` *y* _z_ ~w~", "\\`x\\` \\*y\\* \\_z\\_ \\~w\\~"],
    ["a line break and what a terminal obeys", "a\n# b\u001b[2J\u202e", "a\\\\n\\# b\\\\x1b\\[2J\\\\u\\{202e\\}"],
    ["an escape of its own", "\\|", "\\\\\\|"],
  ])("%s is text", (_what, text, expected) => {
    expect(markdownText(text)).toBe(expected);
  });

  test("a long text is cut", () => {
    expect(markdownText("x".repeat(5000))).toHaveLength(301);
  });
});

test("JSON holds the same values, and nothing that moves a terminal", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const written = inertJson({ text });
      return (
        (JSON.parse(written) as { readonly text: string }).text === text && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(written)
      );
    }),
  );
});
