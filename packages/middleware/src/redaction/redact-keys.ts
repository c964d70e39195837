/** The redactor that masks whatever stands under given names. */

import { kindOf, ToolspanError } from "@toolspan/core";
import { maskValue } from "./mask-value.ts";
import type { MaskedText, Masker } from "./masked-text.ts";
import type { RedactionOutput, Redactor } from "./redactor.ts";
import { foldName } from "./secrets/secret-names.ts";

const MASK: MaskedText = Object.freeze({ text: "[redacted:key]", rules: Object.freeze(["key"]) });
const MAX_VALUES = 1_000_000;
const MAX_WRAPPINGS = 8;

/**
 * Masks everything under these names, at any depth: in objects, maps, headers, lists of `[name, value]` and of
 * `{ name, value }`, and in JSON inside strings.
 *
 * Names are compared whole, without case and separators: `apiKey` also masks `API-Key` and `api_key`, not `apiKeyId`.
 * The mask is `[redacted:key]`, whatever the value was; null and undefined stay.
 *
 * @returns A redactor; it throws, so that redaction fails closed, for getters that throw and more than a million parts.
 * @throws TOOLSPAN_INVALID_OPTION when made, if `keys` is not a list of at least one name.
 */
export function redactKeys(keys: readonly string[]): Redactor {
  const fits = Array.isArray(keys) && keys.length > 0 && keys.every((key) => typeof key === "string" && foldName(key) !== ""); // biome-ignore format: one line
  if (!fits) {
    const details = { option: "keys", expected: "a list of at least one name", received: kindOf(keys) };
    throw new ToolspanError("TOOLSPAN_INVALID_OPTION", { subject: "redactKeys", ...details });
  }
  const names = new Set(keys.map(foldName));
  return ({ phase, args, result }) => {
    const part = phase === "in" ? args : result;
    const { value, fields, rules } = maskValue(part, new KeyMasker(names));
    const found: RedactionOutput = fields.length === 0 ? {} : { redactedFields: fields, redactionRules: rules };
    return phase === "in" ? { args: value, ...found } : { result: value, ...found };
  };
}

class KeyMasker implements Masker {
  readonly #names: ReadonlySet<string>;
  readonly #wrappings: number;
  #values = 0;

  constructor(names: ReadonlySet<string>, wrappings: number = 0) {
    this.#names = names;
    this.#wrappings = wrappings;
  }

  tick(): void {
    this.#values += 1;
    if (this.#values > MAX_VALUES) throw new RangeError("redactKeys: too many values");
  }

  under(name: string, value: unknown): MaskedText | undefined {
    return this.#names.has(foldName(name)) && value !== MASK.text ? MASK : undefined;
  }

  behind(name: string, value: unknown, isPair: boolean): MaskedText | undefined {
    return isPair ? this.under(name, value) : undefined;
  }

  /** Text has no names, unless it is JSON. */
  text(text: string): MaskedText | undefined {
    const first = text.trimStart().charAt(0);
    if (first !== "{" && first !== "[" && first !== '"') return undefined;
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      return undefined; // no JSON, no names
    }
    if (this.#wrappings >= MAX_WRAPPINGS) throw new RangeError("redactKeys: text wrapped too deep");
    const { value, rules } = maskValue(parsed, new KeyMasker(this.#names, this.#wrappings + 1));
    if (Object.is(value, parsed)) return undefined;
    return { text: JSON.stringify(value), rules: new Array<string>(rules.key ?? 1).fill("key") };
  }
}
