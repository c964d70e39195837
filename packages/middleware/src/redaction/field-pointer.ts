/** JSON Pointers to parts of a value, for people: bounded in length and depth. */

/** An object in a value: under which name, in which other one; the value itself has neither. */
export interface Place {
  readonly parent: Place | null;
  readonly name: unknown;
}

const MAX_TOKENS = 12;
const MAX_TOKEN = 64;

/** RFC 6901, long ones cut in their middle: a name tells where, never what. */
export function pointerTo(place: Place | null, name: unknown): string {
  const inward: unknown[] = name === undefined ? [] : [name];
  for (let at = place; at?.parent; at = at.parent) inward.push(at.name);
  const tokens = inward.reverse();
  const shown = tokens.length <= MAX_TOKENS ? tokens : [...tokens.slice(0, MAX_TOKENS), "…", tokens[tokens.length - 1]];
  return shown.map((token) => `/${toToken(token)}`).join("");
}

function toToken(token: unknown): string {
  if (token === undefined) return "-";
  if (typeof token !== "string" && typeof token !== "number") return "[key]";
  return String(token).slice(0, MAX_TOKEN).replaceAll("~", "~0").replaceAll("/", "~1");
}
