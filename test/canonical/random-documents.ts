/** Documents in great number, fixed by a seed: all of I-JSON in little space, with what implementations get wrong coming up often. */
import { type Random, randomFrom, upTo } from "../receipts/crash-states.ts";

/** Keys and texts that sort, escape or read differently by code point, by byte, or by UTF-16 unit. */
const AWKWARD = [
  "",
  "0",
  "10",
  "9",
  "a",
  "A",
  "é",
  "e\u0301",
  "\u0000",
  "\u001f",
  "\u007f",
  "\u2028",
  '"',
  "\\",
  "/",
  "<&>",
  "\ud7ff",
  "\ue000",
  "\ufb33",
  "\uffff",
  "\u{10000}",
  "\u{1f600}",
  "\u{10ffff}",
  "__proto__",
  "toJSON",
  "null",
  "1e3",
];

const NUMBERS = [0, -0, 1, -1, 1e-7, 1e-6, 1e20, 1e21, 5e-324, 0.1 + 0.2, 2 ** 53 - 1, 1 - 2 ** 53, 1.5e300, 123456.75];

const word = new DataView(new ArrayBuffer(8));

/** JSON texts without a newline, each an array (older readers want one, or an object), the members of objects in any order. */
export function randomDocuments(count: number, seed: number): readonly string[] {
  const random = randomFrom(seed);
  return Array.from({ length: count }, () => `[${valueText(random, 4)}]`);
}

function valueText(random: Random, depth: number): string {
  const kind = depth === 0 ? upTo(3, random) : upTo(8, random);
  if (kind === 0) return ["null", "true", "false"][upTo(2, random)] as string;
  if (kind === 1) return JSON.stringify(numberOf(random));
  if (kind <= 3) return JSON.stringify(textOf(random));
  const members = Array.from({ length: upTo(6, random) }, () => valueText(random, depth - 1));
  if (kind <= 5) return `[${members.join(",")}]`;
  const keys = new Set(members.map(() => textOf(random)));
  return `{${[...keys].map((key, i) => `${JSON.stringify(key)}:${members[i]}`).join(",")}}`;
}

function numberOf(random: Random): number {
  const kind = random();
  if (kind < 0.3) return NUMBERS[upTo(NUMBERS.length - 1, random)] as number;
  if (kind < 0.6) return upTo(2 ** 31, random) - 2 ** 30;
  for (;;) {
    word.setUint32(0, random() * 2 ** 32);
    word.setUint32(4, random() * 2 ** 32);
    const double = word.getFloat64(0);
    if (Number.isFinite(double)) return double;
  }
}

function textOf(random: Random): string {
  let text = random() < 0.5 ? (AWKWARD[upTo(AWKWARD.length - 1, random)] as string) : "";
  for (let i = upTo(4, random); i > 0; i--) {
    const point = random() < 0.5 ? 0x20 + upTo(0x5e, random) : upTo(0x10ffff, random);
    if (point < 0xd800 || point > 0xdfff) text += String.fromCodePoint(point);
  }
  return text;
}
