/** Masks a value of any shape: what has secrets in it is copied around the masks, all else stays the same object. */

import { type Place, pointerTo } from "./field-pointer.ts";
import type { MaskedText, Masker } from "./masked-text.ts";
import { type Part, type Parts, readParts } from "./read-parts.ts";

export interface MaskedValue {
  /** The same value where nothing was masked. */
  readonly value: unknown;
  /** JSON Pointers of what was masked, sorted; the first 32 that were found, long ones cut in their middle. */
  readonly fields: readonly string[];
  /** Rule id → matches. */
  readonly rules: Readonly<Record<string, number>>;
}

/** One object of the value, once, wherever it stands. */
interface Node extends Place {
  readonly object: object;
  readonly parent: Node | null;
  /** Everything that holds it: what has to be copied with it. */
  readonly holders: Node[];
  read: Parts | undefined;
  /** Its parts as they will be. */
  parts: Part[];
  /** Set where a text stands for the whole object. */
  text: string | undefined;
  /** Stands for the object where it has changed. */
  json: Node | undefined;
  changed: boolean;
  copy: object | undefined;
}

const MAX_FIELDS = 32;
/** Numbers of so many digits may be card numbers. */
const LONG_NUMBER = 1e12;
const NAME_FIELDS: ReadonlySet<unknown> = new Set(["name", "key", "header", "field"]);
const VALUE_FIELDS: ReadonlySet<unknown> = new Set(["value", "val"]);

/**
 * Masks `value` as `masker` says. Depth is not limited, cycles are kept, nothing that was given is written to.
 *
 * Objects are read as JSON sees them and as code does: own enumerable properties, what `toJSON` gives, maps, sets, headers,
 * bytes, and of errors the texts. What is changed keeps its prototype; an object that a mask stands for becomes a text.
 *
 * @throws What a getter, a proxy or `toJSON` throws, and what the masker throws.
 */
export function maskValue(value: unknown, masker: Masker): MaskedValue {
  return new ValueMask(masker).mask(value);
}

class ValueMask {
  readonly #masker: Masker;
  readonly #nodes = new Map<object, Node>();
  readonly #unread: Node[] = [];
  readonly #fields: string[] = [];
  readonly #rules: Record<string, number> = {};

  constructor(masker: Masker) {
    this.#masker = masker;
  }

  mask(value: unknown): MaskedValue {
    const masked = this.#isolated(value);
    return { value: masked, fields: this.#fields.sort(), rules: this.#rules };
  }

  #isolated(value: unknown): unknown {
    if (!isObject(value)) return this.#scalar(value, null, undefined) ?? value;
    const root = this.#nodeOf(value, null, undefined);
    for (let node = this.#unread.pop(); node !== undefined; node = this.#unread.pop()) this.#read(node);
    this.#spread();
    return this.#rebuild(root);
  }

  #nodeOf(object: object, holder: Node | null, name: unknown): Node {
    let node = this.#nodes.get(object);
    if (node === undefined) {
      node = { object, parent: holder, name, holders: [], read: undefined, parts: [], text: undefined, json: undefined, changed: false, copy: undefined }; // biome-ignore format: one line
      this.#nodes.set(object, node);
      this.#unread.push(node);
    }
    if (holder !== null) node.holders.push(holder);
    return node;
  }

  #read(node: Node): void {
    this.#masker.tick();
    const text = textOf(node.object);
    if (text !== undefined) {
      const masked = this.#masker.text(text);
      if (masked === undefined) return;
      // Bytes with a mask in their middle are of no use to anybody.
      const isBytes = !(node.object instanceof String);
      node.text = this.#note(isBytes ? { ...masked, text: `[redacted:${masked.rules[0] ?? ""}]` } : masked, node);
      node.changed = true;
      return;
    }
    node.read = readParts(node.object);
    if (node.read === undefined) return;
    node.changed = node.read.isLive === true;
    node.parts = node.read.parts.map((part, i) => this.#part(node, part, i));
    if ("json" in node.read && node.read.json !== node.object) this.#readJson(node, node.read.json);
  }

  #readJson(node: Node, json: unknown): void {
    if (isObject(json)) {
      node.json = this.#nodeOf(json, node, node.name);
      return;
    }
    const masked = this.#scalar(json, node, undefined);
    if (masked === undefined) return;
    node.text = String(masked);
    node.changed = true;
  }

  #part(node: Node, part: Part, position: number): Part {
    this.#masker.tick();
    const { value } = part;
    const isName = typeof part.name === "string" && !Array.isArray(node.object);
    const masking = isName ? this.#masker.text(part.name as string) : undefined;
    // From here on the name is the masked one: it stands in the names of fields.
    const name = masking === undefined ? part.name : this.#note(masking, node, masking.text);
    if (isObject(name)) this.#nodeOf(name, node, "[key]");
    const stand = value === undefined || value === null ? undefined : this.#standIn(node, part, position);
    let masked: unknown = value;
    if (stand !== undefined) masked = this.#note(stand, node, name);
    else if (isObject(value)) this.#nodeOf(value, node, name);
    else masked = this.#scalar(value, node, name) ?? value;
    if (masking === undefined && masked === value) return part;
    node.changed = true;
    return { name, value: masked };
  }

  /** What stands for a part because of the name that goes with it. */
  #standIn(node: Node, { name, value }: Part, position: number): MaskedText | undefined {
    const { parts } = node.read as Parts;
    if (Array.isArray(node.object)) {
      const before = parts[position - 1]?.value;
      const isPair = parts.length === 2;
      return typeof before === "string" ? this.#masker.behind(before, value, isPair) : undefined;
    }
    if (typeof name !== "string") return undefined;
    const stand = this.#masker.under(name, value);
    if (stand !== undefined || !VALUE_FIELDS.has(name.toLowerCase())) return stand;
    const said = parts.find((part) => isNameField(part.name) && typeof part.value === "string");
    return said === undefined ? undefined : this.#masker.under(said.value as string, value);
  }

  #scalar(value: unknown, node: Node | null, name: unknown): string | undefined {
    const isLong = typeof value === "bigint" || (typeof value === "number" && Math.abs(value) >= LONG_NUMBER);
    if (typeof value !== "string" && !isLong) return undefined;
    const masked = this.#masker.text(String(value));
    return masked === undefined ? undefined : this.#note(masked, node, name);
  }

  #note({ text, rules }: MaskedText, node: Node | null, name?: unknown): string {
    for (const rule of rules) this.#rules[rule] = (this.#rules[rule] ?? 0) + 1;
    if (this.#fields.length < MAX_FIELDS) {
      const field = pointerTo(node, name);
      if (!this.#fields.includes(field)) this.#fields.push(field);
    }
    return text;
  }

  /** What holds something changed is changed. */
  #spread(): void {
    const waiting = [...this.#nodes.values()].filter(({ changed }) => changed);
    for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
      for (const holder of node.holders) {
        if (holder.changed) continue;
        holder.changed = true;
        waiting.push(holder);
      }
    }
  }

  #rebuild(root: Node): unknown {
    const changed = [...this.#nodes.values()].filter((node) => node.changed);
    for (const node of changed) node.copy = node.read?.make();
    const now = (value: unknown): unknown => {
      const node = isObject(value) ? this.#nodes.get(value) : undefined;
      return node === undefined ? value : standing(node);
    };
    for (const { read, copy, parts } of changed) {
      if (copy !== undefined) read?.fill(copy, parts.map(({ name, value }) => ({ name: now(name), value: now(value) }))); // biome-ignore format: one line
    }
    return standing(root);
  }
}

/** What stands for an object: itself, a copy, a text, or what stands for its JSON form. */
function standing(node: Node): unknown {
  let current = node;
  const seen = new Set<Node>();
  while (current.changed && current.text === undefined && current.json?.changed === true && !seen.has(current)) {
    seen.add(current);
    current = current.json;
  }
  return current.changed ? (current.text ?? current.copy) : current.object;
}

/** Bytes and string objects as text; undefined for all else. */
function textOf(object: object): string | undefined {
  if (object instanceof String) return String.prototype.valueOf.call(object);
  if (object instanceof ArrayBuffer) return new TextDecoder("latin1").decode(object);
  if (!ArrayBuffer.isView(object)) return undefined;
  return new TextDecoder("latin1").decode(new Uint8Array(object.buffer, object.byteOffset, object.byteLength));
}

function isNameField(name: unknown): boolean {
  return typeof name === "string" && NAME_FIELDS.has(name.toLowerCase());
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
