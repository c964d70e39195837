/** JSON that moves nothing on a terminal: the same values, with every character that could as an escape. */

const UNSAFE = /[\u007F-\u009F]|\p{Cf}|\p{Zl}|\p{Zp}/gu;

/** JSON text of `value`; format, bidirectional and control characters inside strings stand as `\uXXXX`. */
export function inertJson(value: unknown): string {
  return JSON.stringify(value).replace(UNSAFE, (character) =>
    [...Array(character.length).keys()]
      .map((i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}
