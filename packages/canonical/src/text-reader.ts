/** Recursive descent over a decoded JSON text (RFC 8259) that keeps to I-JSON (RFC 7493). */
import { isWellFormed } from "./quote-string.ts";
import { Refused, toRefused } from "./refused.ts";

const SPACE = /[ \t\n\r]*/y;
const PLAIN_RUN = /[ !#-[\]-\uffff]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const FOUR_HEX = /[\dA-Fa-f]{4}/y;
const NONZERO_DIGIT = /^[^eE]*[1-9]/;

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
    switch (this.text[this.at]) {
      case "{":
        return this.object(depth);
      case "[":
        return this.array(depth);
      case '"':
        return this.string();
      case "t":
        return this.word("true", true);
      case "f":
        return this.word("false", false);
      case "n":
        return this.word("null", null);
      default:
        return this.number();
    }
  }

  private object(depth: number): object {
    const object: Record<string, unknown> = {};
    this.open(depth);
    if (this.took("}")) return object;
    do {
      this.skipSpace();
      const keyAt = this.at;
      const key = this.string();
      if (Object.hasOwn(object, key)) throw new Refused("duplicate_key", keyAt).within(key);
      this.skipSpace();
      if (!this.took(":")) throw new Refused("syntax", this.at);
      setOwn(object, key, this.item(key, depth));
    } while (this.took(","));
    if (!this.took("}")) throw new Refused("syntax", this.at);
    return object;
  }

  private array(depth: number): unknown[] {
    const array: unknown[] = [];
    this.open(depth);
    if (this.took("]")) return array;
    do array.push(this.item(array.length, depth));
    while (this.took(","));
    if (!this.took("]")) throw new Refused("syntax", this.at);
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
    if (!this.took('"')) throw new Refused("syntax", from);
    let value = this.plainRun();
    while (text[this.at] === "\\") value += this.escape() + this.plainRun();
    if (!this.took('"')) throw new Refused("syntax", this.at);
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

  private took(character: string): boolean {
    if (this.text[this.at] !== character) return false;
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

/** Assignment would run the `__proto__` setter, or any that somebody put on Object.prototype. */
function setOwn(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key in object)
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  else object[key] = value;
}
