/** Text that came from a tool, a model or a file, made harmless before it meets a terminal. */

/**
 * What a terminal obeys or hides: C0, DEL, C1; every format character, so zero-width and bidirectional controls, soft
 * hyphens, tags; line and paragraph separators; halves of surrogate pairs; letters and marks that draw nothing.
 */
const UNSAFE =
  /\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}|\p{Cs}|\u{034F}|[\u{115F}\u{1160}]|[\u{17B4}\u{17B5}]|[\u{180B}-\u{180F}]|[\u{3164}\u{FFA0}]/gu;

/**
 * Replaces every character that could move the cursor, colour, hide or reorder text with its escape.
 *
 * @returns One line: `\n`, `\t`, `\x1b` for the first 256, `\u{202e}` for the rest; everything else as it was.
 */
export function terminalText(text: string): string {
  return text.replace(UNSAFE, escapeOf);
}

function escapeOf(character: string): string {
  if (character === "\n") return "\\n";
  if (character === "\r") return "\\r";
  if (character === "\t") return "\\t";
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  return code < 0x100 ? `\\x${hex.padStart(2, "0")}` : `\\u{${hex}}`;
}
