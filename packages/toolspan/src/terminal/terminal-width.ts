/** How many columns text takes, and texts of exactly so many. */

/** Characters that most terminals draw two columns wide (East Asian Wide and Fullwidth, emoji). */
const WIDE =
  /[\u{1100}-\u{115F}\u{2E80}-\u{303E}\u{3041}-\u{33FF}\u{3400}-\u{4DBF}\u{4E00}-\u{9FFF}\u{A000}-\u{A4CF}\u{AC00}-\u{D7A3}\u{F900}-\u{FAFF}\u{FE30}-\u{FE6F}\u{FF00}-\u{FF60}\u{FFE0}-\u{FFE6}\u{1F300}-\u{1FAFF}\u{20000}-\u{3FFFD}]/u;
const MARK = /\p{M}/u;
/** What is one column a code unit: no surrogates, no marks, nothing wide. */
const NARROW = /^[\u{20}-\u{2FF}\u{370}-\u{482}\u{2010}-\u{20CF}\u{2100}-\u{2E7F}]*$/u;

/** Columns of text that holds no control characters. */
export function widthOf(text: string): number {
  if (NARROW.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += columnsOf(character);
  return width;
}

/** `text` in exactly `columns` columns: filled with spaces, or cut and ended with `…`. */
export function inColumns(text: string, columns: number): string {
  const width = widthOf(text);
  if (width <= columns) return text + " ".repeat(columns - width);
  let cut = "";
  let taken = 0;
  for (const character of text) {
    const next = columnsOf(character);
    if (taken + next > columns - 1) break;
    cut += character;
    taken += next;
  }
  return `${cut}…${" ".repeat(Math.max(0, columns - 1 - taken))}`;
}

/** `text` with spaces before it, at least `columns` columns. */
export function alignRight(text: string, columns: number): string {
  return " ".repeat(Math.max(0, columns - widthOf(text))) + text;
}

function columnsOf(character: string): number {
  if (MARK.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}
