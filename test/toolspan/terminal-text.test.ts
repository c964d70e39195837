// Text from outside, made harmless: nothing that a terminal would obey, hide or reorder comes through.
import fc from "fast-check";
import { expect, test } from "vitest";
import { terminalText } from "../../packages/toolspan/src/terminal/terminal-text.ts";

/** Code points that no line of ours may hold, by block. */
const FORBIDDEN: readonly (readonly [string, number, number])[] = [
  ["C0", 0x00, 0x1f],
  ["DEL and C1", 0x7f, 0x9f],
  ["soft hyphen", 0xad, 0xad],
  ["Arabic letter mark", 0x61c, 0x61c],
  ["zero width", 0x200b, 0x200f],
  ["separators", 0x2028, 0x2029],
  ["bidirectional embedding", 0x202a, 0x202e],
  ["word joiner and invisible operators", 0x2060, 0x2064],
  ["bidirectional isolates", 0x2066, 0x2069],
  ["byte order mark", 0xfeff, 0xfeff],
  ["interlinear", 0xfff9, 0xfffb],
  ["tags", 0xe0000, 0xe007f],
  ["Hangul fillers", 0x115f, 0x1160],
];

test.each(FORBIDDEN)("%s comes out as an escape", (_block, from, to) => {
  for (let code = from; code <= to; code += 1) {
    const character = String.fromCodePoint(code);
    // Within the tag block there are code points that Unicode has not assigned; they draw a box and do nothing.
    if (code >= 0xe0000 && !/\p{Cf}/u.test(character)) continue;
    const shown = terminalText(`a${character}b`);
    expect(shown, code.toString(16)).toMatch(/^a\\(n|r|t|x[0-9a-f]{2}|u\{[0-9a-f]+\})b$/);
  }
});

test("an escape sequence that would clear the screen and a reversed file name are shown, not obeyed", () => {
  expect(terminalText("\u001B[2J\u009B31m")).toBe("\\x1b[2J\\x9b31m");
  expect(terminalText("invoice\u202Efdp.exe")).toBe("invoice\\u{202e}fdp.exe");
  expect(terminalText("one\ntwo\r\n\tthree")).toBe("one\\ntwo\\r\\n\\tthree");
});

test("half a surrogate pair is escaped, a whole one is not", () => {
  expect(terminalText("\uD83D \u{1F600} \uDE00")).toBe("\\u{d83d} \u{1F600} \\u{de00}");
});

test("ordinary text in any script stays as it is", () => {
  for (const text of ["get_user_details", "Größe 12 µs", "予約する", "ניסיון", "emoji \u{1F6EB}", "C:\\temp"]) {
    expect(terminalText(text)).toBe(text);
  }
});

test("for all texts: one line, and escaping again changes nothing", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const shown = terminalText(text);
      expect(shown).not.toMatch(/\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}|\p{Cs}/u);
      expect(terminalText(shown)).toBe(shown);
    }),
  );
});
