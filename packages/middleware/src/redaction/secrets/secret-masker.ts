/** Masks secrets: in a text, in what it says when decoded, in JSON inside it, and by the names they stand under. */

import { maskValue } from "../mask-value.ts";
import type { MaskedText, Masker } from "../masked-text.ts";
import { encodedParts } from "./encoded-parts.ts";
import { apart, type FoundSecret, type SecretFinder } from "./find-secrets.ts";
import { isSecretHeader, isSecretUnder, looksRandom } from "./secret-names.ts";

/** Texts within texts, at most: what is wrapped deeper is not let through. */
const MAX_WRAPPINGS = 8;
const MAX_VALUES = 1_000_000;
const MASK = /\[redacted:[a-z0-9_]+\]/g;
const NAMED = "secret_by_name";
/** Below this no rule matches. */
const SHORTEST = 8;

/** What one redaction may cost; shared by all that it looks into. */
export class Budget {
  #values = 0;
  readonly #until: number;

  constructor(maxMs: number) {
    this.#until = performance.now() + maxMs;
  }

  /** @throws When the time is up or too many values have been looked at. */
  readonly tick = (): void => {
    this.#values += 1;
    if (this.#values > MAX_VALUES) throw new RangeError("redactSecrets: too many values");
    if ((this.#values & 15) === 0 && performance.now() > this.#until)
      throw new RangeError("redactSecrets: out of time");
  };
}

export class SecretMasker implements Masker {
  readonly #finder: SecretFinder;
  readonly #budget: Budget;
  readonly #wrappings: number;
  /** True where values are masked by the name they stand under. */
  readonly #byName: boolean;

  constructor(finder: SecretFinder, budget: Budget, wrappings: number = 0) {
    this.#finder = finder;
    this.#budget = budget;
    this.#wrappings = wrappings;
    this.#byName = finder.ids.has(NAMED);
  }

  tick(): void {
    this.#budget.tick();
  }

  text(text: string): MaskedText | undefined {
    if (text.length < SHORTEST) return undefined;
    this.#budget.tick();
    const inner = this.#json(text);
    const shown = inner?.text ?? text;
    const plain = this.#finder.find(shown, this.#budget.tick);
    const found = apart([...plain, ...this.#encoded(shown, plain)]).filter(
      ({ start, end }) => !isMask(shown.slice(start, end)),
    );
    if (found.length === 0) return inner;
    return { text: withMasks(shown, found), rules: [...(inner?.rules ?? []), ...found.map(({ rule }) => rule)] };
  }

  under(name: string, value: unknown): MaskedText | undefined {
    if (!this.#byName) return undefined;
    const text = Array.isArray(value) && value.every((item) => typeof item === "string") ? value.join(" ") : value;
    if (typeof text !== "string" && typeof text !== "number" && typeof text !== "bigint") return undefined;
    return isSecretUnder(name, text) ? masked(NAMED, String(text)) : undefined;
  }

  behind(name: string, value: unknown, isPair: boolean): MaskedText | undefined {
    if (isSecretHeader(name) && this.#finder.ids.has("authorization")) {
      return typeof value === "string" ? masked("authorization", value) : this.under(name, value);
    }
    // Two names in a list are a pair of name and value only if the second looks like a secret.
    return isPair && typeof value === "string" && looksRandom(value, 8) ? this.under(name, value) : undefined;
  }

  /** JSON in a string: looked into as a value, so that its names count. */
  #json(text: string): MaskedText | undefined {
    if (!JSON_ENDS.has(ends(text))) return undefined;
    const parsed = tryParse(text);
    if (parsed === undefined || parsed.value === text) return undefined;
    const { value, rules } = maskValue(parsed.value, this.#wrapped());
    if (Object.is(value, parsed.value)) return undefined;
    const indent = /^\s*[[{]\r?\n( +)/.exec(text)?.[1];
    const ids = Object.entries(rules).flatMap(([rule, count]) => new Array<string>(count).fill(rule));
    return { text: JSON.stringify(value, undefined, indent), rules: ids };
  }

  *#encoded(text: string, plain: readonly FoundSecret[]): Iterable<FoundSecret> {
    for (const { start, end, decoded } of encodedParts(text)) {
      this.#budget.tick();
      if (plain.some((secret) => secret.start <= start && end <= secret.end)) continue;
      const inner = this.#wrapped().text(decoded);
      if (inner !== undefined) yield { start, end, rule: inner.rules[0] ?? NAMED };
    }
  }

  #wrapped(): SecretMasker {
    if (this.#wrappings >= MAX_WRAPPINGS) throw new RangeError("redactSecrets: text wrapped too deep");
    return new SecretMasker(this.#finder, this.#budget, this.#wrappings + 1);
  }
}

const JSON_ENDS: ReadonlySet<string> = new Set(["{}", "[]", '""']);

/** First and last character, white space aside; none for a mask, which is no list. */
function ends(text: string): string {
  const trimmed = text.trim();
  return trimmed.startsWith("[redacted:") ? "" : trimmed.charAt(0) + trimmed.charAt(trimmed.length - 1);
}

/** True where nothing stands but a mask. */
function isMask(text: string): boolean {
  return text.startsWith("[redacted:") && text.replace(MASK, "") === "";
}

function masked(rule: string, text: string): MaskedText | undefined {
  return isMask(text) ? undefined : { text: `[redacted:${rule}]`, rules: [rule] };
}

function withMasks(text: string, found: readonly FoundSecret[]): string {
  let shown = "";
  let from = 0;
  for (const { start, end, rule } of found) {
    shown += `${text.slice(from, start)}[redacted:${rule}]`;
    from = end;
  }
  return shown + text.slice(from);
}

function tryParse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined; // what is no JSON is text, and looked at as such
  }
}
