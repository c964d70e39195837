/** Recursive descent over a decoded JSON text (RFC 8259) that keeps to I-JSON (RFC 7493). */
import { isWellFormed } from "./quote-string.ts";
import { Refused, toRefused } from "./refused.ts";

const SPACE = /[ \t\n\r]*/y;
const PLAIN_RUN = /[ !#-[\]-\uffff]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const FOUR_HEX = /[\dA-Fa-f]{4}/y;
const NONZERO_DIGIT = /^[^eE]*[1-9]/;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const OWN = { writable: true, enumerable: true, configurable: true } as const;

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);

export class TextReader {
  private readonly text: string;
  private readonly maxDepth: number;
  private at = 0;

  constructor(text: string, maxDepth: number) {
    this.text = text;
    this.maxDepth = maxDepth;
  }

  /** The value of the whole text; throws Refused. */
  document(): unknown {
    this.skipSpace();
    const value = this.value(0);
    this.skipSpace();
    if (this.at < this.text.length) throw new Refused("trailing_text", this.at);
    return value;
  }

  private value(depth: number): unknown {
    switch (this.text.charCodeAt(this.at)) {
      case OPEN_OBJECT:
        return this.object(depth);
      case OPEN_ARRAY:
        return this.array(depth);
      case QUOTE:
        return this.string();
      case 0x74:
        return this.word("true", true);
      case 0x66:
        return this.word("false", false);
      case 0x6e:
        return this.word("null", null);
      default:
        return this.number();
    }
  }

  private object(depth: number): object {
    const object: Record<string, unknown> = {};
    this.open(depth);
    if (this.took(CLOSE_OBJECT)) return object;
    do {
      this.skipSpace();
      const keyAt = this.at;
      const key = this.string();
      const inherited = key in object;
      if (inherited && Object.hasOwn(object, key)) throw new Refused("duplicate_key", keyAt).within(key);
      this.skipSpace();
      if (!this.took(COLON)) throw new Refused("syntax", this.at);
      const value = this.item(key, depth);
      // Assignment would run the `__proto__` setter, or any other that Object.prototype has been given.
      if (inherited) Object.defineProperty(object, key, { value, ...OWN });
      else object[key] = value;
    } while (this.took(COMMA));
    if (!this.took(CLOSE_OBJECT)) throw new Refused("syntax", this.at);
    return object;
  }

  private array(depth: number): unknown[] {
    const array: unknown[] = [];
    this.open(depth);
    if (this.took(CLOSE_ARRAY)) return array;
    do array.push(this.item(array.length, depth));
    while (this.took(COMMA));
    if (!this.took(CLOSE_ARRAY)) throw new Refused("syntax", this.at);
    return array;
  }

  private open(depth: number): void {
    if (depth >= this.maxDepth) throw new Refused("depth", this.at);
    this.at += 1;
    this.skipSpace();
  }

  /** A member's value or an array's element, with the space around it. */
  private item(segment: string | number, depth: number): unknown {
    try {
      this.skipSpace();
      const value = this.value(depth + 1);
      this.skipSpace();
      return value;
    } catch (thrown) {
      throw toRefused(thrown, "syntax").within(segment);
    }
  }

  private string(): string {
    const { text } = this;
    const from = this.at;
    if (!this.took(QUOTE)) throw new Refused("syntax", from);
    const plain = this.plainRun();
    if (this.took(QUOTE)) return plain;
    let value = plain;
    while (text.charCodeAt(this.at) === BACKSLASH) value += this.escape() + this.plainRun();
    if (!this.took(QUOTE)) throw new Refused("syntax", this.at);
    // The text around is well-formed, so only escapes can bring half a pair.
    if (!isWellFormed(value)) throw new Refused("lone_surrogate", from);
    return value;
  }

  private plainRun(): string {
    const from = this.at;
    this.at = endOf(PLAIN_RUN, this.text, from);
    return this.text.slice(from, this.at);
  }

  private escape(): string {
    const letter = this.text[this.at + 1] ?? "";
    const simple = ESCAPES.get(letter);
    if (simple !== undefined) {
      this.at += 2;
      return simple;
    }
    const hexAt = this.at + 2;
    if (letter !== "u" || endOf(FOUR_HEX, this.text, hexAt) === hexAt) throw new Refused("syntax", this.at);
    this.at = hexAt + 4;
    return String.fromCharCode(Number.parseInt(this.text.slice(hexAt, this.at), 16));
  }

  private number(): number {
    const from = this.at;
    NUMBER.lastIndex = from;
    const match = NUMBER.exec(this.text);
    if (match === null) throw new Refused("syntax", from);
    const [digits, fraction, exponent] = match;
    const value = Number(digits);
    if (!Number.isFinite(value)) throw new Refused("non_finite", from);
    if (value === 0 && NONZERO_DIGIT.test(digits)) throw new Refused("number_underflow", from);
    if (fraction === undefined && exponent === undefined && !Number.isSafeInteger(value)) {
      throw new Refused("unsafe_integer", from);
    }
    this.at += digits.length;
    return value;
  }

  private word<T>(word: string, value: T): T {
    if (!this.text.startsWith(word, this.at)) throw new Refused("syntax", this.at);
    this.at += word.length;
    return value;
  }

  private took(unit: number): boolean {
    if (this.text.charCodeAt(this.at) !== unit) return false;
    this.at += 1;
    return true;
  }

  private skipSpace(): void {
    if (this.text.charCodeAt(this.at) <= 0x20) this.at = endOf(SPACE, this.text, this.at);
  }
}

/** Where `pattern` (sticky) ends when it starts at `from`; `from` when it does not match. */
function endOf(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : from;
}
