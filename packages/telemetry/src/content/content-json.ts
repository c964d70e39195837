/** Any value as valid JSON of bounded size: what content attributes are made of. Nothing in it throws. */

import { toPlain, tryTo, utf8Length } from "./plain-value.ts";

const MAX_DEPTH = 64;
/** Values visited at most: a list that claims a billion items must not hold up a call. */
const MAX_VALUES = 200_000;
const ELLIPSIS = "…";
/** `"…"` in UTF-8: the least that a cut string takes. */
const SMALLEST_CUT = 5;

export interface ContentJson {
  /** Valid JSON, at most the budget in UTF-8 bytes. */
  readonly json: string;
  /** Size of the JSON before any cut, UTF-8 bytes; a lower bound for a value of more than 200,000 parts. */
  readonly bytes: number;
  readonly truncated: boolean;
}

/**
 * Writes `value` as JSON within `maxBytes`.
 *
 * Conversions are those of `toPlain`; a cycle and what lies deeper than 64 levels become a mark in square brackets, and
 * undefined members are left out; a cycle's mark says where it leads. What exceeds the budget is cut between code points or left out, from the first member
 * that does not fit.
 *
 * @param maxBytes Budget, UTF-8 bytes, at least 64.
 */
export function toContentJson(value: unknown, maxBytes: number): ContentJson {
  const writer = new ContentWriter(maxBytes);
  writer.write(toPlain(value), 0);
  return { json: writer.json, bytes: writer.bytes, truncated: writer.truncated };
}

class ContentWriter {
  json = "";
  bytes = 0;
  /** Once true, nothing is written but the brackets that are owed; the rest is measured. */
  truncated = false;
  #left: number;
  #values = 0;
  /** Objects under way, each with the number of keys that lead to it. */
  readonly #open = new Map<object, number>();
  readonly #path: string[] = [];

  constructor(maxBytes: number) {
    this.#left = maxBytes;
  }

  /** `value` comes from `toPlain`. */
  write(value: unknown, depth: number): void {
    this.#values += 1;
    if (typeof value === "string") this.#string(value);
    else if (typeof value !== "object" || value === null) this.#put(String(value));
    else if (depth >= MAX_DEPTH) this.#string("[too deep]");
    else if (this.#open.has(value)) this.#string(`[circular ${this.#pointer(this.#open.get(value) as number)}]`);
    else {
      this.#open.set(value, this.#path.length);
      if (Array.isArray(value)) this.#list(value, depth);
      else this.#members(value as Readonly<Record<string, unknown>>, depth);
      this.#open.delete(value);
    }
  }

  #list(list: readonly unknown[], depth: number): void {
    const owed = this.#bracket("[");
    const length = tryTo(() => list.length, 0);
    for (let i = 0; i < length && this.#more(); i += 1) {
      this.#member(i === 0 ? "" : ",", String(i), toPlain(tryTo(() => list[i], "[threw]")), depth);
    }
    if (owed) this.json += "]";
  }

  #members(object: Readonly<Record<string, unknown>>, depth: number): void {
    const owed = this.#bracket("{");
    let comma = "";
    for (const key of tryTo(() => Object.keys(object), [])) {
      if (!this.#more()) break;
      const member = tryTo(() => object[key], "[threw]");
      if (member === undefined) continue;
      this.#member(`${comma}${JSON.stringify(key)}:`, key, toPlain(member), depth);
      comma = ",";
    }
    if (owed) this.json += "}";
  }

  /** False when enough has been visited. */
  #more(): boolean {
    if (this.#values < MAX_VALUES) return true;
    this.truncated = true;
    return false;
  }

  /** Opens a container and keeps room for its end; true when that end is owed. */
  #bracket(open: string): boolean {
    this.bytes += 2;
    if (this.truncated || this.#left < 2) {
      this.truncated = true;
      return false;
    }
    this.json += open;
    this.#left -= 2;
    return true;
  }

  #member(prefix: string, key: string, value: unknown, depth: number): void {
    const cost = utf8Length(prefix);
    this.bytes += cost;
    if (this.truncated || cost + smallest(value) > this.#left) this.truncated = true;
    else {
      this.json += prefix;
      this.#left -= cost;
    }
    this.#path.push(key);
    this.write(value, depth + 1);
    this.#path.pop();
  }

  /** JSON Pointer of the object that so many keys lead to; `#` is the whole value. */
  #pointer(keys: number): string {
    return `#${this.#path
      .slice(0, keys)
      .map((key) => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`)
      .join("")}`;
  }

  #string(text: string): void {
    const json = JSON.stringify(text);
    const size = utf8Length(json);
    if (this.truncated || size <= this.#left) this.#put(json, size);
    else {
      this.bytes += size;
      this.truncated = true;
      this.json += cutString(text, this.#left);
    }
  }

  #put(json: string, size: number = json.length): void {
    this.bytes += size;
    if (this.truncated || size > this.#left) {
      this.truncated = true;
      return;
    }
    this.json += json;
    this.#left -= size;
  }
}

/** The least room in which a plain value has some form. */
function smallest(value: unknown): number {
  if (typeof value === "string") return Math.min(SMALLEST_CUT, value.length + 2);
  return typeof value === "object" && value !== null ? 2 : String(value).length;
}

/** The longest prefix of `text` that, as a JSON string with an ellipsis, takes at most `budget` bytes, itself at least 5. */
function cutString(text: string, budget: number): string {
  const room = budget - SMALLEST_CUT;
  let kept = "";
  let size = 0;
  for (const point of text.slice(0, room)) {
    const json = JSON.stringify(point).slice(1, -1);
    size += utf8Length(json);
    if (size > room) break;
    kept += json;
  }
  return `"${kept}${ELLIPSIS}"`;
}
