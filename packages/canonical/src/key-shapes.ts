/** Sorted and quoted keys per object shape, remembered: tool calls repeat few shapes many times. */
import { quoteString } from "./quote-string.ts";

/** How objects with one list of keys are written. */
export interface KeyShape {
  /** As `Object.keys` lists them. */
  readonly given: readonly string[];
  /** To be read, in written order. */
  readonly keys: readonly string[];
  /** What goes before each value: `{"a":`, then `,"b":`. */
  readonly prefixes: readonly string[];
  /** Redacted keys that objects of this shape have. */
  readonly removed: readonly string[];
}

// `$toolspan` marks a typed form.
const NEEDS_ESCAPE = /^\$+toolspan$/;

// What may be remembered, so that hostile keys cannot fill the memory.
const MAX_SHAPES = 1024;
const MAX_KEYS = 32;
const MAX_KEY_LENGTH = 128;

/** The shapes seen by writers that remove the same keys. */
export class KeyShapes {
  private readonly redact: ReadonlySet<string>;
  private readonly byFirstKey = new Map<string, KeyShape[]>();
  private size = 0;

  constructor(redact: ReadonlySet<string> = new Set()) {
    this.redact = redact;
  }

  isRedacted(key: string): boolean {
    return this.redact.has(key);
  }

  /** @param given At least one key, as `Object.keys` lists them. */
  of(given: readonly string[]): KeyShape {
    const first = given[0] as string;
    const known = this.byFirstKey.get(first);
    if (known !== undefined) {
      for (let i = 0; i < known.length; i++) {
        const shape = known[i] as KeyShape;
        if (sameKeys(shape.given, given)) return shape;
      }
    }
    const shape = this.describe(given);
    if (given.length <= MAX_KEYS && given.every((key) => key.length <= MAX_KEY_LENGTH)) this.remember(first, shape);
    return shape;
  }

  private describe(given: readonly string[]): KeyShape {
    const kept = this.redact.size === 0 ? [...given] : given.filter((key) => !this.redact.has(key));
    // Default order of sort() is by UTF-16 code units: RFC 8785, section 3.2.3.
    const keys = kept.some((key) => NEEDS_ESCAPE.test(key))
      ? kept
          .map((key) => [escapedKey(key), key] as const)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([, key]) => key)
      : kept.sort();
    return {
      given,
      keys,
      prefixes: keys.map((key, i) => `${i === 0 ? "{" : ","}${quoteString(escapedKey(key))}:`),
      removed: keys.length === given.length ? [] : given.filter((key) => this.redact.has(key)),
    };
  }

  private remember(first: string, shape: KeyShape): void {
    if (this.size >= MAX_SHAPES) {
      this.byFirstKey.clear();
      this.size = 0;
    }
    this.size += 1;
    const known = this.byFirstKey.get(first);
    if (known === undefined) this.byFirstKey.set(first, [shape]);
    else known.push(shape);
  }
}

/** `$toolspan`, `$$toolspan`, … get one `$` more, so that no object of a user reads as a typed form. */
function escapedKey(key: string): string {
  return NEEDS_ESCAPE.test(key) ? `$${key}` : key;
}

function sameKeys(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 1; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
