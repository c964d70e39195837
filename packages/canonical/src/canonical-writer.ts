/** The one-pass writer: RFC 8785 text of a value, each property read once, typed forms for what JSON lacks. */
import type { KeyShapes } from "./key-shapes.ts";
import { quoteString } from "./quote-string.ts";
import { Refused, refusedAtLast, toRefused } from "./refused.ts";
import { type TypedMembers, type TypedValue, typedValue } from "./typed-value.ts";

/** Takes text in pieces, none of which parts a surrogate pair. */
export interface TextSink {
  add(text: string): void;
}

const { getPrototypeOf, hasOwn, keys: keysOf } = Object;
const { isArray } = Array;

/** Above the longest string there can be, and still a small integer to the engine. */
const NEVER = 2 ** 30 - 1;

export class CanonicalWriter {
  /** Written and not yet spilled. */
  text = "";
  private readonly shapes: KeyShapes;
  private readonly maxDepth: number;
  private readonly removed: Set<string> | undefined;
  private readonly sink: TextSink | undefined;
  private spillAt: number;
  /** The containers around the one being written. */
  private readonly around: object[] = [];

  /**
   * @param removed Gathers the redacted keys that are met.
   * @param spillAt Length, UTF-16 code units, from which text goes to `sink`.
   */
  constructor(shapes: KeyShapes, maxDepth: number, removed?: Set<string>, sink?: TextSink, spillAt?: number) {
    this.shapes = shapes;
    this.maxDepth = maxDepth;
    this.removed = removed;
    this.sink = sink;
    this.spillAt = spillAt ?? NEVER;
  }

  /** Appends the text of `value`; throws nothing but Refused, after which the writer is of no more use. */
  write(value: unknown): void {
    try {
      this.value(value, 0);
    } catch (thrown) {
      throw refusedAtLast(thrown, "proxy_threw");
    }
  }

  private value(value: unknown, depth: number): void {
    switch (typeof value) {
      case "string":
        this.text += quoteString(value);
        return;
      case "number":
        if (!Number.isFinite(value)) throw new Refused("non_finite");
        // ECMAScript's own number text is what RFC 8785, section 3.2.2.3, asks for; it prints -0 as 0.
        this.text += value;
        return;
      case "boolean":
        this.text += value ? "true" : "false";
        return;
      case "object":
        if (value === null) this.text += "null";
        else this.container(value, depth);
        return;
      case "undefined":
        this.enter(depth);
        this.text += '{"$toolspan":"undefined"}';
        return;
      case "bigint":
        this.enter(depth);
        this.text += `{"$toolspan":"bigint","v":"${value}"}`;
        return;
      default:
        throw new Refused(typeof value === "symbol" ? "symbol" : "function");
    }
  }

  /** Containers are counted as they stand in the text, so that whoever reads it needs no other limit. */
  private enter(depth: number): void {
    if (depth >= this.maxDepth) throw new Refused("depth");
  }

  private container(value: object, depth: number): void {
    const { around } = this;
    for (let i = 0; i < depth; i++) if (around[i] === value) throw new Refused("cycle");
    this.enter(depth);
    around[depth] = value;
    let length = -1;
    let keys: readonly string[] | undefined;
    let typed: TypedValue | undefined;
    try {
      const prototype = getPrototypeOf(value);
      if (isArray(value) && isArrayPrototype(prototype)) length = value.length;
      else if (isPlainPrototype(prototype)) keys = keysOf(value);
      else typed = typedValue(value);
    } catch (thrown) {
      throw toRefused(thrown, "proxy_threw");
    }
    if (keys !== undefined) this.object(value as Readonly<Record<string, unknown>>, keys, depth);
    else if (length >= 0) this.array(value as readonly unknown[], length, depth);
    else if (typed !== undefined) this.typed(typed, value, depth);
    else throw new Refused("class_instance");
  }

  private array(items: readonly unknown[], length: number, depth: number): void {
    if (length === 0) {
      this.text += "[]";
      return;
    }
    let i = 0;
    try {
      for (; i < length; i++) {
        this.text += i === 0 ? "[" : ",";
        const item = items[i];
        if (item === undefined && !hasOwn(items, i)) throw new Refused("sparse_array");
        this.value(item, depth + 1);
        if (this.text.length >= this.spillAt) this.spill();
      }
    } catch (thrown) {
      throw toRefused(thrown, "getter_threw").within(i);
    }
    this.text += "]";
  }

  private object(value: Readonly<Record<string, unknown>>, given: readonly string[], depth: number): void {
    if (given.length === 0) {
      this.text += "{}";
      return;
    }
    const { keys, prefixes, removed } = this.shapes.of(given);
    if (removed.length > 0) for (const key of removed) this.removed?.add(key);
    if (keys.length === 0) {
      this.text += "{}";
      return;
    }
    let i = 0;
    try {
      for (; i < keys.length; i++) {
        this.text += prefixes[i] as string;
        this.value(value[keys[i] as string], depth + 1);
        if (this.text.length >= this.spillAt) this.spill();
      }
    } catch (thrown) {
      throw toRefused(thrown, "getter_threw").within(keys[i] as string);
    }
    this.text += "}";
  }

  private typed(typed: TypedValue, value: object, depth: number): void {
    this.text += `{"$toolspan":"${typed.type}","v":`;
    if ("members" in typed) {
      // The list under `v` is a container too.
      this.enter(depth + 1);
      this.around[depth + 1] = value;
      this.text += this.members(typed, depth + 2);
    } else {
      this.text += typed.text === null ? "null" : `"${typed.text}"`;
    }
    this.text += "}";
  }

  /** In the order of their texts, as keys of objects are: equal content, equal text. Nothing is spilled meanwhile. */
  private members(typed: TypedMembers, depth: number): string {
    const { text, spillAt } = this;
    const texts: string[] = [];
    this.spillAt = NEVER;
    for (const [i, member] of typed.members.entries()) {
      if (typed.type === "map" && this.isRedacted(typed.members[i]?.[0])) continue;
      this.text = "";
      try {
        this.value(member, depth);
      } catch (thrown) {
        throw toRefused(thrown, "getter_threw").within(i);
      }
      texts.push(this.text);
    }
    this.text = text;
    this.spillAt = spillAt;
    return `[${texts.sort().join(",")}]`;
  }

  /** A Map's string key is a key name like any other. */
  private isRedacted(key: unknown): boolean {
    if (typeof key !== "string" || !this.shapes.isRedacted(key)) return false;
    this.removed?.add(key);
    return true;
  }

  private spill(): void {
    this.sink?.add(this.text);
    this.text = "";
  }
}

function isArrayPrototype(prototype: object | null): boolean {
  // Array.prototype is itself an array in every realm; the prototype of a subclass is not.
  return prototype === Array.prototype || isArray(prototype);
}

function isPlainPrototype(prototype: object | null): boolean {
  if (prototype === Object.prototype || prototype === null) return true;
  // Object.prototype of another realm.
  return getPrototypeOf(prototype) === null && hasOwn(prototype, "isPrototypeOf");
}
