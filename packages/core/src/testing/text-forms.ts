/** A text as it stands, and everything it says when decoded. */

export interface Form {
  /** `plain`, or the encodings, outermost first: `base64 > json escapes`. */
  readonly name: string;
  readonly text: string;
}

const MAX_WRAPPINGS = 3;
const BASE64 = /[A-Za-z0-9+/_-]{11,}={0,2}/g;
const PERCENT = /%([0-9A-Fa-f]{2})/g;
const ESCAPE = /\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(.))/g;

/** The plain text first. What is shorter than `shortest` when decoded is of no interest. */
export function* formsOf(text: string, shortest: number, outer = "", wrappings = 0): Iterable<Form> {
  yield { name: outer === "" ? "plain" : outer, text };
  if (wrappings >= MAX_WRAPPINGS || text.length < shortest) return;
  for (const { name, text: inner } of unwrapped(text, shortest)) {
    yield* formsOf(inner, shortest, outer === "" ? name : `${outer} > ${name}`, wrappings + 1);
  }
}

function* unwrapped(text: string, shortest: number): Iterable<Form> {
  if (/%[0-9A-Fa-f]{2}/.test(text)) yield { name: "percent-encoding", text: text.replace(PERCENT, (_, hex: string) => fromHex(hex)) }; // biome-ignore format: one line
  if (text.includes("\\")) yield { name: "escapes", text: text.replace(ESCAPE, unescaped) };
  for (const [run] of text.matchAll(BASE64)) {
    if ((run.length * 3) / 4 < shortest) continue;
    for (let skipped = 0; skipped < 4; skipped += 1) {
      const decoded = fromBase64(run.slice(skipped));
      if (printable(decoded, shortest)) yield { name: "base64", text: decoded };
    }
  }
}

/** True for a stretch of text of that length; random bytes have none. */
function printable(bytes: string, length: number): boolean {
  let run = 0;
  for (let i = 0; i < bytes.length && run < length; i += 1) {
    const code = bytes.charCodeAt(i);
    run = (code >= 32 && code < 127) || code === 10 || code === 13 || code === 9 ? run + 1 : 0;
  }
  return run >= length;
}

const CONTROLS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

function unescaped(_: string, unicode?: string, byte?: string, character = ""): string {
  const hex = unicode ?? byte;
  return hex === undefined ? (CONTROLS[character] ?? character) : fromHex(hex);
}

function fromHex(hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}

/** Bytes as characters of the same codes. */
function fromBase64(run: string): string {
  const standard = run.replace(/=+$/, "").replaceAll("-", "+").replaceAll("_", "/");
  return atob(standard.length % 4 === 1 ? standard.slice(0, -1) : standard);
}
